"""Run tables of the sweeps on silos with known answers: one row per run, after its last round."""

import math
from collections.abc import Callable

import pandas as pd
from made_up_points import made_once, points_of

EPSILONS = (0.75, 3.0, 18.0)
ONE_PASS, LOCALIZED, MULTI_PASS = "One-pass MB-SGD", "Localized MB-SGD", "Multi-pass MB-SGD"


def _finish(rows: list[dict], sweep: str, task: str) -> pd.DataFrame:
    runs = pd.DataFrame(rows)
    settings = [
        name
        for name in runs
        if name not in ("trial", "seed", "train_loss", "test_error", "excess_risk", "epsilon", "epsilon_exact")
    ]
    return runs.assign(
        point=points_of(runs[settings]),
        sweep=sweep,
        task=task,
        source="made up",
        scale="laptop",
        commit="0123456789ab",
        delta=1e-6,
        rounds=runs["num_rounds"],
    )


def error(algorithm: str, num_sampled: int, epsilon: float, trial: int, rounds: int) -> float:
    """An error of which every claim of the paper holds, and of the claims beyond it those that need not fail."""
    best = {ONE_PASS: 0.14, LOCALIZED: 0.12, MULTI_PASS: 0.13}[algorithm]
    worse = 0.05 if algorithm == ONE_PASS and rounds == 35 else 0.0
    noise = 0 if math.isinf(epsilon) else 0.02 / epsilon
    return best + worse + noise + 0.001 * trial + (0.01 if num_sampled == 18 else 0)


@made_once
def odd_even_runs(value: Callable = error, trials: int = 3) -> pd.DataFrame:
    """Runs of isrl_odd_even; the setting with step size 1 has the lower loss and the error asked for."""
    rows = []
    budgets = [(at, calibration) for at in EPSILONS for calibration in ("published", "exact")] + [
        (math.inf, "no noise")
    ]
    for algorithm in (ONE_PASS, LOCALIZED, MULTI_PASS):
        kinds = (
            [("equal", 5, None), ("equal", 35, None)] if algorithm != LOCALIZED else [("equal", 5, 2), ("wide", 5, 1)]
        )
        for num_sampled in (25, 18):
            for at, calibration in budgets:
                for search, rounds, num_phases in kinds:
                    for step in (1.0, 2.0):
                        for trial in range(trials):
                            for seed in range(2):
                                err = value(algorithm, num_sampled, at, trial, rounds)
                                rows.append(
                                    {
                                        "algorithm": algorithm,
                                        "num_sampled": num_sampled,
                                        "calibration": calibration,
                                        "target_epsilon": at,
                                        "search": search,
                                        "phase_rounds": rounds,
                                        "num_phases": num_phases,
                                        "regularization": None if num_phases is None else 1e-3,
                                        "step_size": step,
                                        "num_rounds": rounds * (num_phases or 1),
                                        "trial": trial,
                                        "seed": seed,
                                        "train_loss": err + (0.0 if step == 1 else 0.3),
                                        "test_error": err + (0.0 if step == 1 else -0.1),
                                        "epsilon": at,
                                        "epsilon_exact": at * (0.8 if calibration == "published" else 1.0),
                                    }
                                )
    runs = _finish(rows, "isrl_odd_even", "odd_even")
    return runs.astype({"num_phases": float, "regularization": float})


def alike(algorithm: str, epsilon: float, trial: int) -> float:
    """All methods alike up to what differs between trials."""
    return 0.13 + 0.001 * ((trial + len(algorithm)) % 3 - 1) + (0 if math.isinf(epsilon) else 0.01 / epsilon)


@made_once
def nonsmooth_runs(value: Callable = alike, trials: int = 3) -> pd.DataFrame:
    """Runs of isrl_nonsmooth."""
    rows = []
    for algorithm in ("Subgradients", "Convolution", "Moreau envelopes"):
        for at in (*EPSILONS, math.inf):
            for step in (1.0, 2.0):
                for trial in range(trials):
                    err = value(algorithm, at, trial)
                    rows.append(
                        {
                            "algorithm": algorithm,
                            "calibration": "exact" if math.isfinite(at) else "no noise",
                            "target_epsilon": at,
                            "phase_rounds": 5,
                            "num_phases": 2,
                            "regularization": 1e-3,
                            "step_size": step,
                            "smoothing_radius": 0.3,
                            "moreau_smoothness": 1.0,
                            "num_rounds": 10,
                            "trial": trial,
                            "seed": 0,
                            "train_loss": err + (0.0 if step == 1 else 0.3),
                            "test_error": err,
                            "epsilon": at,
                            "epsilon_exact": at,
                        }
                    )
    return _finish(rows, "isrl_nonsmooth", "odd_even_hinge")


QUADRATIC_METHODS = (
    "One-pass MB-SGD",
    "One-pass accelerated",
    "Multi-pass MB-SGD",
    "Accelerated",
    "Localized MB-SGD",
    "Localized accelerated",
    "Localized multi-stage",
)
SMALL = "Small batches"


def risk(algorithm: str, n: int, epsilon: float, rounds: int, trial: int) -> float:
    """Localized accelerated falls fast, one-pass slowly and to a floor, with noise up again: both claims hold."""
    floor = {"One-pass MB-SGD": 4.0, "Localized accelerated": 0.5, "Localized multi-stage": 0.6}.get(algorithm, 1.0)
    speed = {"Localized accelerated": 3.0, "Localized multi-stage": 3.0, "Accelerated": 2.0}.get(algorithm, 1.0)
    noise = 0.1 * rounds if algorithm == "One-pass MB-SGD" and math.isfinite(epsilon) else 0.0
    return (floor + 20 / rounds**speed + noise) * (1 + 0.05 * trial) / n


@made_once
def rounds_runs(value: Callable = risk, trials: int = 3) -> pd.DataFrame:
    """Runs of isrl_rounds."""
    return _quadratic_runs(value, trials, "isrl_rounds", (128, 512), (0.5,)).drop(columns="spread")


def heterogeneous_runs(value: Callable, trials: int = 3) -> pd.DataFrame:
    """Runs of isrl_heterogeneity: `value` as `risk`, with the distance in place of the number of records."""
    return _quadratic_runs(
        lambda name, n, *rest, spread: value(name, spread, *rest), trials, "isrl_heterogeneity", (512,), (0.0, 1.0, 2.0)
    )


def _quadratic_runs(value: Callable, trials: int, sweep: str, sizes: tuple, spreads: tuple) -> pd.DataFrame:
    rows = [
        {
            "algorithm": algorithm,
            "calibration": "exact" if math.isfinite(at) else "no noise",
            "num_records": n,
            "target_epsilon": at,
            "num_rounds": rounds,
            "phase_rounds": rounds,
            "num_sampled": 25,
            "spread": spread,
            "sampler": "once" if "One-pass" in algorithm else "fixed" if algorithm == SMALL else "all",
            "batch_size": 2 if algorithm == SMALL else 1,
            "num_phases": 3.0 if "Localized" in algorithm else math.nan,
            "share": 0.5 if "Localized" in algorithm else math.nan,
            "rounds_ratio": 0.5 if "Localized" in algorithm else math.nan,
            "regularization": 1e-3,
            "theorem_lambda": 1.0,
            "step_size": step,
            "trial": trial,
            "seed": 0,
            "excess_risk": value(algorithm, n, at, rounds, trial, **({"spread": spread} if len(spreads) > 1 else {}))
            * (1 if step == 1 else 3),
            "epsilon": at,
            "epsilon_exact": at,
        }
        for algorithm in (*QUADRATIC_METHODS, *([SMALL] if sweep == "isrl_rounds" else []))
        for n in sizes
        for spread in spreads
        for at in (4.0, math.inf)
        for rounds in (1, 4, 16, 64)
        for step in (1.0, 2.0)
        for trial in range(trials)
    ]
    return _finish(rows, sweep, "quadratic")
