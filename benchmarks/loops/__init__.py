"""Loop programs: plain NumPy and Python as a user writes them, whose time goes into Python loops.

Each module holds functions of one kind and the tuple PROGRAMS of what to call them with; `benchmarks.loops.programs`
joins them, ``python -m benchmarks.loops`` times them, tests/programs/test_loop_programs.py compares them bit for bit.
"""
