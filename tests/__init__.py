"""The proofs: an oracle that compares a compiled function with plain Python, and what is put through it."""
