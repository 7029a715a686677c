"""The sweeps, each of which is made once in a process. A test that changes what they are made of makes its own."""

from functools import cache

from bench.papers import SWEEPS
from bench.sweeps.spec import Sweep


@cache
def made(name: str, scale: str) -> Sweep:
    return SWEEPS[name](scale)
