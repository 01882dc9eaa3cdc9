"""Lists and dicts that loops fill or read, of numbers, arrays and objects."""
