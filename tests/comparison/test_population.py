"""Methods with the noise of more users than exist: what is divided, what the rows say, and what is refused."""

import math

import jax
import numpy as np
import pandas as pd
import pytest
from tiny_comparison import SMALL, TASK, compared

import bench
from bench.algorithms import ALGORITHMS
from bench.comparison.population import FACTOR, for_more_users
from bench.errors import InputError
from bench.privacy.accounting import epsilon as epsilon_of
from bench.store import part_files

METHOD = "Global private SGD"
ARGS = {"num_sampled": 4, "batch_size": 3, "step_size": 0.1, "clip_norm": 1.0, "personalization": math.inf}
ARGS |= {"sampler": "poisson"}


@pytest.mark.parametrize("factor", [1.0, 8.0])
def test_the_noise_of_a_round_is_that_of_the_multiplier_divided_by_the_factor(factor):
    """And nothing else is: the users and examples drawn are the same."""
    method, task, key = ALGORITHMS["ppsgd"], TASK(0), jax.random.key(3)
    more = for_more_users(method)
    after = [
        one.round(key, one.init(jax.random.key(1)))[0].variables
        for one in (
            more.make(task, noise_multiplier=2.0, **ARGS, **{FACTOR: factor}),
            method.make(task, noise_multiplier=2.0 / factor, **ARGS),
            method.make(task, noise_multiplier=2.0, **ARGS),
        )
    ]
    same, other = (jax.tree.all(jax.tree.map(np.array_equal, after[0], after[place])) for place in (1, 2))
    assert same
    assert other == (factor == 1)


def test_what_is_released_and_what_it_costs_are_those_of_the_method():
    method, task = ALGORITHMS["ppsgd"], TASK(0)
    more, args = for_more_users(method), {**ARGS, "local": "dense", "reduce": "mean", "noise_multiplier": 2.0}
    theirs, ours = (
        one.readings(task, delta=1e-4, **args, **extra) for one, extra in ((method, {}), (more, {FACTOR: 50.0}))
    )
    assert {name: epsilon_of(release, 5) for name, release in ours.items()} == {
        name: epsilon_of(release, 5) for name, release in theirs.items()
    }
    assert more.cost_of_round(task, **args, **{FACTOR: 50.0}) == method.cost_of_round(task, **args)


def test_extrapolated_rows_say_so_and_cannot_be_taken_for_measured_ones(tiny, tmp_path):
    few = {"seeds": 2, "num_settings": 3, "rounds": 5, "epsilons": [1.0], "workers": 1, "out": tmp_path}
    found = bench.compare(task="tiny", population=4, **few)
    place = tmp_path / "extrapolated" / "tiny_users_x_4"
    assert [path.name for path in tmp_path.iterdir()] == ["extrapolated"]
    marked = found.set_index(["algorithm", "target_epsilon"])["extrapolated"].to_dict()
    assert marked.pop((METHOD, 1.0))
    assert not any(marked.values())  # without noise, and learning alone, nothing is extrapolated
    assert set(found[FACTOR]) == {4.0}
    runs = part_files.read(place / "test")
    assert set(runs["scale"]) == {"extrapolated"}
    assert set(runs.loc[runs["algorithm"] == METHOD, FACTOR]) == {4.0}
    assert "Extrapolated, not measured" in (place / "comparison.md").read_text()
    assert pd.read_csv(place / "comparison.csv")["extrapolated"].sum() == 1
    with pytest.raises(InputError, match="is not the folder of a board's task"):
        bench.compare("ppsgd", task="tiny", board=tmp_path / "extrapolated", out=tmp_path)
    usual = compared(out=tmp_path, **SMALL | {"epsilons": [1.0]}).runs
    noise = [table[table["target_epsilon"] == 1]["noise_multiplier"].max() for table in (runs, usual)]
    assert noise[0] == pytest.approx(noise[1])  # that epsilon is of


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task": "linear_p2p"}, "linear_p2p: more users only help methods that protect a user"),
        ({"population": 0.5}, "population is 0.5: give how many times as many users there are, from 1 on"),
        ({"board": "results/board", "task": "synthetic"}, "population is 2.0, but the board was run with 1.0"),
        ({"task": "synthetic", "baselines": ["DP-FedAvg with adaptive clipping"]}, "also adds noise that the size"),
        ({"methods": "dp_fedavg", "fixed": {"clipping": "adaptive"}}, "also adds noise that the size"),
    ],
)
def test_what_cannot_be_extrapolated_is_refused(tiny, change, said, tmp_path):
    with pytest.raises(InputError, match=said):
        bench.compare(**{"task": "tiny", "population": 2.0, "out": tmp_path} | change)
