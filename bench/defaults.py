"""What commands and functions take where nothing is said, and names of files: known without importing what runs."""

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)  # of a comparison
NUM_SETTINGS = 64  # that a comparison tunes each method over at most
COMPARISON = "comparison"  # what the table and the picture of a comparison are called, before the dot
CONVERGENCE = "convergence"  # the picture and the table of the score by what a run has cost
BUDGET = "budget"  # the picture and the table of what a budget of tuning buys
