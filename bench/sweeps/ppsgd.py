"""What Bietti et al. 2022 swept (section 6, appendix A), as literals, and the smaller scales derived from them."""

import math
from functools import partial

from bench.algorithms import ALGORITHMS
from bench.data import digits
from bench.data.synthetic import synthetic
from bench.kernels.sampling import queue_rounds
from bench.sweeps.spec import Entry, Sweep, grid, thin

PERSONALIZATION = [0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, math.inf]


EVAL_EVERY = 500  # of the digit experiment


def _evaluated_rounds(task, args) -> int:
    """The last multiple of 500 rounds before the queues run empty, which is the last that the authors evaluate.

    What follows is a tail in which fewer than Q users are left, down to one, and the noise on their mean grows as
    1 / L: the model after it says more about the tail than about the method.
    """
    rounds = queue_rounds(task.num_examples // args["batch_size"], args["num_epochs"], args["num_sampled"])
    return max(rounds // EVAL_EVERY, 1) * EVAL_EVERY


def _once_for_local(points, clip_norm: float):
    """Local learning (a = 0) releases nothing: neither noise nor clipping touch it, so it needs one of each."""
    local = points["personalization"] == 0
    kept = (points["noise_multiplier"] == 0) & (points["clip_norm"] == clip_norm)
    return points[~local | kept].reset_index(drop=True)


def ppsgd_synthetic(scale: str) -> Sweep:
    """Figure 1a: excess risk against rounds on the synthetic stream, everybody in every round.

    Both values of delta_std: 0.01 is the paper's, 0.1 the default of the authors' program. 1,000 rounds, where
    the program's default is 300, since the claims need them.
    """
    points = grid(
        delta_std=[0.01, 0.1],
        personalization=PERSONALIZATION,
        clip_norm=[0.1, 1.0, 10.0, 100.0],
        noise_multiplier=[0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0],
        step_size=[0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.2, 1.5, 1.8],
        num_sampled=1000,
        batch_size=10,
        sampler="all",
    )
    points = _once_for_local(points, clip_norm=10.0)
    points["task"] = points["delta_std"].map("synthetic_{:g}".format)
    paper = Sweep(
        name="ppsgd_synthetic",
        reproduces="Bietti et al. 2022, Figure 1a",
        tasks={f"synthetic_{std:g}": partial(synthetic, delta_std=std) for std in (0.01, 0.1)},
        entries={"PPSGD": Entry(ALGORITHMS["ppsgd"], points)},
        num_rounds=1000,
        eval_every=10,
        delta=1e-4,
        seeds=5,
        notes="the paper gives neither T nor the panels' sigma; delta_std differs between paper and program",
    )
    laptop = thin(
        paper,
        keep={
            "clip_norm": [10.0],
            "personalization": [0.0, 0.3, 1.0, 3.0, math.inf],
            "noise_multiplier": [0.0, 1.0, 3.0, 10.0, 30.0, 100.0],
        },
    )
    smoke = thin(
        laptop,
        keep={"noise_multiplier": [0.0, 1.0, 10.0], "step_size": [0.1, 0.4, 1.0, 1.5, 1.8]},
        num_rounds=200,
        seeds=3,
    )
    return {"paper": paper, "laptop": laptop, "smoke": smoke}[scale]


def ppsgd_digits(scale: str) -> Sweep:
    """Figures 1c and 2: accuracy of linear models on digits by client, 20 passes, ten users in a round.

    The grid of noise multipliers is the finer one of the authors' program, with 70.
    """
    points = grid(
        personalization=PERSONALIZATION,
        clip_norm=[1.0, 10.0, 100.0],
        noise_multiplier=[0.0, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0, 70.0, 100.0],
        step_size=[1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2],
        num_sampled=10,
        batch_size=10,
        num_epochs=20,
        sampler="queue",
        local="dual",
    )
    paper = Sweep(
        name="ppsgd_digits",
        reproduces="Bietti et al. 2022, Figures 1c and 2 (EMNIST, linear)",
        tasks={"digits": digits.best_available},
        entries={"PPSGD": Entry(ALGORITHMS["ppsgd"], _once_for_local(points, clip_norm=10.0))},
        num_rounds=_evaluated_rounds,
        eval_every=EVAL_EVERY,
        delta=1e-4,
        seeds=5,
        notes="the paper does not give the panels' sigma",
    )
    laptop = thin(
        paper,
        keep={"clip_norm": [10.0], "personalization": [0.0, 0.1, 1.0, 10.0, 100.0, math.inf]},
    )
    smoke = thin(
        laptop,
        keep={
            "personalization": [0.0, 0.1, 1.0, 10.0, math.inf],
            "noise_multiplier": [0.0, 1.0, 5.0],
            "step_size": [1e-3, 2e-3, 5e-3],
        },
        num_epochs=2,
        seeds=3,
    )
    return {"paper": paper, "laptop": laptop, "smoke": smoke}[scale]
