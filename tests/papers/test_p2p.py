"""The sweeps of the peer-to-peer paper: they resolve, their noise costs its budget, tiny ones run into Parquet."""

import math
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from slow_cases import cases
from tiny_peers import logistic_peers
from tiny_ratings import USERS, made_up, put

from bench.algorithms import ALGORITHMS
from bench.algorithms.coordinate_descent import METHOD
from bench.data.tasks.movielens import movielens
from bench.execution.run import run_sweep
from bench.papers.p2p import noise
from bench.papers.p2p import sweeps as p2p
from bench.privacy.accounting import epsilon
from bench.sweeps.points import resolve
from bench.sweeps.spec import Sweep, arguments, thin

SWEEPS = {make.__name__: make for make in (p2p.p2p_convergence, p2p.p2p_private, p2p.p2p_dimensions, p2p.p2p_movielens)}


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    """A small u.data where BENCH_DATA points."""
    with pytest.MonkeyPatch.context() as patched:
        put(made_up(), tmp_path_factory.mktemp("ratings"), patched)
        yield


@cache
def points_of(name, scale="paper") -> dict[str, pd.DataFrame]:
    return {label: entry.points for label, entry in SWEEPS[name](scale).entries.items()}


def sized(sweep: Sweep) -> Sweep:
    """The sweep on MovieLens with rounds of as many ticks as there are users, as on the real ratings."""
    if sweep.name != "p2p_movielens":
        return sweep
    entries = {
        label: entry.with_points(entry.points.assign(num_ticks=USERS)) if "num_ticks" in entry.points else entry
        for label, entry in sweep.entries.items()
    }
    return sweep._replace(entries=entries)


def start_epsilon(points):
    """What the warm start of points costs; 0 where there is none."""
    share = points["start_share"] * points["budget"] if "start_share" in points else p2p.START_EPSILON
    return np.where(points["start"] == "propagation", share, 0.0)


# ---- As they stand ----


@pytest.mark.usefixtures("ratings")
@pytest.mark.parametrize("scale", ["smoke", "paper"])
@pytest.mark.parametrize("name", cases(SWEEPS, slow={"p2p_dimensions"}))
def test_every_sweep_resolves_on_its_tasks(name, scale):
    sweep = sized(SWEEPS[name](scale))
    tasks = {task: make(0) for task, make in sweep.tasks.items()}
    resolved = resolve(sweep, tasks)
    assert sum(map(len, resolved.values())) == sum(len(entry.points) for entry in sweep.entries.values())
    assert all(resolved.values())  # no task that no point uses
    assert sweep.name == name


@pytest.mark.parametrize("name", ["p2p_private", "p2p_dimensions", "p2p_movielens"])
def test_the_noise_of_every_point_costs_its_budget(name):
    points = points_of(name)["private CD"]
    points = points.assign(first=start_epsilon(points))
    keys = [
        "target_epsilon",
        "num_updates",
        "mechanism",
        "noise_multiplier",
        "start_noise_multiplier",
        "start",
        "first",
    ]
    keys += [column for column in ("allocation", "max_updates") if column in points]
    task = logistic_peers()
    for point in points[keys].drop_duplicates().to_dict("records"):
        args = arguments(METHOD, point | {"mu": 1.0})
        METHOD.fits(task, **args)

        def spent(rounds, args=args, **other):
            return epsilon(METHOD.releases(task, delta=p2p.DELTA, **args | other)["paper"], rounds)

        rounds, wanted, first = int(point["num_updates"]), point["target_epsilon"], point["first"]
        if point["mechanism"] == "gaussian" and first > 0:
            assert spent(rounds) == pytest.approx(wanted + first, rel=1e-3), point  # both together, exactly
            assert spent(rounds) <= (wanted + first) * (1 + 1e-6)
            assert spent(0) == pytest.approx(first, rel=1e-3), point
            continue
        assert spent(rounds, start="zero") == pytest.approx(wanted, rel=1e-3), point
        assert spent(rounds, start="zero") <= wanted * (1 + 1e-6)
        assert spent(0) == pytest.approx(first, rel=1e-3), point
        # Composed with the start it is the sum, or less by the theorem's other bounds.
        assert wanted * (1 - 1e-3) <= spent(rounds) <= (wanted + first) * (1 + 1e-6), point
        if point["mechanism"] == "laplace" and rounds <= 4:
            assert spent(rounds) == pytest.approx(wanted + first, rel=1e-3), point


@pytest.mark.parametrize("name", ["p2p_dimensions", "p2p_movielens"])
def test_one_release_costs_the_whole_budget(name):
    points, task = points_of(name)["one release"], logistic_peers()
    assert set(points["calibration"]) == {"clipped", "gaussian"}
    for point in points[["budget", "mechanism", "clip_norm"]].drop_duplicates().to_dict("records"):
        row = points.loc[(points[list(point)] == pd.Series(point)).all(axis=1)].iloc[0]
        args = arguments(ALGORITHMS["model_propagation"], row.to_dict())
        found = ALGORITHMS["model_propagation"].releases(task, delta=p2p.DELTA, **args)
        for rounds in (0, 7):  # whatever follows is made of what was sent
            assert epsilon(found["paper"], rounds) == pytest.approx(point["budget"], rel=1e-3)
            assert epsilon(found["true"], rounds) <= point["budget"] * (1 + 1e-3)


def test_the_noise_of_one_update_is_the_formula_of_the_paper():
    for wanted in p2p.EPSILONS:
        assert noise.sigma(wanted, 1, "laplace") == pytest.approx(2 / wanted, rel=1e-3)
        assert noise.sigma(wanted, 8, "laplace") <= 8 * 2 / wanted * 1.001


def test_calibrations_are_published_clipped_and_gaussian():
    table = noise.scaled(noise.calibrations(list(noise.MECHANISMS), [1.0, 10.0]))
    assert table["calibration"].tolist() == ["published", "clipped", "clipped", "gaussian", "gaussian"]
    published = table["calibration"] == "published"
    assert (table.loc[published, ["clip_norm", "lipschitz"]] == [math.inf, 1.0]).all(axis=None)
    assert (table.loc[~published, "clip_norm"] == table.loc[~published, "lipschitz"]).all()
    assert (table["mechanism"] == np.where(table["calibration"] == "gaussian", "gaussian", "laplace")).all()


def test_what_is_tuned_is_tuned_on_other_instances():
    """Nothing is chosen by what it scores on the instances that the figures show."""
    for name in ("p2p_dimensions", "p2p_movielens"):
        for label in ("CD", "private CD"):
            points = points_of(name)[label]
            columns = [column for column in points if column not in ("task", "instances")]
            halves = [
                points.loc[points["instances"] == half, columns].reset_index(drop=True)
                for half in ("test", "validation")
            ]
            pd.testing.assert_frame_equal(*halves)
            assert set(points.loc[points["instances"] == "validation", "task"]).isdisjoint(
                points.loc[points["instances"] == "test", "task"]
            )


# ---- Tiny versions, run ----


def tiny(name) -> Sweep:
    """The smoke sweep on a few agents, one seed."""
    sweep = sized(SWEEPS[name]("smoke"))
    fewer = {
        "p2p_dimensions": {"num_features": [2], "target_epsilon": [0.5], "solver": ["newton"]},
        "p2p_convergence": {"start": ["descent"]},
        "p2p_movielens": {"budget": [0.5]},
    }
    sweep = thin(sweep, keep=fewer.get(name))

    def shrink(make):
        if make is movielens or getattr(make, "func", None) is movielens:
            return make
        return partial(make, num_agents=10, num_test=5, graph_width=1.0)

    named = {str(task) for entry in sweep.entries.values() for task in entry.points.get("task", [])}
    tasks = {task: shrink(make) for task, make in sweep.tasks.items() if not named or task in named}
    return sweep._replace(tasks=tasks, seeds=1)


@pytest.fixture(scope="module")
def results(tmp_path_factory, ratings):
    """The rows of each tiny sweep, or of one of its entries, run once."""

    @cache
    def rows(name, entry=None):
        out, sweep = tmp_path_factory.mktemp(name), tiny(name)
        if entry:
            sweep = sweep._replace(entries={entry: sweep.entries[entry]})
        run_sweep(sweep, scale="smoke", out=out)
        return pd.read_parquet(out / "smoke" / name)

    return rows


@pytest.mark.parametrize(
    "name", ["p2p_private", pytest.param("p2p_dimensions", marks=pytest.mark.slow), "p2p_movielens"]
)
def test_at_the_end_a_run_has_spent_its_budget_and_its_start(results, name):
    private = results(name, "private CD").sort_values("rounds")
    assert set(private["algorithm"]) == {"private CD"}
    first, last = (getattr(private.groupby("point"), which)() for which in ("first", "last"))
    start = start_epsilon(last)
    np.testing.assert_array_equal(last["releases"], last["num_updates"])
    np.testing.assert_array_equal(first["releases"], 0)
    np.testing.assert_allclose(first["epsilon"], start, rtol=1e-3)
    assert (last["epsilon"] <= last["target_epsilon"] + start + 1e-6).all()
    assert (last["mechanism"] == "laplace").all()
    few = last["num_updates"] <= 4  # with more, the theorem's other bounds may be below the sum
    np.testing.assert_allclose(last["epsilon"][few], (last["target_epsilon"] + start)[few], rtol=1e-3)
    assert (last["epsilon"] >= last["target_epsilon"] * (1 - 1e-3)).all()
    assert (last["epsilon_tight"] <= last["epsilon"] * (1 + 2e-3)).all()
    published = last["calibration"] == "published"
    assert (last["epsilon_true"][published] > 5 * last["epsilon"][published]).all()
    np.testing.assert_allclose(last["epsilon_true"][~published], last["epsilon_tight"][~published], rtol=1e-3)


@pytest.mark.slow
def test_the_other_methods_have_the_epsilon_that_is_theirs(results):
    rows = pd.concat([results("p2p_dimensions"), results("p2p_movielens"), results("p2p_convergence")])
    assert set(rows.loc[rows["algorithm"] == "local", "epsilon"]) == {0.0}
    assert set(rows.loc[rows["algorithm"] == "ADMM", "epsilon"]) == {math.inf}
    perturbed = rows[rows["algorithm"] == "local DP"]
    np.testing.assert_allclose(perturbed["epsilon"], perturbed["target_epsilon"], rtol=1e-6)
    assert (perturbed["epsilon"] <= perturbed["target_epsilon"]).all()
    bare = rows[rows["algorithm"] == "CD"]
    assert (bare.loc[bare["rounds"] > 0, "epsilon"] == math.inf).all()


# ---- On a task that is not for peers ----
