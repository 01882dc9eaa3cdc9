"""Iterators, what their items are, and what builtins do with them."""
