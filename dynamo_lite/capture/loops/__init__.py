"""Loops that stay loops: which, what an attempt at one learns, and what one leaves."""
