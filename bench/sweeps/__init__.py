"""A sweep: a table of runs, its points, and the one compiled program that runs them."""
