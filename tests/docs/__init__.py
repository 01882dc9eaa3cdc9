"""The documentation says what is so: generated pages, named files, and the examples of README.md."""
