"""Programs and the command that times them against plain NumPy and other compilers."""
