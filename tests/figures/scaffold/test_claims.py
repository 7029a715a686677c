"""The claims of Noble et al. 2022 hold, fail and are undecided where they should, and the figure has all its panels."""

import math
from functools import partial

import pandas as pd
import pytest
from made_up_points import crossed, finish, of_each
from made_up_runs import outcomes as outcomes_of

from figures.scaffold import PAPER
from figures.scaffold.steps import FEDAVG, FIGURE, SCAFFOLD

STEPS = (1, 5, 20)


def loss(algorithm, task, noise, steps, rate, trial):
    """Losses of which every claim holds; the best step of a round is 0.3."""
    gain = 0.05 * STEPS.index(steps) if algorithm == SCAFFOLD else 0.0
    return 1.0 - gain + abs(rate - 0.3) + 0.1 * trial + 0.001 * ((3 * trial + steps) % 4) * (algorithm == SCAFFOLD)


def made(value=loss, trials=3) -> pd.DataFrame:
    rows = crossed(
        algorithm=(SCAFFOLD, FEDAVG),
        task=("softmax_0_0", "softmax_5_5"),
        noise_multiplier=(0.0, 2.4),
        num_steps=STEPS,
        round_step_size=(0.1, 0.3, 1.0),
        seed=range(trials),
        test_accuracy=[0.5],
    )
    rows["train_loss"] = of_each(rows, value, "algorithm task noise_multiplier num_steps round_step_size seed")
    rows["epsilon"] = rows["num_steps"].where(rows["noise_multiplier"] > 0, math.inf)
    return finish(rows, "scaffold_steps", source="generated", rounds=50, num_rounds=50, delta=1e-4)


outcomes = partial(outcomes_of, PAPER.claims)


def test_they_hold_where_they_should():
    assert outcomes(made()) == ["yes"] * 4


@pytest.mark.parametrize(("noisy", "failing"), [(True, (0, 2)), (False, (1, 3))])
def test_they_fail_where_control_variates_do_harm(noisy, failing):
    def worse(algorithm, task, noise, steps, rate, trial):
        harm = 0.3 * STEPS.index(steps) * (algorithm == SCAFFOLD) * ((noise > 0) == noisy)
        return loss(algorithm, task, noise, steps, rate, trial) + harm

    found = outcomes(made(worse))
    assert [found[number] for number in failing] == ["no"] * 2
    assert found.count("yes") == 2


def test_chance_leaves_them_undecided():
    def noisy(algorithm, task, noise, steps, rate, trial):
        return loss(algorithm, task, noise, steps, rate, trial) + 0.5 * (trial == 1) * (algorithm == SCAFFOLD) * steps

    assert outcomes(made(noisy)) == ["open"] * 4


def test_what_is_not_there_is_not_run():
    runs = made()
    assert outcomes(runs.iloc[:0]) == ["not run"] * 4
    assert outcomes(runs[runs["algorithm"] == SCAFFOLD]) == ["not run"] * 4
    assert outcomes(runs[runs["num_steps"] == 1]) == ["not run"] * 4


def test_the_figure_has_a_panel_for_each_noise_and_task_with_the_best_step():
    table = FIGURE.table(made())
    assert len(table) == 2 * 2 * 2 * 3
    assert set(table["round_step_size"]) == {0.3}
    assert set(table["clients"]) == {"softmax_0_0", "softmax_5_5"}
    picture = FIGURE.picture(table)
    assert len(picture.axes) == 4
    assert all(len(ax.lines) == 2 for ax in picture.axes)


def test_bands_leave_out_what_a_draw_adds_to_all_losses_and_keep_the_means():
    def shifted(algorithm, task, noise, steps, rate, trial):
        return 1.0 + (algorithm == SCAFFOLD) * steps / 20 + abs(rate - 0.3) + trial

    rows = FIGURE.table(made(shifted))
    expected = 2.0 + (rows["algorithm"] == SCAFFOLD) * rows["num_steps"] / 20
    assert rows["train_loss"].to_numpy() == pytest.approx(expected.to_numpy())
    assert (rows["high"] - rows["low"]).to_numpy() == pytest.approx(0.0, abs=1e-9)
    alone = FIGURE.table(made(shifted, trials=1))
    assert alone["low"].isna().all()
