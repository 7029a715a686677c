"""Excess risk on a quadratic with known minimiser, against rounds and heterogeneity: the theorems of Gao et al. 2024.

The paper proves bounds on risk and rounds, for any heterogeneity of the silos, and measures none.
"""

from functools import partial

import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.algorithms.parts.silos import total_rounds
from bench.data.tasks import quadratic
from bench.papers.isrl import theory
from bench.papers.isrl.noise import EXACT, budgets, in_small_batches, with_noise
from bench.sweeps.spec import Entry, Sweep, grid, thin, with_tasks

TRIALS = 40
SILOS, SOME = quadratic.NUM_CLIENTS, 12  # that answer in a round
RECORDS = [128, 512, 2048]  # of a silo
EPSILONS = [4.0, 16.0]
DELTA = 1e-6
TOTAL_ROUNDS = [1, 2, 4, 8, 16, 32, 64, 128]
STEPS = [float(f"{10 ** (k / 5):.3g}") for k in range(-10, 8)]
SMALL_BATCH_RECORDS = 512  # the most: with 2,048, N n rounds would take hours
SMALL_BATCH_ROUNDS = [SILOS * 4**k for k in range(1, 5)] + [SILOS * SMALL_BATCH_RECORDS]  # cut to N n
SMALL_BATCH_STEPS = [float(f"{10 ** (k / 4):.3g}") for k in range(-14, 4)]
FEWER_STEPS = [STEPS[0], *STEPS[2::3]]  # of the methods that are tuned over lambda as well
LAMBDAS = [0.01, 0.1, 1.0, 10.0, 100.0]  # times the theorem's
FALLING = 2**-1.5  # R_i of the theorems fall as 1 / sqrt(lambda_i), lambda_i grows by 2^3
SPREADS = [0.0, 0.5, 1.0, 2.0]  # of the silos' models around w*, where |w*| = 1


def isrl_rounds(scale: str) -> Sweep:
    """Rounds to a target risk on a quadratic with known minimiser, against n and epsilon: the communication claim.

    One-pass MB-SGD, also accelerated, which is the earlier algorithm for silos that differ; localized with MB-SGD, with
    the accelerated method (Algorithm 2) or with its stages (Algorithm 5; together Algorithm 1) inside, tau, p and
    R_i / R_1 as in Theorem C.1, lambda tuned around its value there; MB-SGD and the accelerated method over all
    records in every round; and MB-SGD with small batches in up to N n rounds, which is the earlier algorithm for silos
    with one distribution.
    """
    named = grid(num_records=RECORDS)
    named["task"] = named["num_records"].map("quadratic_{}".format)
    paper = Sweep(
        name="isrl_rounds",
        reproduces="Gao et al. 2024, Theorem 2.1, measured (communication rounds; not in the paper)",
        tasks={f"quadratic_{n}": partial(quadratic.quadratic, num_records=n) for n in RECORDS},
        entries={
            **_methods(named, SILOS, quadratic.LIPSCHITZ),
            "Small batches": _small_batches(named[named["num_records"] <= SMALL_BATCH_RECORDS]),
        },
        num_rounds=total_rounds,
        eval_every=None,
        delta=DELTA,
        seeds=1,
        trials=TRIALS,
        notes="the paper proves bounds on rounds and measures none",
    )
    few = {"phase_rounds": [8, SMALL_BATCH_ROUNDS[0]], "step_size": [*STEPS[8:12:3], SMALL_BATCH_STEPS[11]]}
    return {"paper": paper, "laptop": paper, "smoke": _smoke(paper, num_records=[128], **few)}[scale]


def isrl_heterogeneity(scale: str) -> Sweep:
    """Lowest risk on the quadratic against the distance of the silos' models from the common minimiser.

    The methods of isrl_rounds, at n = 512. In a round 12 of the 25 silos answer: if all did, the distance would not
    change the mean gradient. At every distance gradients are clipped, and noise is scaled, to the bound that holds at
    the largest.
    """
    n, largest = 512, quadratic.lipschitz(max(SPREADS))
    named = grid(spread=SPREADS, num_records=n)
    named["task"] = named["spread"].map("quadratic_spread_{:g}".format)
    paper = Sweep(
        name="isrl_heterogeneity",
        reproduces="Gao et al. 2024, Theorem 2.1 and Table 1, measured (heterogeneity; not in the paper)",
        tasks={
            f"quadratic_spread_{spread:g}": partial(quadratic.quadratic, num_records=n, spread=spread)
            for spread in SPREADS
        },
        entries=_methods(named, SOME, largest),
        num_rounds=total_rounds,
        eval_every=None,
        delta=DELTA,
        seeds=1,
        trials=TRIALS // 2,
        notes="the paper proves bounds for any heterogeneity and measures none",
    )
    return {"paper": paper, "laptop": paper, "smoke": _smoke(paper, spread=[0.0, 2.0])}[scale]


def _smoke(paper: Sweep, **keep: list) -> Sweep:
    """Return the sweep at few settings, and at these values."""
    kept_values = {"phase_rounds": [8], "target_epsilon": [16.0], "step_size": STEPS[8:12:3], "theorem_lambda": [1.0]}
    return thin(paper, keep={**kept_values, **keep}, trials=2)


def _methods(tasks: pd.DataFrame, answering: int, lipschitz: float) -> dict[str, Entry]:
    """Return the methods on tasks (as in `with_tasks`) at every budget, with so many silos that answer in a round, and
    gradients clipped to L.
    """
    budget = budgets(EPSILONS, [EXACT]).merge(tasks.drop(columns="task"), how="cross")
    phased = budget.merge(grid(phase_rounds=TOTAL_ROUNDS, step_size=FEWER_STEPS, theorem_lambda=LAMBDAS), how="cross")
    phased = phased.assign(clip_norm=lipschitz, rounds_ratio=FALLING, growth=theory.growth(answering, min(RECORDS)))
    plain = budget.merge(grid(phase_rounds=TOTAL_ROUNDS, step_size=STEPS, num_sampled=answering), how="cross")
    plain = plain.assign(clip_norm=lipschitz)

    def complete(points: pd.DataFrame) -> pd.DataFrame:
        points = with_tasks(points, tasks)
        if "theorem_lambda" in points:
            points = _of_theorem(points, answering, lipschitz)
        return with_noise(points, DELTA)

    def entry(method: str, free: pd.DataFrame, **columns) -> Entry:
        computed = ("noise_multiplier", *(("num_phases", "regularization") if "theorem_lambda" in free else ()))
        return Entry(ALGORITHMS[method], free.assign(**columns), complete=complete, computed=computed)

    return {
        "One-pass MB-SGD": entry("minibatch_sgd", plain, sampler="once"),
        "One-pass accelerated": entry("accelerated", plain, sampler="once"),
        "Multi-pass MB-SGD": entry("minibatch_sgd", plain, sampler="all"),
        "Accelerated": entry("accelerated", plain),
        "Localized MB-SGD": entry("localized", phased),
        "Localized accelerated": entry("localized", phased, solver="accelerated"),
        "Localized multi-stage": entry("localized", phased, solver="multistage"),
    }


def _small_batches(tasks: pd.DataFrame) -> Entry:
    """Return the earlier algorithm for silos with one distribution: in every round a silo draws a batch as small as its
    noise formula allows, and the answer is the mean of all iterates.
    """
    budget = budgets(EPSILONS, [EXACT]).merge(tasks.drop(columns="task"), how="cross")
    free = budget.merge(grid(phase_rounds=SMALL_BATCH_ROUNDS, step_size=SMALL_BATCH_STEPS), how="cross")
    free = free.assign(num_sampled=SILOS, clip_norm=quadratic.LIPSCHITZ, sampler="fixed")

    def complete(points: pd.DataFrame) -> pd.DataFrame:
        rounds = points["phase_rounds"].clip(upper=SILOS * points["num_records"])
        return in_small_batches(with_tasks(points.assign(phase_rounds=rounds, num_averaged=rounds), tasks), DELTA)

    return Entry(ALGORITHMS["minibatch_sgd"], free, complete=complete, computed=("noise_multiplier", "batch_size"))


def _of_theorem(points: pd.DataFrame, answering: int, lipschitz: float) -> pd.DataFrame:
    """Return the points with as many phases as Theorem C.1 has, and theorem_lambda times its regularisation for so many
    silos that answer.
    """
    lambdas = [
        theory.regularization(_setting(n, epsilon, answering, lipschitz))
        for n, epsilon in zip(points["num_records"], points["target_epsilon"], strict=True)
    ]
    return points.assign(
        num_sampled=answering,
        num_phases=points["num_records"].map(theory.num_phases),
        regularization=points["theorem_lambda"] * lambdas,
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
