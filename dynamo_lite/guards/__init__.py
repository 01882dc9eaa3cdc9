"""Guards in words (words.py) and in Python (twin.py). What checks them at each call is C: csrc/guards/guards_run.c."""
