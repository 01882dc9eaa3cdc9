"""Graphs: operations on arrays of symbolic sizes, in program order; their text, their checker and their meaning.

What an op is, its row says (opdef.py), which dynamo_lite/ops fills in. Python code is not known here, nor any backend.
"""
