"""Noise correlated over rounds (Kalinin and Lampert 2024), for users who take part in cyclic order.

One sweep measures the noise in prefix sums; the other compares it on digits with the published queue, at equal proven
epsilon.
"""

import math

import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.data.tasks import digits
from bench.data.tasks.noise_only import nothing
from bench.errors import check_name
from bench.privacy.matrix_noise import strategy
from bench.sweeps.spec import Entry, Sweep, grid, thin

ROUNDS = 200
SEPARATION, BANDS, BUFFERS = 16, 16, 4  # of the sums; 160 users, ten per round
NAMES = ("independent", "banded_sqrt", "banded", "blt", "bisr", "lambda_cgd", "tree")


def _bands(noise: str) -> int:
    check_name("noise", noise, NAMES)
    return {"independent": 0, "blt": BUFFERS, "lambda_cgd": 0}.get(noise, BANDS)


def _equal_cost(noise: str) -> float:
    """Return the noise multiplier with which a run costs the same as with independent noise of multiplier 1, to four
    digits."""
    if noise == "independent":
        return 1.0
    period = strategy(noise, SEPARATION, _bands(noise), ROUNDS)
    return round(period.sensitivity(ROUNDS) / math.sqrt(-(-ROUNDS // SEPARATION)), 4)


def _at_equal_cost(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points with the bands, the order of users and the rounds that the noise is for."""
    noises = points["noise"]
    points = points.assign(num_bands=noises.map(_bands), noise_multiplier=noises.map(_equal_cost))
    return points.assign(num_sampled=10, sampler="cyclic", planned_rounds=ROUNDS)


def correlated_noise_sums(scale: str) -> Sweep:
    """Return the model of users with nothing to learn, the sum of all noise so far, after each of 200 rounds."""
    points = grid(
        noise=NAMES,
        batch_size=1,
        step_size=1.0,
        server_step_size=10.0,  # as much as a sum over users is divided by
        clip_norm=1.0,
    )
    full = Sweep(
        name="correlated_noise_sums",
        reproduces="Kalinin and Lampert 2024, noise of prefix sums",
        tasks={"nothing": nothing},
        entries={
            "DP-FedAvg": Entry(ALGORITHMS["dp_fedavg"], points, complete=_at_equal_cost, computed=("noise_multiplier",))
        },
        num_rounds=ROUNDS,
        eval_every=1,
        delta=1e-4,
        seeds=5,
        notes="200 rounds, each user in 13 of them at most, 16 apart",
    )
    return {
        "paper": full,
        "laptop": full,
        "smoke": thin(full, keep={"noise": ["independent", "banded_sqrt", "tree"]}, seeds=2),
    }[scale]


QUEUE, CYCLIC, BANDED = "Queue, as published", "In turn, independent noise", "In turn, banded noise"
MOST_OF_QUEUE, MOST_IN_TURN = 200, 12  # rounds of one user, by what is proven: 50 of 836 users in each of 200 rounds


def _at_level(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points with the noise that costs as much, by what is proven, as that of `level` where users take
    turns."""
    factor = np.where(points["sampler"] == "queue", math.sqrt(MOST_OF_QUEUE / MOST_IN_TURN), 1.0)
    return points.assign(noise_multiplier=points["level"] * factor)


def correlated_noise_digits(scale: str) -> Sweep:
    """Return one model for all writers of digits, 50 of 836 per round, at equal proven epsilon.

    The queue does not guarantee any distance between the rounds of a user, who may be drawn in all of them. It
    therefore gets as much more noise as its proven epsilon requires.
    """
    shared = {
        "personalization": math.inf,
        "clip_norm": 10.0,
        "step_size": [3e-5, 1e-4, 3e-4, 1e-3, 3e-3],
        "num_sampled": 50,
        "batch_size": 10,
        "local": "dual",
    }
    levels = [1.5, 3.0, 6.0, 12.0]
    in_turn = grid(level=levels, **shared).assign(sampler="cyclic")
    queue = in_turn.assign(sampler="queue", num_epochs=20)
    banded = in_turn.assign(noise="banded_sqrt", num_bands=16)

    def entry(free: pd.DataFrame) -> Entry:
        return Entry(ALGORITHMS["ppsgd"], free, complete=_at_level, computed=("noise_multiplier",))

    full = Sweep(
        name="correlated_noise_digits",
        reproduces="the queue of Bietti et al. 2022 and what is proven without sampling",
        tasks={"digits": digits.mnist_by_writer},
        entries={QUEUE: entry(queue), CYCLIC: entry(in_turn), BANDED: entry(banded)},
        num_rounds=ROUNDS,
        eval_every=ROUNDS,
        delta=1e-4,
        seeds=5,
        notes="epsilon by replacing one user's data, without amplification",
    )
    kept_values = {"level": [3.0, 12.0], "step_size": [1e-4, 3e-4]}
    smoke = thin(full, keep=kept_values, seeds=2, tasks={"digits_by_style": digits.mnist_by_style})
    return {"paper": full, "laptop": full, "smoke": smoke}[scale]


SWEEPS = {
    "correlated_noise_sums": correlated_noise_sums,
    "correlated_noise_digits": correlated_noise_digits,
}
