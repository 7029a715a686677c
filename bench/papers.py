"""The papers of the suite, named once.

A paper is its sweeps, bench/sweeps/<name>.py with a dictionary SWEEPS, and its figures and claims, the folder
figures/<name>/ with an object PAPER. Commands, report and tables follow from this list, in its order.
"""

PAPERS = ("ppsgd", "isrl", "p2p", "pfl", "correlated_noise", "mrmtl", "scaffold", "decor", "server_steps")
