"""A JAX benchmark suite for private federated learning.

`from bench import board, compare, load, run` are the Python forms of the commands of `python -m bench`. A method is
written with `Algorithm`, `Cost`, `Method`, `Scalar` and `State`; `Problem` describes what methods are compared on, and
`predict` gives the predictions of a model for the metrics of a task. An audit is `from bench.audit import audit`.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.algorithms.base import Algorithm, Cost, Method, Scalar, State
    from bench.api.comparisons import board, compare
    from bench.api.runs import load, merge, run, status, verify
    from bench.comparison.problem import Problem
    from bench.models.prediction import predict

_HOME = {
    **dict.fromkeys(("load", "merge", "run", "status", "verify"), "bench.api.runs"),
    **dict.fromkeys(("board", "compare"), "bench.api.comparisons"),
    **dict.fromkeys(("Algorithm", "Cost", "Method", "Scalar", "State"), "bench.algorithms.base"),
    "Problem": "bench.comparison.problem",
    "predict": "bench.models.prediction",
}
__all__ = [
    "Algorithm",
    "Cost",
    "Method",
    "Problem",
    "Scalar",
    "State",
    "board",
    "compare",
    "load",
    "merge",
    "predict",
    "run",
    "status",
    "verify",
]


def __dir__() -> list[str]:
    """Return the public names, which completion then offers before their first use."""
    return __all__


def __getattr__(name: str):
    """Import a public name on first use, so that the command line starts without waiting for JAX."""
    if name not in _HOME:
        raise AttributeError(f"module 'bench' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
