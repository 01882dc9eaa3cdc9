"""The loop-level program between a Schedule's kernels and loops, and machine code.

ir.py: the types. element_ops.py: the operations on elements. build.py makes a function of a kernel; split, keep, hoist,
vectorise, watch and place change it, a pass a file; verify.py, text.py and evaluate.py check, print and run it.
build_loop.py, with the other build_ files, makes a routine of a loop, which share changes and evaluate_loop.py runs.
interpret.py runs a Schedule with the same table of operations.
"""
