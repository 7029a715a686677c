"""Kills, signals, flipped bits, full disks, lack of memory and malformed input at random, against a small sweep.

    PYTHONPATH=tests/helpers:. python -m soak

What it counts and what came out is in docs/reliability.md.
"""
