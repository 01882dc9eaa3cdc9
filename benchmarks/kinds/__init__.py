"""Whole-array programs by kind, as physicists, image people and analysts write them; none was a model for the compiler.

Each module holds functions of one field and the tuple PROGRAMS of what to call them with; `benchmarks.kinds.programs`
joins them, ``python -m benchmarks.kinds`` times them, tests/programs/test_kinds.py compares them bit for bit.
"""
