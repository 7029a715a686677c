"""Second implementations in plain NumPy, which the compiled ones are checked and timed against."""
