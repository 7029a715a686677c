"""Runs some of the existing results again, and says whether the same numbers come out: `python -m bench verify`."""
