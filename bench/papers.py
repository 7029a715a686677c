"""The list of the suite's papers.

A paper consists of its sweeps, in bench/sweeps/<name>.py with a dictionary SWEEPS, and of its figures and claims, in
the folder figures/<name>/ with an object PAPER. Commands, report and tables follow the order of this list.
"""

PAPERS = ("ppsgd", "isrl", "p2p", "pfl", "correlated_noise", "mrmtl", "scaffold", "decor", "server_steps")
