"""Second implementations in plain NumPy, against which the compiled ones are checked and timed."""
