"""The claims on server optimisers, proximal steps and adaptive clipping hold, fail and are undecided where they should,
and the figures have all their panels."""

import itertools

import pandas as pd
import pytest
from made_up_runs import finished
from made_up_runs import outcomes as outcomes_of

from figures.server_steps import PAPER, clipping, optimisers, proximal

LOSS = {"FedAvg": 0.5, "FedAvgM": 0.4, "FedAdam": 0.3, "FedYogi": 0.3}


def chance(trial: int, *labels) -> float:
    return 0.1 * trial + 0.001 * ((3 * trial + sum(map(len, map(str, labels)))) % 4)


def of_optimisers(**shifts: float) -> pd.DataFrame:
    rows = []
    for name, noise, step, tau, trial in itertools.product(LOSS, (0.0, 1.0), (0.1, 1.0, 10.0), (0.01, 0.1), range(4)):
        adaptive = name in ("FedAdam", "FedYogi")
        if not adaptive and tau > 0.01:
            continue
        loss = LOSS[name] + shifts.get(name, 0.0) + 0.2 * (step != 1.0) + 0.1 * (tau > 0.01) + chance(trial, name)
        cell = {"algorithm": name, "noise_multiplier": noise, "server_step_size": step, "trial": trial}
        rows.append(cell | {"tau": tau if adaptive else None, "train_loss": loss, "test_loss": loss})
    return finished(rows, optimisers.SWEEP, task="rare_features", epsilon_tight=3.0, delta=1e-4)


def of_proximal(gain_fixed=0.1, gain_best=0.1) -> pd.DataFrame:
    rows = []
    cells = itertools.product(("softmax_0_0", "softmax_5_5"), (5, 50, 200), (0.03, 0.1, 0.3), (0.0, 0.1, 1.0), range(4))
    for task, steps, step, mu, trial in cells:
        gain = {0.03: gain_best, 0.1: gain_fixed, 0.3: 0.0}[step] * mu * (steps / 50)
        loss = 5.0 + (step - 0.03) * 20 - gain + chance(trial, task, mu)
        cell = {"task": task, "num_steps": steps, "step_size": step, "proximal": mu, "trial": trial}
        rows.append(cell | {"train_loss": loss})
    return finished(rows, proximal.SWEEP, algorithm="FedProx", delta=1e-4)


def of_clipping(off=0.0, worse=0.0, fixed_off=0.2) -> pd.DataFrame:
    rows = []
    for factor, step, trial in itertools.product((0.1, 0.3, 1.0, 3.0, 10.0), (0.3, 1.0, 3.0), range(4)):
        loss = 0.3 + fixed_off * (factor in (0.1, 10.0)) + 0.05 * (factor in (0.3, 3.0)) + 0.1 * (step != 1.0)
        cell = {"algorithm": "Fixed", "quantile": 0.5, "factor": factor, "server_step_size": step / factor}
        rows.append(cell | {"trial": trial, "train_loss": loss + chance(trial), "clipped": 0.3})
    for factor, quantile, step, trial in itertools.product((0.1, 10.0), (0.2, 0.5, 0.8), (0.3, 1.0, 3.0), range(4)):
        loss = 0.3 + worse + 0.1 * (step != 1.0) + chance(trial, factor)
        cell = {"algorithm": "Adaptive", "quantile": quantile, "factor": factor, "server_step_size": step}
        share = 1 - quantile + off + 0.001 * (trial % 3 - 1)
        rows.append(cell | {"trial": trial, "train_loss": loss, "clipped": share})
    return finished(rows, clipping.SWEEP, task="rare_features", epsilon_tight=3.0, delta=1e-4)


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
