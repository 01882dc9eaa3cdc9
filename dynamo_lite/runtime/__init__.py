"""Running what a backend in Python has made as a program is run: wholly, or without a trace (transaction.py)."""
