"""What a call does: rules for functions that capture knows, and arguments bound as CPython binds them."""
