"""Runs of every built-in method on its toy problem, as digests: `PYTHONPATH=tests/helpers:tests/algorithms:. python -m
golden > FILE` in two commits on one machine, and `diff` of the two files. Only what was changed on purpose may differ.
"""

import hashlib
import sys

import jax
import numpy as np
from test_all_methods import private, trajectory
from toy_problems import toy_of

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Method
from bench.errors import InputError
from bench.sweeps.spec import arguments, parameters


def variants(method: Method, name: str):
    """Without noise, with noise, with what is clipped, and by every way of clipping that the method has."""
    noisy = private(method)
    yield {}
    yield noisy
    if "clip_norm" in parameters(method)[1]:
        yield noisy | {"clip_norm": 0.05}
    if "clipping" in arguments(method, toy_of(name).args):
        yield noisy | {"clipping": "per_layer"}
        yield noisy | {"clipping": "adaptive"}


def main() -> None:
    """Print one line for each method and variant."""
    for name, method in sorted(ALGORITHMS.items()):
        for changes in variants(method, name):
            try:
                leaves = jax.tree.leaves(trajectory(method, toy_of(name), **changes))
            except InputError as error:  # of a way of clipping that the method does not have
                sys.stdout.write(f"{name} {changes}: {error}\n")
                continue
            digest = hashlib.sha256(b"".join(np.ascontiguousarray(leaf).tobytes() for leaf in leaves)).hexdigest()
            sys.stdout.write(f"{name} {changes}: {digest[:16]}\n")


if __name__ == "__main__":
    main()
