"""Made-up runs of the sweeps of Bellet et al. 2018, of which every claim holds; shaped like those of a sweep."""

import math
from itertools import product

import numpy as np
import pandas as pd
from made_up_movielens import movielens_runs
from made_up_p2p_rows import INF, REPETITIONS, TARGETS, jitter, sweep_of
from made_up_points import made_once

from figures.p2p.claims import CLAIMS
from figures.p2p.published import published

FEATURES = (2, 5, 10, 25, 50, 75, 100)
BINS = (10, 20, 30, 40, 50, 60, 70, 80, 90)


def objective(algorithm: str, start: str, t: float, penalty: float) -> float:
    """Exponential; ADMM is slower, the more so with a larger penalty, and starts where CD does."""
    first = {"local": 23.0, "descent": 6.5}[start]
    end, rate = (0.733, 200) if algorithm == "CD" else (1.2 + penalty, 600)
    return end + (first - end) * math.exp(-t / rate)


def accuracy(algorithm: str, t: float, penalty: float) -> float:
    end, rate = (0.875, 200) if algorithm == "CD" else (0.82 - 0.1 * penalty, 600)
    return end - (end - 0.66) * math.exp(-t / rate)


@made_once
def convergence_runs(rounds=tuple(range(31))) -> pd.DataFrame:
    """Figure 1: CD sends 15 vectors a tick, ADMM 8."""
    rows = []
    for algorithm, start, seed, r in product(("CD", "ADMM"), ("local", "descent"), range(REPETITIONS), rounds):
        for penalty in (np.nan,) if algorithm == "CD" else (0.1, 0.05):
            t, rho = 50 * r, np.nan_to_num(penalty)
            rows.append(
                {
                    "algorithm": algorithm,
                    "task": "linear_p2p_100",
                    "start": start,
                    "penalty": penalty,
                    "mu": 0.04,
                    "num_ticks": 50,
                    "num_rounds": max(rounds),
                    "rounds": r,
                    "seed": seed,
                    "objective": objective(algorithm, start, t, rho) + jitter(seed),
                    "test_accuracy": accuracy(algorithm, t, rho) + jitter(seed),
                    "vectors_sent": np.nan if r == 0 else 50.0 * (15 if algorithm == "CD" else 8),
                }
            )
    return sweep_of("p2p_convergence", rows, ["start", "penalty"])


def ends(figure: str) -> pd.DataFrame:
    """First and last published values of Figure 2a or 2b: index (series, y_name)."""
    points = published(figure).sort_values("x", kind="stable").groupby(["series", "y_name"])["y"]
    return pd.DataFrame({"first": points.first(), "last": points.last()})


@made_once
def private_runs() -> pd.DataFrame:
    """Figures 2a and 2b: straight lines that end where the published ones do."""
    rows = []
    variants = [("published", INF, allocation, 0.5) for allocation in ("equal", "published", "unrolled")]
    variants += [("published", INF, "equal", 1.0), ("clipped", 10.0, "equal", 0.5)]
    for start, figure in (("constant", "p2p_fig2a"), ("propagation", "p2p_fig2b")):
        there = ends(figure)
        for (calibration, clip, allocation, target), updates, seed in product(
            variants, (1, 2, 4, 8), range(REPETITIONS)
        ):
            if start == "constant" and (allocation, target) != ("equal", 0.5):
                continue
            for r in range(5 * updates + 1):
                share = r / (5 * updates)
                values = {}
                for y in ("objective", "test_accuracy"):
                    first, last = there.loc[(f"T/n = {updates}", y)]
                    values[y] = first + share * (last - first) + jitter(seed) - 0.001 * (calibration == "clipped")
                values["objective"] -= 0.001 * (allocation == "published") * share * (1 + 0.1 * seed)
                rows.append(
                    {
                        "algorithm": "private CD",
                        "task": "linear_p2p_100",
                        "start": start,
                        "calibration": calibration,
                        "clip_norm": clip,
                        "lipschitz": min(clip, 1.0),
                        "allocation": allocation,
                        "target_epsilon": target,
                        "max_updates": updates,
                        "num_updates": float(updates),
                        "mu": 0.04,
                        "num_ticks": 20,
                        "num_rounds": 5 * updates,
                        "rounds": r,
                        "seed": seed,
                        "noise_multiplier": 2 * updates / target + (allocation != "equal") * (updates == 8),
                        "epsilon": target * share,
                        "epsilon_tight": 0.9 * target * share,
                        "epsilon_true": (1000 if calibration == "published" else 0.9) * target * share,
                    }
                    | values
                )
    return sweep_of(
        "p2p_private", rows, ["start", "calibration", "clip_norm", "allocation", "target_epsilon", "max_updates"]
    )


def by_size(value: float, gain: float) -> dict[str, float]:
    """Accuracies by size of the local data set, more for more data, and a gain that falls with the size."""
    return {f"test_accuracy_m{m}": value + 0.001 * m + gain * (1 - m / 200) for m in BINS}


BEST_UPDATES = {1.0: 8.0, 0.5: 2.0, 0.1: 1.0}
BEST_MU = 0.04
ONCE_NOISE = (("clipped", 1.0), ("clipped", 10.0), ("gaussian", 1.0))


@made_once
def dimension_runs(features=FEATURES) -> pd.DataFrame:
    """Figures 2c, 3 and 4: the published accuracies at the best settings, less at others."""
    lines = published("p2p_fig2c").set_index(["series", "x"])["y"]
    perturbed = published("p2p_fig4").set_index(["series", "x"])["y"]
    rows = []

    def add(algorithm, p, instances, value, gain, **columns):
        for seed, r in product(range(REPETITIONS), (0, 16)):
            rows.append(
                {
                    "algorithm": algorithm,
                    "task": f"linear_p2p_{p}",
                    "num_features": p,
                    "instances": instances,
                    "num_rounds": 16,
                    "rounds": r,
                    "seed": seed,
                    "test_accuracy": value + jitter(seed) if r else 0.5,
                }
                | by_size(0.5 + jitter(seed), gain)
                | columns
            )

    for p, instances in product(features, ("test", "validation")):
        for mu in (0.02, BEST_MU):
            worse = 0.01 * (mu != BEST_MU)
            add("CD", p, instances, lines["non-private", p] + 0.002 - worse, 0.4, mu=mu, num_updates=INF, clip_norm=INF)
        for target, mu, updates in product(TARGETS, (0.02, BEST_MU), (1.0, 2.0, 8.0)):
            budget = round(target + 0.05, 3)
            for calibration, clip in (("published", INF), ("clipped", 1.0), ("clipped", 10.0), ("gaussian", 10.0)):
                worse = 0.01 * (mu != BEST_MU) + 0.002 * abs(updates - BEST_UPDATES[target]) + 0.001 * (clip == 1.0)
                add(
                    "private CD",
                    p,
                    instances,
                    lines[f"epsilon {budget:g}", p] - worse,
                    0.1 + 0.1 * target,
                    mu=mu,
                    num_updates=updates,
                    calibration=calibration,
                    clip_norm=clip,
                    lipschitz=min(clip, 1.0),
                    target_epsilon=target,
                    budget=budget,
                    epsilon=budget,
                    epsilon_tight=0.9 * budget,
                    epsilon_true=0.9 * budget,
                )
        for target, mu, (calibration, clip) in product(TARGETS, (0.02, BEST_MU), ONCE_NOISE):
            budget = target + 0.05  # a sum, which is not always the nearest number to the one written
            worse = 0.01 * (mu != BEST_MU) + 0.002 * (clip == 10)
            add(
                "one release",
                p,
                instances,
                lines[f"epsilon {budget:g}", p] + 0.001 - worse,
                0.1,
                mu=mu,
                calibration=calibration,
                clip_norm=clip,
                lipschitz=clip,
                budget=budget,
                epsilon=budget,
                epsilon_tight=0.8 * budget,
                epsilon_true=0.8 * budget,
            )
    for p in features:
        for solver, worse in (("newton", 0.0), ("descent", 0.004)):
            add("local", p, "test", lines["local", p] - worse, 0.0, solver=solver, mu=BEST_MU, epsilon=0.0)
            for target in TARGETS:
                value = perturbed[f"epsilon {target:g}", p] - worse
                words = {"privacy_unit": "coordinate", "target_epsilon": target, "epsilon": target, "solver": solver}
                add("local DP", p, "test", value, 0.0, mu=BEST_MU, **words)
    settings = ["task", "instances", "mu", "num_updates", "calibration", "clip_norm", "solver"]
    runs = sweep_of("p2p_dimensions", rows, [*settings, "budget", "target_epsilon"])
    silent = runs["algorithm"] == "local"
    runs.loc[silent, ["epsilon_tight", "epsilon_true"]] = 0.0
    runs["epsilon_true"] = runs["epsilon_true"].fillna(INF)
    return runs


@made_once
def perturbed_runs() -> pd.DataFrame:
    """Appendix D.1: learning together gains nothing at the paper's mu, and .05 at the best."""
    rows = []
    there = published("p2p_fig4").set_index(["series", "x"])["y"]
    for p, target, seed, r in product((2, 10, 100), TARGETS, range(REPETITIONS), (0, 20)):
        alone = there[f"epsilon {target:g}", p] + (0.1 if p == 2 else 0.0) + jitter(seed)  # at p = 2 not as published
        words = {"num_features": p, "target_epsilon": target, "num_rounds": 20, "rounds": r, "seed": seed}
        words |= {"privacy_unit": "coordinate", "epsilon": target, "epsilon_true": INF}
        kinds = [("alone", "test", 0.04, 0.0)]
        kinds += [
            ("together", kind, mu, gain)
            for kind in ("test", "validation")
            for mu, gain in ((0.0025, 0.03), (0.01, 0.05 + 0.5 * jitter(seed)), (0.04, 0.5 * jitter(seed)))
        ]
        for algorithm, instances, mu, gain in kinds:
            values = {"test_accuracy": alone + gain if r else 0.5, "mu": mu, "instances": instances}
            rows.append({"algorithm": algorithm, "task": f"linear_p2p_{p}", **words, **values})
    return sweep_of("p2p_perturbed", rows, ["task", "instances", "mu", "target_epsilon"])


@made_once
def input_runs(features=(2, 10, 100)) -> pd.DataFrame:
    """Figure 2c by the range of the inputs: with short inputs the noise is right, and accuracies are as published."""
    lines = published("p2p_fig2c").set_index(["series", "x"])["y"]
    rows = []
    for p, short, instances, seed, r in product(
        features, (True, False), ("test", "validation"), range(REPETITIONS), (0, 16)
    ):
        where = {"task": f"linear_p2p_{p}", "num_features": p, "input_range": 1 / p if short else 10.0}
        where |= {"instances": instances, "seed": seed, "rounds": r, "num_rounds": 16}
        for mu in (0.01, 0.04):
            less = jitter(seed) - 0.1 * (mu == 0.01)
            rows.append(where | {"algorithm": "CD", "mu": mu, "test_accuracy": lines["non-private", p] + less})
            for target, updates in product(TARGETS, (1.0, 4.0)):
                budget = round(target + 0.05, 3)
                value = lines[f"epsilon {budget:g}", p] + less - 0.01 * (updates == 4.0)
                spent = budget * (0.9 if short else 10.0 * p)
                settings = {"target_epsilon": target, "budget": budget, "num_updates": updates, "mu": mu}
                numbers = {"epsilon": budget, "epsilon_true": spent, "test_accuracy": value}
                rows.append(where | {"algorithm": "private CD", "calibration": "published"} | settings | numbers)
    return sweep_of("p2p_inputs", rows, ["input_range", "instances", "mu", "num_updates", "target_epsilon"])


@made_once
def agent_runs(numbers=(25, 100, 400)) -> pd.DataFrame:
    """Descent by the number of agents: the gap to the end falls by the same factor at each update per agent."""
    rows = [
        {
            "algorithm": f"CD, n = {n}",
            "task": "linear_p2p_20",
            "num_agents": n,
            "seed": seed,
            "rounds": r,
            "num_rounds": 64,
            "objective": n * (1 + math.exp(-r / (2 + 0.01 * seed))),
        }
        for n, seed, r in product(numbers, range(REPETITIONS), (0, 1, 2, 4, 8, 16, 32, 64))
    ]
    return sweep_of("p2p_agents", rows, ["num_agents"])


MAKE = {
    "p2p_convergence": convergence_runs,
    "p2p_private": private_runs,
    "p2p_dimensions": dimension_runs,
    "p2p_perturbed": perturbed_runs,
    "p2p_inputs": input_runs,
    "p2p_agents": agent_runs,
    "p2p_movielens": movielens_runs,
}


def claim_of(words: str):
    """The one claim whose text has these words."""
    (found,) = [claim for claim in CLAIMS if words in claim.text]
    return found
