"""The papers' bounds and thresholds as functions in plain NumPy and float64, with the paper's symbols named."""
