"""Intervals over users: the draws are a bootstrap, paired between methods, and the table includes their error."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from slow_cases import cases
from stand_in_tasks import stand_in
from tiny_comparison import runs_of, table_of_scores

from bench.comparison import resampled
from bench.comparison.problem import Problem
from bench.comparison.problems import own_clients, problem_named
from bench.data.tasks import registry
from bench.models.additive import Additive


def test_the_draws_have_the_error_of_a_mean_over_users():
    scores = np.random.default_rng(0).normal(size=400).astype(np.float32)
    drawn = np.array(list(resampled.resampled("score", jnp.asarray(scores), jnp.ones(400)).values()))
    assert len(drawn) == resampled.DRAWS
    assert abs(drawn.mean() - scores.mean()) < 3 * scores.std() / 20 / np.sqrt(len(drawn))
    assert drawn.std(ddof=1) == pytest.approx(scores.std() / 20, rel=0.35)  # three standard errors of 50 draws


def test_a_ratio_is_drawn_with_its_weights_and_a_plain_program_agrees():
    totals, weights = np.array([3.0, 0.0, 5.0, 7.0]), np.array([4, 1, 5, 10])
    drawn = resampled.resampled("score", jnp.asarray(totals), jnp.asarray(weights))
    for key, value in zip(
        jax.random.split(jax.random.key(resampled.KEY), resampled.DRAWS), drawn.values(), strict=True
    ):
        users = np.asarray(jax.random.randint(key, (4,), 0, 4))
        assert value == pytest.approx(totals[users].sum() / weights[users].sum(), rel=1e-6)


def test_a_diverged_model_has_no_score_on_any_draw_of_its_users():
    drawn = resampled.resampled("score", jnp.full(9, jnp.nan), jnp.ones(9))
    assert np.isnan(np.array(list(drawn.values()))).all()


def runs(gap_of_user, noise=0.0):
    """Runs of "old" and "new" on users with these differences between them, with scores on draws of these users."""
    rng, frames = np.random.default_rng(1), []
    base = rng.normal(size=len(gap_of_user))
    for name, scores in (("old", base), ("new", base + gap_of_user)):
        drawn = resampled.resampled("score", jnp.asarray(scores), jnp.ones(len(scores)))
        of_splits = scores.mean() + noise * rng.normal(size=5)
        frames.append(runs_of({name: of_splits}).assign(**{key: float(value) for key, value in drawn.items()}))
    return pd.concat(frames, ignore_index=True)


def of_new(rows):
    return table_of_scores(rows, baselines=["old"], tried=1).set_index("algorithm").loc["new"]


def test_a_gain_on_some_users_alone_is_significant_over_splits_and_not_over_users():
    gap = np.zeros(100)
    gap[0] = 50.0
    rows = runs(gap, noise=1e-3)
    with_users = of_new(rows)
    without = of_new(rows.drop(columns=resampled.names("score")))
    assert without["decided"]
    assert np.isnan(without["gain_error_users"])
    assert not with_users["decided"]
    assert with_users["gain_low"] < 0 < with_users["gain_high"]
    assert with_users["gain_error_users"] == pytest.approx(gap.std() / 10, rel=0.4)


def test_the_same_gain_for_every_user_needs_no_wider_interval():
    rows = runs(np.full(100, 0.5), noise=1e-3)
    with_users = of_new(rows)
    without = of_new(rows.drop(columns=resampled.names("score")))
    assert with_users["gain_error_users"] == pytest.approx(0, abs=1e-6)
    assert with_users["gain_low"] == pytest.approx(without["gain_low"], abs=1e-5)
    assert with_users["decided"]


def test_a_twin_has_a_gain_of_exactly_0_whatever_its_users():
    rows = runs(np.zeros(30))
    rows.loc[rows["algorithm"] == "new", resampled.names("score")] *= 1 + 1e-7
    assert tuple(of_new(rows)[["gain", "gain_low", "gain_high"]]) == (0, 0, 0)


def assert_parts_make_the_metric(problem, task):
    params = Additive(jax.random.normal(jax.random.key(1), task.init_params.shape))
    totals, weights = problem.by_user(params, task)
    assert len(totals) == len(weights) == task.num_clients
    whole = task.metrics(params, task)[problem.metric]
    assert float(jnp.sum(totals)) / float(jnp.sum(weights)) == pytest.approx(float(whole), rel=1e-5)


@pytest.mark.parametrize("name", cases(["synthetic", "digits", "tags"], slow={"tags"}))
def test_totals_over_weights_are_the_metric(name, monkeypatch):
    problem = problem_named(name)
    make = problem.test if isinstance(problem.test, partial) else partial(problem.test)
    assert_parts_make_the_metric(problem, stand_in(make, monkeypatch))


@pytest.mark.parametrize("regression", [False, True])
def test_totals_over_weights_are_the_metric_of_own_clients(regression, tmp_path):
    rng = np.random.default_rng(0)
    clients = np.repeat(["a", "b", "c"], [5, 10, 20])
    columns = {"client": clients, "label": rng.integers(0, 2, 35), "x": rng.random(35), "y": rng.random(35)}
    pd.DataFrame(columns).to_csv(tmp_path / "mine.csv", index=False)
    problem = own_clients(tmp_path / "mine.csv", regression=regression)
    assert_parts_make_the_metric(problem, problem.test(0))


def test_every_problem_of_users_has_scores_by_user():
    for name in registry.compared():
        problem = problem_named(name)
        assert isinstance(problem, Problem)
        assert (problem.by_user is not None) == (problem.privacy_unit == "user"), name
