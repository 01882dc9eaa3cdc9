"""Seeded random programs, compared with plain Python: ``python -m tests.fuzz``."""
