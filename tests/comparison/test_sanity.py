"""Comparisons whose outcome is known: a twin, a planted advantage, and labels without information."""

import dataclasses
import math

import jax
import numpy as np
import pandas as pd
import pytest
from stand_in_tasks import stand_in
from tiny_comparison import compared, renamed, table_of, under_another_name

from bench.algorithms import ALGORITHMS
from bench.comparison.problems import own_clients, problem_named
from bench.comparison.request import make_request
from bench.comparison.run import compare
from bench.data.tasks import registry


def small(name, monkeypatch):
    """A problem of the suite on made-up examples, with its first private baseline and that baseline's twin."""
    whole = problem_named(name)
    assert whole.baselines is not None
    label, variant = next((label, one) for label, one in whole.baselines.items() if one.method.noise)

    def on_made_up(make):
        task = stand_in(make, monkeypatch)
        return lambda trial: task

    made = {"test": on_made_up(whole.test), "tuning": whole.tuning and on_made_up(whole.tuning)}
    defaults = dict(whole.defaults) | {"num_sampled": 4, "batch_size": 3, "total_epochs": 2, "num_ticks": 12}
    pair = {label: variant, "Twin": variant._replace(method=renamed(variant.method))}
    return label, dataclasses.replace(whole, **made, defaults=defaults, baselines=pair)


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.compared())
def test_a_twin_ties_with_its_original_on_every_task(name, monkeypatch, tmp_path):
    label, pair = small(name, monkeypatch)
    request = make_request((), task=pair, epsilons=[2.0], seeds=2, num_settings=2, rounds=3, out=tmp_path)
    rows = table_of(compare(request), [label]).set_index("algorithm")
    twin, original = rows.loc["Twin"], rows.loc[label]
    assert set(twin["target_epsilon"]) == {2.0, math.inf}
    assert np.isfinite(original[pair.metric]).all()
    assert (twin["gain_low"] <= 0).all()
    assert (twin["gain_high"] >= 0).all()
    assert not twin["decided"].any()
    assert (twin["rank"].to_numpy() == original["rank"].to_numpy()).all()


@pytest.mark.slow
def test_a_planted_advantage_is_found(tmp_path):
    """A method that starts at the users' mean and hardly moves beats one that starts at 0 and hardly moves."""
    original = ALGORITHMS["ppsgd"]

    def planted(task, **args):
        whole = original.make(task, **args)

        def init(key):
            state = whole.init(key)
            shared = [leaf.shape == task.init_params.shape for leaf in jax.tree.leaves(state.variables)]
            assert shared.count(True) == 1
            mean = task.evaluation["truth"].mean(0)
            moved = jax.tree.map(lambda leaf: mean if leaf.shape == mean.shape else leaf, state.variables)
            return state._replace(variables=moved)

        return whole._replace(init=init)

    method = original._replace(make=under_another_name(original.make, planted))
    steps = {"step_size": [1e-4], "personalization": [math.inf]}
    comparison = compared([method], baselines=["Global private SGD"], tuned=steps, seeds=10, out=tmp_path)
    rows = table_of(comparison, ["Global private SGD"]).set_index("algorithm").loc["planted"]
    assert rows["decided"].all()
    assert (rows["gain_low"] > 0).all()
    assert (rows["rank"] == 1).all()


@pytest.mark.slow
def test_labels_without_information_give_chance(tmp_path):
    rng = np.random.default_rng(0)
    columns = {"client": np.repeat(np.arange(20), 40), "label": rng.integers(0, 2, 800)}
    columns |= {f"x{number}": rng.normal(size=800) for number in range(3)}
    pd.DataFrame(columns).to_csv(tmp_path / "mine.csv", index=False)
    chance = own_clients(tmp_path / "mine.csv")
    request = make_request(
        (), task=chance, epsilons=[1.0], seeds=3, num_settings=2, rounds=20, fixed={"num_sampled": 5}, out=tmp_path
    )
    rows = table_of(compare(request), ["Local learning"])
    tested = 3 * 800 * 0.2
    assert len(rows) >= 6
    assert (abs(rows["test_accuracy"] - 0.5) < 4 * 0.5 / np.sqrt(tested)).all()
    assert not rows["decided"].any()
