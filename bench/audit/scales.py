"""The tests of runs with and without a canary, the same for a method's game and for the outputs of any program.

Beside scores of a shift, which each of the two has, there are scores of how large what is public is, for leaks that do
not shift it: a divisor, step or noise that depends on data.
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from bench.audit.bounds import SCALE, SHIFT, Score, Test

World = list[np.ndarray]  # [run, number] of each round
PILOT = 1 / 3  # of the runs

# What varies less than this varies by rounding: relative to the largest spread in its round, and in any round.
FLOOR, LOWEST = 1e-3, 1e-6
NOTHING = 1e-12  # added to a size, so that a round without any change has a logarithm


def pilot_of(world: World) -> World:
    """Return the pilot runs."""
    return [outputs[: int(len(outputs) * PILOT)] for outputs in world]


def tests_of(ins: World, outs: World, shifts: Sequence[Score]) -> list[Test]:
    """Return a test for each score of a shift, which takes the numbers of all rounds in a row, and for each of a size.

    Held-out runs are scored when a test is chosen, since that takes most of the time.
    """
    pilots = pilot_of(ins), pilot_of(outs)
    rest = [[outputs[int(len(outputs) * PILOT) :] for outputs in world] for world in (ins, outs)]

    def test(kind: str, score: Callable[[World], np.ndarray]) -> Test:
        return Test((score(pilots[0]), score(pilots[1])), cache(lambda: (score(rest[0]), score(rest[1]))), kind)

    def score_of_row(score: Score) -> Callable[[World], np.ndarray]:
        return lambda world: score(np.concatenate(world, axis=1))

    return [test(SHIFT, score_of_row(score)) for score in shifts] + [test(SCALE, score) for score in scales(*pilots)]


def scales(ins: World, outs: World) -> list[Callable[[World], np.ndarray]]:
    """Return scores of the squared size of deviations, in each round and over all rounds, in both directions.

    Sizes are logarithms, for which a factor is a shift. Over all rounds there are two: the size of all deviations
    together, and the sum of the rounds' logarithms, which counts the rounds in which a factor was at work.

    Args:
        ins, outs: pilot runs with and without the canary, from which the centres and the units of numbers come.
    """
    centres = [(in_array.mean(0) + out_array.mean(0)) / 2 for in_array, out_array in zip(ins, outs, strict=True)]
    spreads = [(in_array.std(0), out_array.std(0)) for in_array, out_array in zip(ins, outs, strict=True)]
    largest = [max(spread.max(initial=0.0) for spread in pair) for pair in spreads]
    floors = [max(FLOOR * in_array, LOWEST * max(largest)) or 1.0 for in_array in largest]
    units = [np.maximum(out_spread, floor) for (_, out_spread), floor in zip(spreads, floors, strict=True)]

    def size(place: int, world: World) -> np.ndarray:
        return np.square((world[place] - centres[place]) / units[place]).sum(1) + NOTHING

    def score_of_total(sign: float, places: Sequence[int]) -> Callable[[World], np.ndarray]:
        return lambda world: sign * np.log(np.sum([size(place, world) for place in places], axis=0))

    def score_of_product(sign: float, places: Sequence[int]) -> Callable[[World], np.ndarray]:
        return lambda world: sign * np.sum([np.log(size(place, world)) for place in places], axis=0)

    rounds = varying_rounds(ins, outs)
    scores = [score_of_total(sign, [place]) for place in rounds for sign in (1.0, -1.0)]
    if len(rounds) < 2:
        return scores
    return scores + [score(sign, rounds) for score in (score_of_total, score_of_product) for sign in (1.0, -1.0)]


def varying_rounds(ins: World, outs: World) -> list[int]:
    """Return the rounds, from 0, in which some number differs between runs of one world."""
    pairs = zip(ins, outs, strict=True)
    return [place for place, pair in enumerate(pairs) if any(np.ptp(outputs, axis=0).any() for outputs in pair)]
