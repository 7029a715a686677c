"""The claims on server optimisers, proximal steps and adaptive clipping hold, fail and are undecided where they should,
and the figures have all their panels."""

import pandas as pd
import pytest
from made_up_points import crossed, finish, of_each, table
from made_up_runs import outcomes as outcomes_of

from figures.server_steps import PAPER, clipping, optimisers, proximal

LOSS = {"FedAvg": 0.5, "FedAvgM": 0.4, "FedAdam": 0.3, "FedYogi": 0.3}


END = {"rounds": 100, "num_rounds": 100, "source": "generated", "delta": 1e-4}
RARE = {"task": "rare_features", "epsilon_tight": 3.0}


def chance(trial: int, *labels) -> float:
    return 0.1 * trial + 0.001 * ((3 * trial + sum(map(len, map(str, labels)))) % 4)


def of_optimisers(**shifts: float) -> pd.DataFrame:
    kinds = [(name, tau) for name in ("FedAdam", "FedYogi") for tau in (0.01, 0.1)]
    kinds = table("algorithm tau", [*kinds, ("FedAvg", None), ("FedAvgM", None)])
    rows = crossed(kinds, noise_multiplier=(0.0, 1.0), server_step_size=(0.1, 1.0, 10.0), seed=range(4))
    loss = rows["algorithm"].map(LOSS) + rows["algorithm"].map(shifts).fillna(0.0)
    loss += 0.2 * (rows["server_step_size"] != 1.0) + 0.1 * (rows["tau"] > 0.01)
    loss += of_each(rows, chance, "seed algorithm")
    return finish(rows.assign(train_loss=loss, test_loss=loss), optimisers.SWEEP, **RARE, **END)


def of_proximal(gain_fixed=0.1, gain_best=0.1) -> pd.DataFrame:
    steps = {"num_steps": (5, 50, 200), "step_size": (0.03, 0.1, 0.3)}
    rows = crossed(task=("softmax_0_0", "softmax_5_5"), proximal=(0.0, 0.1, 1.0), seed=range(4), **steps)
    gain = rows["step_size"].map({0.03: gain_best, 0.1: gain_fixed, 0.3: 0.0})
    loss = 5.0 + (rows["step_size"] - 0.03) * 20 - gain * rows["proximal"] * (rows["num_steps"] / 50)
    rows["train_loss"] = loss + of_each(rows, chance, "seed task proximal")
    return finish(rows, proximal.SWEEP, algorithm="FedProx", **END)


def of_clipping(off=0.0, worse=0.0, fixed_off=0.2) -> pd.DataFrame:
    rest = {"step": (0.3, 1.0, 3.0), "seed": range(4)}
    fixed = crossed(factor=(0.1, 0.3, 1.0, 3.0, 10.0), **rest).assign(algorithm="Fixed", quantile=0.5, clipped=0.3)
    far, near = (fixed["factor"].isin(factors) for factors in ((0.1, 10.0), (0.3, 3.0)))
    fixed["train_loss"] = fixed_off * far + 0.05 * near + of_each(fixed, chance, "seed")
    fixed["server_step_size"] = fixed["step"] / fixed["factor"]
    adaptive = crossed(factor=(0.1, 10.0), quantile=(0.2, 0.5, 0.8), **rest).assign(algorithm="Adaptive")
    adaptive["train_loss"] = worse + of_each(adaptive, chance, "seed factor")
    adaptive["clipped"] = 1 - adaptive["quantile"] + off + 0.001 * (adaptive["seed"] % 3 - 1)
    adaptive["server_step_size"] = adaptive["step"]
    rows = pd.concat([fixed, adaptive], ignore_index=True)
    rows["train_loss"] += 0.3 + 0.1 * (rows["step"] != 1.0)
    return finish(rows.drop(columns="step"), clipping.SWEEP, **RARE, **END)


def outcomes(runs: pd.DataFrame) -> list[str]:
    """Of the claims about the sweep of these runs."""
    return outcomes_of((claim for claim in PAPER.claims if claim.sweep == runs["sweep"].iloc[0]), runs)


@pytest.mark.parametrize(("runs", "count"), [(of_optimisers(), 7), (of_proximal(), 2), (of_clipping(), 3)])
def test_they_hold_where_they_should(runs, count):
    assert outcomes(runs) == ["yes"] * count


def test_they_fail_where_adaptive_optimisers_do_harm():
    assert outcomes(of_optimisers(FedAdam=0.15)) == ["yes", "no", *["yes"] * 5]
    assert outcomes(of_optimisers(FedAdam=0.3, FedYogi=0.3, FedAvgM=0.3)) == ["no", "yes"] * 2 + ["no"] * 3


def test_they_fail_where_mu_does_harm_at_the_same_step_or_at_the_best():
    assert outcomes(of_proximal(gain_fixed=-0.1)) == ["no", "yes"]
    assert outcomes(of_proximal(gain_best=-0.1)) == ["yes", "no"]


def test_they_fail_where_the_norm_does_not_track_or_costs_too_much():
    assert outcomes(of_clipping(off=0.1)) == ["no", "yes", "yes"]
    assert outcomes(of_clipping(worse=0.05)) == ["yes", "no", "yes"]
    assert outcomes(of_clipping(fixed_off=-0.05, worse=0.02)) == ["yes", "no", "no"]


def test_what_is_not_there_is_not_run():
    runs = of_optimisers()
    assert outcomes(runs[runs["algorithm"] == "FedAvg"]) == ["not run"] * 7
    prox = of_proximal()
    assert outcomes(prox[prox["proximal"] > 0]) == ["not run"] * 2
    clip = of_clipping()
    assert outcomes(clip[clip["algorithm"] == "Fixed"]) == ["not run"] * 3


def test_the_figures_have_all_panels_and_curves():
    table = optimisers.FIGURE.table(of_optimisers())
    assert set(table["tau"]) == {0.0, 0.01}
    assert [len(ax.lines) for ax in optimisers.FIGURE.picture(table).axes] == [4, 4]
    table = proximal.FIGURE.table(of_proximal())
    assert len(table) == 2 * 2 * 3 * 3
    assert [len(ax.lines) for ax in proximal.FIGURE.picture(table).axes] == [3] * 4
    table = clipping.FIGURE.table(of_clipping())
    assert set(table["step"]) == {1.0}
    assert [len(ax.lines) for ax in clipping.FIGURE.picture(table).axes] == [4, 4]
