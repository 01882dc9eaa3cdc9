"""Symbolic interpretation: a code object and example arguments in, a Capture (graph, guards, residual code) out."""
