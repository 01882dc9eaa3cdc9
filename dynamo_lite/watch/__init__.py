"""Whole programs: what ``python -m dynamo_lite run`` does to the files of a program, and what is asked once it is hot.

Enters at program.py. What is asked, in this order: has it prospects (prospects.py, pieces.py), how long is it going to
run (expectations.py, foresight.py), what does it do (loop_kinds.py); what may be spent policy.py says. INVARIANT: a
program that is never hot imports none of what compiles.
"""
