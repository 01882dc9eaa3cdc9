"""Arithmetic of Python's numbers and of NumPy's scalars while capturing."""
