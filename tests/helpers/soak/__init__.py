"""Kills and signals at random moments, against a small sweep.

    PYTHONPATH=tests/helpers:. python -m soak

What it counts and what came out is in docs/reliability.md.
"""
