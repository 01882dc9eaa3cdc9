"""Long runs: leaks, threads and stress modes (``python -m tests.soak``)."""
