"""The handlers of canonical instructions, by family; families.py imports, and so registers, them all."""
