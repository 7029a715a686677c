"""Risk under the bounds of Theorems 5.2 and B.4: the points of the sweep, the figure and the claims."""

import math

import jax
import numpy as np
import pandas as pd
import pytest
from made_up_points import crossed, finish, of_each, table
from made_up_runs import NOT_RUN, SPENT, judge

from bench.algorithms.parts.participation import participation
from bench.data.tasks.bounded import bounded, examples_of_users
from bench.papers import SWEEPS
from bench.sweeps.spec import arguments
from figures.ppsgd.claims import CLAIMS
from figures.shared.verdicts import NO, OPEN, YES

INF = math.inf
WEIGHTED, AVERAGED, SUMS = (claim for claim in CLAIMS if claim.sweep == "ppsgd_sampled_theory")
N, RATE, VARIANCE = 200, 0.1, 0.25
SIZES = examples_of_users(N, 20)


def point(name: str, a: float, epsilon: float) -> pd.Series:
    points = SWEEPS["ppsgd_sampled_theory"]("laptop").entries[name].points
    (row,) = points.index[(points["personalization"] == a) & (points["target_epsilon"] == epsilon)]
    return points.loc[row]


def test_global_learning_by_sums_has_the_bound_of_theorem_5_2():
    """|z*| = 1, L = 2 (1 + max m / (q M)), and the variance of an example over q M, without noise."""
    M, T = SIZES.sum(), 300
    smoothness, deviation = 2 * (1 + 20 / (RATE * M)), math.sqrt(VARIANCE / (RATE * M))
    found = point("Algorithm 2, T = 300", INF, INF)
    assert found["bound"] == pytest.approx(4 * smoothness / T + 3 * deviation / math.sqrt(T))
    assert found["step_size"] == pytest.approx(min(1 / (4 * smoothness), 1 / (deviation * math.sqrt(T))))
    assert found["clip_norm"] / 20 == point("Algorithm 3, T = 300", INF, INF)["clip_norm"]


def test_local_learning_by_means_has_the_bound_of_theorem_b_4():
    """|z*|^2 = N, L = 2 / (q N), and the variance of a user's mean over q N; a user moves by eta / (q N)."""
    T = 1000
    smoothness, deviation = 2 / (RATE * N), math.sqrt(np.mean(VARIANCE / SIZES) / (RATE * N))
    found = point("Algorithm 3, T = 1000", 0.0, INF)
    assert found["bound"] == pytest.approx(4 * smoothness * N / T + 3 * deviation * math.sqrt(N / T))
    eta = min(1 / (4 * smoothness), math.sqrt(N / T) / deviation)
    assert found["step_size"] == pytest.approx(eta / (RATE * N))


@pytest.mark.parametrize(("name", "divisor"), [("Algorithm 2", RATE * SIZES.sum()), ("Algorithm 3", RATE * N)])
def test_the_bound_counts_the_noise_that_the_budget_needs(name, divisor):
    """Global learning: the bound grows by the noise's deviation sigma C / D in each of ten coordinates."""
    loud, quiet = (point(f"{name}, T = 3000", INF, epsilon) for epsilon in (3.0, INF))
    assert quiet["noise_multiplier"] == 0 < loud["noise_multiplier"]
    first = 8 * (1 + (20 if name == "Algorithm 2" else 1) / divisor) / 3000
    variances = [((row["bound"] - first) * math.sqrt(3000) / 3) ** 2 for row in (loud, quiet)]
    std = loud["noise_multiplier"] * loud["clip_norm"] / divisor
    assert variances[0] - variances[1] == pytest.approx(10 * std**2)


@pytest.mark.parametrize("name", ["Algorithm 2", "Algorithm 3"])
def test_between_both_ends_the_step_and_the_bound_are_those_of_alpha(name):
    """alpha = 1 / D: |z*|^2 = N D / (D + N), and the smoothness and variance of both halves."""
    weight, most, mean = {
        "Algorithm 2": (SIZES.sum(), 20, VARIANCE),
        "Algorithm 3": (N, 1, np.mean(VARIANCE / SIZES)),
    }[name]
    T, divisor = 3000, RATE * weight
    alpha = 1 / divisor
    smoothness = 2 * max(alpha + alpha * most / divisor, most / divisor)
    deviation = math.sqrt((alpha + 1) * mean / divisor)
    norm = math.sqrt(N * divisor / (divisor + N))
    found = point(f"{name}, T = {T}", 1.0, INF)
    assert found["bound"] == pytest.approx(4 * smoothness * norm**2 / T + 3 * deviation * norm / math.sqrt(T))
    eta = min(1 / (4 * smoothness), norm / (deviation * math.sqrt(T)))
    assert found["step_size"] == pytest.approx(eta / divisor)


@pytest.mark.parametrize(("name", "reduce"), [("Algorithm 2", "sum"), ("Algorithm 3", "mean")])
def test_the_runs_are_of_the_algorithm_that_the_theorem_is_about(name, reduce):
    """Poisson sampling, the average iterate, and a round's sum over the divisor D that turns alpha D into alpha."""
    sweep = SWEEPS["ppsgd_sampled_theory"]("laptop")
    entry = sweep.entries[f"{name}, T = 3000"]
    (kind,) = entry.points[["sampler", "reduce", "average"]].drop_duplicates().to_dict("records")
    assert kind == {"sampler": "poisson", "reduce": reduce, "average": True}
    task, args = sweep.tasks["bounded_unequal"](0), arguments(entry.method, entry.points.iloc[0].to_dict())
    names = ("num_sampled", "batch_size", "sampler", "reduce")
    who = participation(task, **{name: args[name] for name in names})
    drawn, _ = who.draw(jax.random.key(0), who.init(jax.random.key(1)))
    assert float(drawn.divisor) == pytest.approx(RATE * (SIZES.sum() if reduce == "sum" else N))


def test_the_sizes_are_those_of_the_task():
    assert np.array_equal(bounded(0, num_clients=N, largest=20).num_examples, SIZES)


def runs(weighted: float = 0.1, averaged: float = 0.2, clipped: float = 0.0, bound: float = 1.0) -> pd.DataFrame:
    learned = table("personalization more", [(0.0, 0.0), (1.0, 0.01), (INF, 0.02)])
    lengths = table("samples num_rounds rounds", [(10, 10, 0), (10, 10, 10), (100, 100, 0), (100, 100, 100)])
    rows = crossed(learned, lengths, number=(2, 3), target_epsilon=(3.0, INF), seed=range(3))
    rows["algorithm"] = of_each(rows, "Algorithm {}, T = {}".format, "number samples")
    repetition = 1 + 0.01 * rows["seed"]
    rows["weighted_risk"] = (weighted + rows["more"]) * repetition
    rows["excess_risk"] = (averaged + rows["more"]) * repetition
    rows = rows.assign(bound=bound, clipped=clipped).drop(columns=["number", "more"])
    return finish(rows, "ppsgd_sampled_theory", source="generated", task="bounded_unequal", **SPENT, trial=0)


def test_each_theorem_is_held_against_the_risk_that_it_bounds():
    assert judge(WEIGHTED, runs()).seen == judge(AVERAGED, runs()).seen == YES
    assert (judge(WEIGHTED, runs(weighted=2.0)).seen, judge(AVERAGED, runs(weighted=2.0)).seen) == (NO, YES)
    assert (judge(WEIGHTED, runs(averaged=2.0)).seen, judge(AVERAGED, runs(averaged=2.0)).seen) == (YES, NO)


def test_clipped_runs_and_missing_ones_decide_nothing():
    assert judge(WEIGHTED, runs(clipped=0.1)).seen == NOT_RUN
    second = runs()
    assert judge(AVERAGED, second[second["algorithm"].str.startswith("Algorithm 2")]).seen == NOT_RUN


def test_sums_pay_more_where_a_budget_raises_their_risk_by_more():
    def noisy(more):
        made = runs()
        private = np.isfinite(made["target_epsilon"]) * (1 + 0.01 * made["seed"])
        second = made["algorithm"].str.startswith("Algorithm 2")
        return made.assign(
            weighted_risk=made["weighted_risk"] + private * second * more,
            excess_risk=made["excess_risk"] + private * ~second * 0.1,
        )

    assert judge(SUMS, noisy(0.3)).seen == YES
    assert judge(SUMS, noisy(0.05)).seen == NO
    sums = noisy(0.3)
    assert judge(SUMS, sums[sums["algorithm"].str.startswith("Algorithm 2")]).seen == NOT_RUN
    scattered = sums.assign(
        weighted_risk=sums["weighted_risk"] + (sums["seed"] == 1) * np.isfinite(sums["target_epsilon"])
    )
    assert judge(SUMS, scattered).seen == OPEN
