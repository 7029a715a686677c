"""The papers' bounds and thresholds as functions: plain NumPy, float64, the paper's symbols named."""
