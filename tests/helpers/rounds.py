"""Rounds of a method, one after the other."""

import jax


def states(algorithm, rounds: int, seed: int = 0) -> list:
    """The states at the start and after every round."""
    key = jax.random.key(seed)
    out, step = [algorithm.init(key)], jax.jit(algorithm.round)
    for t in range(rounds):
        out.append(step(jax.random.fold_in(key, t), out[-1])[0])
    return out
