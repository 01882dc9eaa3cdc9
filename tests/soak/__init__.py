"""Long runs: leaks, threads, stress modes and big arrays (``python -m tests.soak``)."""
