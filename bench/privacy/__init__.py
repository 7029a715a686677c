"""Descriptions of what a run releases, and privacy accounting for them.

`events` describes releases, `accounting` computes epsilon and noise, and `selection` that of the best of several runs.
All of this runs on the host with NumPy and dp_accounting; nothing is traced. dp_accounting imports SciPy's statistics,
which takes half a second, so a command imports these modules when it needs them.
"""
