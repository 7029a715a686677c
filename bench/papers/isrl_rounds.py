"""Excess risk on a quadratic with known minimiser, against rounds and heterogeneity: the theorems of Gao et al. 2024.

The paper proves bounds on risk and rounds, for any heterogeneity of the silos, and measures none.
"""

from functools import partial

import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.algorithms.parts.silos import total_rounds
from bench.data.tasks import quadratic
from bench.papers.isrl_noise import EXACT, NOISE, budgets, remade, with_noise
from bench.sweeps.derived import Derived
from bench.sweeps.spec import Entry, Sweep, grid, thin
from bench.theory import isrl as theory

TRIALS = 40
RECORDS = [128, 512, 2048]  # of a silo
EPSILONS = [4.0, 16.0]
DELTA = 1e-6
TOTAL_ROUNDS = [1, 2, 4, 8, 16, 32, 64, 128]
STEPS = [float(f"{10 ** (k / 5):.3g}") for k in range(-10, 8)]
FEWER_STEPS = [STEPS[0], *STEPS[2::3]]  # of the methods that are tuned over lambda as well
LAMBDAS = [0.01, 0.1, 1.0, 10.0, 100.0]  # times the theorem's
FALLING = 2**-1.5  # R_i of the theorems fall as 1 / sqrt(lambda_i), lambda_i grows by 2^3
SPREADS = [0.0, 0.5, 1.0, 2.0]  # of the silos' models around w*, where |w*| = 1
SILOS, SOME = quadratic.NUM_CLIENTS, 12  # that answer in a round


def isrl_rounds(scale: str) -> Sweep:
    """Rounds to a target risk on a quadratic with known minimiser, against n and epsilon: the communication claim.

    One-pass MB-SGD, also accelerated, which is the earlier algorithm for silos that differ; localized with MB-SGD, with
    the accelerated method (Algorithm 2) or with its stages (Algorithm 5; together Algorithm 1) inside, tau, p and
    R_i / R_1 as in Theorem C.1, lambda tuned around its value there; and MB-SGD and the accelerated method over all
    records in every round.
    """
    budget = budgets(EPSILONS, [EXACT]).merge(grid(num_records=RECORDS), how="cross")
    budget["task"] = budget["num_records"].map("quadratic_{}".format)
    paper = Sweep(
        name="isrl_rounds",
        reproduces="Gao et al. 2024, Theorem 2.1, measured (communication rounds; not in the paper)",
        tasks={f"quadratic_{n}": partial(quadratic.quadratic, num_records=n) for n in RECORDS},
        entries=_methods(budget, SILOS, quadratic.LIPSCHITZ),
        num_rounds=total_rounds,
        eval_every=None,
        delta=DELTA,
        seeds=1,
        trials=TRIALS,
        notes="the paper proves bounds on rounds and measures none",
    )
    return {"paper": paper, "laptop": paper, "smoke": _smoke(paper, num_records=[128])}[scale]


def isrl_heterogeneity(scale: str) -> Sweep:
    """Lowest risk on the quadratic against the distance of the silos' models from the common minimiser.

    The methods of isrl_rounds, at n = 512. In a round 12 of the 25 silos answer: if all did, the distance would not
    change the mean gradient. At every distance gradients are clipped, and noise is scaled, to the bound that holds at
    the largest.
    """
    n, most = 512, quadratic.lipschitz(max(SPREADS))
    budget = budgets(EPSILONS, [EXACT]).merge(grid(spread=SPREADS, num_records=n), how="cross")
    budget["task"] = budget["spread"].map("quadratic_spread_{:g}".format)
    paper = Sweep(
        name="isrl_heterogeneity",
        reproduces="Gao et al. 2024, Theorem 2.1 and Table 1, measured (heterogeneity; not in the paper)",
        tasks={
            f"quadratic_spread_{spread:g}": partial(quadratic.quadratic, num_records=n, spread=spread)
            for spread in SPREADS
        },
        entries=_methods(budget, SOME, most),
        num_rounds=total_rounds,
        eval_every=None,
        delta=DELTA,
        seeds=1,
        trials=TRIALS // 2,
        notes="the paper proves bounds for any heterogeneity and measures none",
    )
    return {"paper": paper, "laptop": paper, "smoke": _smoke(paper, spread=[0.0, 2.0])}[scale]


def _smoke(paper: Sweep, **keep: list) -> Sweep:
    """The sweep at few settings, and at these values."""
    few = {"phase_rounds": [8], "target_epsilon": [16.0], "step_size": STEPS[8:12:3], "theorem_lambda": [1.0]}
    return thin(paper, keep={**few, **keep}, trials=2)


def _methods(budget: pd.DataFrame, answering: int, lipschitz: float) -> dict[str, Entry]:
    """The methods at every budget, with so many silos that answer in a round, and gradients clipped to L."""
    plain = budget.merge(grid(phase_rounds=TOTAL_ROUNDS, step_size=STEPS, num_sampled=answering), how="cross")
    twice = plain[plain["step_size"].isin(FEWER_STEPS)].merge(grid(theorem_lambda=LAMBDAS), how="cross")
    of_theorem = partial(_of_theorem, answering=answering, lipschitz=lipschitz)
    twice = of_theorem(twice)
    inner = {"rounds_ratio": FALLING, "growth": theory.growth(answering, min(RECORDS))}

    def entry(method, points, uses=None, **columns):
        points = with_noise(points.assign(**columns), points["phase_rounds"] if uses is None else uses, DELTA)
        again, made = partial(remade, delta=DELTA), ("noise_multiplier",)
        if "theorem_lambda" in points:
            derived = Derived(
                lambda points: again(of_theorem(points)),
                made=(*made, "num_phases", "regularization"),
                given=("target_epsilon", "calibration", "phase_rounds", "theorem_lambda"),
            )
        else:
            derived = Derived(again, made=made, given=NOISE)
        return Entry(ALGORITHMS[method], points.assign(clip_norm=lipschitz), derived=derived)

    return {
        "One-pass MB-SGD": entry("minibatch_sgd", plain, uses=1, sampler="once"),
        "One-pass accelerated": entry("accelerated", plain, uses=1, sampler="once"),
        "Multi-pass MB-SGD": entry("minibatch_sgd", plain, sampler="all"),
        "Accelerated": entry("accelerated", plain),
        "Localized MB-SGD": entry("localized", twice, **inner),
        "Localized accelerated": entry("localized", twice, solver="accelerated", **inner),
        "Localized multi-stage": entry("localized", twice, solver="multistage", **inner),
    }


def _of_theorem(points: pd.DataFrame, answering: int, lipschitz: float) -> pd.DataFrame:
    """The points with as many phases as Theorem C.1 has, and theorem_lambda times its regularisation."""
    lambdas = [
        theory.regularization(_setting(n, epsilon, answering, lipschitz))
        for n, epsilon in zip(points["num_records"], points["target_epsilon"], strict=True)
    ]
    return points.assign(
        num_phases=points["num_records"].map(theory.num_phases), regularization=points["theorem_lambda"] * lambdas
    )


def _setting(records: int, epsilon: float, answering: int, lipschitz: float) -> theory.Setting:
    return theory.Setting(
        silos=SILOS,
        answering=answering,
        records=records,
        features=quadratic.NUM_FEATURES,
        epsilon=min(epsilon, 1e9),  # without noise the bound's other term decides
        delta=DELTA,
        lipschitz=lipschitz,
        diameter=quadratic.DIAMETER,
        smoothness=quadratic.SMOOTHNESS,
    )
