"""Default values of commands and functions, and file names, in a module that is cheap to import."""

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)  # of a comparison
NUM_SETTINGS = 64  # the most settings that a comparison tries for each method
LONGEST_NAME = 200  # bytes of the name of a results folder; file systems allow some 255
COMPARISON = "comparison"  # file name of a comparison's table and figure, without the extension
CONVERGENCE = "convergence"  # file name of the figure and table of the score against the cost so far
