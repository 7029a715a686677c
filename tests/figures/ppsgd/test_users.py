"""Accuracy by user: its figure and claims, the steps beyond the published grid, and how step sizes are chosen."""

import math

import pandas as pd
import pytest
from made_up_runs import NOT_RUN, claim_of, digit_runs, judge, with_learning_alone

from figures.ppsgd import common, fig2_digits, users
from figures.ppsgd.claims import CLAIMS
from figures.shared.verdicts import NO, YES

WORST_ALONE = claim_of(CLAIMS, "the worst tenth of the users")


def by_user(runs: pd.DataFrame, **less: float) -> pd.DataFrame:
    """Runs with accuracies by user: pooled accuracy, less so much where it is not that of local learning."""
    shared = runs["personalization"].fillna(0) > 0
    columns = {name: runs["test_accuracy"] - less.get(name, 0) * shared for name in users.PANELS}
    return runs.assign(**columns)


def test_each_panel_shows_its_own_accuracy_and_learning_alone():
    runs = with_learning_alone(digit_runs(sigmas=(0.0, 1.0, 5.0)), 0.77)
    table = users.table(by_user(runs, test_accuracy_small_users=0.1))
    assert set(table["panel"]) == set(users.PANELS)
    rows = table[(table["noise_multiplier"] == 1) & (table["personalization"] == 10)].set_index("panel")["accuracy"]
    assert rows["test_accuracy_small_users"] == pytest.approx(rows["test_accuracy"] - 0.1)
    assert rows["test_accuracy_per_user"] == pytest.approx(rows["test_accuracy"])
    alone = table[table["curve"] == users.ALONE]
    assert len(alone) == len(users.PANELS)
    drawn = users.FIGURE.picture(table)
    panels = [ax for ax in drawn.axes if ax.get_title()]
    assert len(panels) == 5
    for ax in panels:
        assert len(ax.lines) == 4  # three noise levels, and learning alone
        assert ax.get_xlabel()
    heights = {ax.get_title(): ax.lines[1].get_ydata()[3] for ax in panels}
    assert heights["users with few examples"] == pytest.approx(heights["mean over users"] - 0.1)


def test_claims_by_user_look_at_users_alone():
    alone = by_user(with_learning_alone(digit_runs(), 0.7))
    assert judge(WORST_ALONE, alone).seen == YES
    worse = alone["test_accuracy"].where(alone["algorithm"] == common.ALONE, 0.5)
    assert judge(WORST_ALONE, alone.assign(test_accuracy_worst_tenth=worse)).seen == NO
    assert judge(WORST_ALONE, alone.assign(test_accuracy=worse)).seen == YES
    assert judge(WORST_ALONE, with_learning_alone(digit_runs(), 0.7)).seen == NOT_RUN


def test_steps_beyond_the_published_grid_count_for_claims_and_not_for_the_published_figure():
    runs = digit_runs()
    further = runs[(runs["noise_multiplier"] == 5) & (runs["step_size"] == 0.1)]
    further = further.assign(algorithm=common.FURTHER, step_size=0.01, test_accuracy=further["test_accuracy"] + 0.05)
    both = pd.concat([runs, further], ignore_index=True)
    published, plain = (fig2_digits.table(frame).drop(columns="commit") for frame in (both, runs))
    pd.testing.assert_frame_equal(published, plain)
    assert set(common.ppsgd_runs(both)["step_size"]) == {0.1, 0.5}
    assert set(common.ppsgd_runs(both, further=True)["step_size"]) == {0.01, 0.1, 0.5}
    rows = users.table(by_user(both))
    at_edge = rows[(rows["noise_multiplier"] == 5) & (rows["personalization"] == math.inf)]
    assert set(at_edge["edge"]) == {"step_size = 0.5, the largest tried"}  # held-out accuracy is best there


def test_the_step_is_chosen_by_what_weighs_users_by_size():
    """Held-out examples together speak for the smaller step; weighed by the users' size they speak for the larger."""
    together = digit_runs()["test_accuracy"]
    table = fig2_digits.table(digit_runs().assign(validation_accuracy=together))
    chosen = table[(table["tuned_on"] == "validation") & (table["curve"] == "alpha")]["step_size"]
    assert set(chosen) == {0.5}
