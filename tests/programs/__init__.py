"""The programs of benchmarks/programs.py, compared and counted."""
