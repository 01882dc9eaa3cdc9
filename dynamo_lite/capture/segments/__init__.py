"""Where a segment ends: what is left for plain Python, and how that goes on."""
