"""What stands in a row of the results: which run, what it cost in privacy, what made it."""

import datetime
import importlib.metadata
import math
import platform
import shutil
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from tiny_sweeps import EVERY, ROOT, ROUNDS, STATIC, TASK, hypers, private_sgd, run

from bench.algorithms import ppsgd
from bench.data.task import Task
from bench.execution.run import use_compilation_cache
from bench.models.additive import squared_loss
from bench.privacy.accounting import epsilon
from bench.sweeps import rows
from bench.sweeps.columns import RESERVED
from bench.sweeps.spec import arguments, grid, parameters

QUEUE = dict(num_sampled=3, batch_size=2, sampler="queue", clip_norm=10.0)


def score(params, task):
    return {"size": jnp.sum(jnp.square(params.w))}


def queue_task(trial: int) -> Task:
    """Six clients with 4 to 6 stored examples: 15 blocks of two, which three clients a round use up in five."""
    x = jax.random.normal(jax.random.key(trial), (6, 6, 3))
    return Task(
        init_params=jnp.zeros((2, 3)),
        num_examples=jnp.array([6, 6, 4, 4, 5, 6], jnp.int32),
        train=(x, x[..., :2]),
        loss=squared_loss,
        metrics=score,
        name="stored",
        source="made here",
        checksum="123",
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """PPSGD with a label, without noise, with some, and without personalisation."""
    use_compilation_cache()
    points = pd.DataFrame(hypers()).assign(**dict(STATIC), panel="left")
    return run(private_sgd(points=points), tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="module")
def queued(tmp_path_factory):
    points = grid(step_size=0.1, personalization=[0.0, 1.0], noise_multiplier=[2.0], num_epochs=[1, 2], **QUEUE)
    return run(private_sgd(points=points, tasks={"stored": queue_task}, eval_every=2), tmp_path_factory.mktemp("rows"))


def test_every_row_says_which_run_it_is_of(table):
    assert set(parameters(ppsgd.METHOD)[0]) <= set(table)
    for name in ("sweep", "algorithm", "task", "source", "scale"):
        expected = {"sweep": "tiny", "algorithm": "PPSGD", "task": "synthetic_0.1", "source": "generated"}
        assert set(table[name]) == {expected.get(name, "smoke")}
    assert set(table["num_rounds"]) == {ROUNDS}
    assert set(table["panel"]) == {"left"}
    assert set(table["sampler"]) == {"fixed"}
    assert set(table["delta"]) == {1e-4}
    assert set(table["privacy_unit"]) == {"user"}
    noisy = table[(table["personalization"] > 0) & (table["noise_multiplier"] > 0)]
    last = arguments(ppsgd.METHOD, dict(STATIC) | {name: values[-1] for name, values in hypers().items()})
    claims = ppsgd.METHOD.releases(TASK(0), delta=1e-4, **last)
    assert set(noisy["accountant"]) == {claims["paper"].accountant}
    assert set(noisy["accounted_as"]) == {claims["paper"].sampler}
    assert set(noisy["neighbors"]) == {claims["paper"].neighbors}


def test_every_row_says_what_made_it(table):
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=ROOT).stdout.strip()
    (written,) = set(table["commit"])
    assert written == rows.commit()
    assert written == "unknown" if not commit else written.removesuffix("-dirty") == commit[:12]
    said = {
        "jax_version": jax.__version__,
        "jaxlib_version": importlib.metadata.version("jaxlib"),
        "python_version": platform.python_version(),
        "device": f"1 x {jax.devices()[0].device_kind}",
        "version": ppsgd.METHOD.version,
        "checksum": TASK(0).checksum,
        "points_per_chunk": 12,
    }
    for name, value in said.items():
        assert set(table[name]) == {value}, name
    days = abs(pd.to_datetime(table["date"]) - pd.Timestamp(datetime.datetime.now(datetime.UTC).date()))
    assert days.max() <= pd.Timedelta(days=1)
    assert (table["wall_s"] > 0).all()
    assert (table["compile_s"] > table["wall_s"]).all()


def test_every_column_is_an_argument_a_label_a_metric_or_reserved(table):
    """So that no label can be overwritten: those that are reserved are refused when the sweep is resolved."""
    metrics = {"excess_risk", "validation_loss", "global_floor", "clipped"}
    rest = {
        name
        for name in set(table) - set(parameters(ppsgd.METHOD)[0]) - metrics - {"panel"}
        if not name.startswith("epsilon")
    }
    assert rest == RESERVED | {"task"}


def test_epsilon_starts_at_nothing_and_grows(table):
    claims = [name for name in table if name.startswith("epsilon")]
    assert {"epsilon", "epsilon_sampler", "epsilon_tight", "epsilon_worst_case"} <= set(claims)
    start, later = table[table["rounds"] == 0], table[table["rounds"] > 0]
    assert (start[claims] == 0).all().all()
    assert (later.loc[later["personalization"] == 0, claims] == 0).all().all()
    shared = later[later["personalization"] > 0]
    assert np.isinf(shared.loc[shared["noise_multiplier"] == 0, claims]).all().all()
    noisy = shared[shared["noise_multiplier"] > 0]
    for _, one in noisy.groupby(["point", "seed"]):
        assert np.isfinite(one[claims]).all().all()
        assert (np.diff(one.sort_values("rounds")[claims], axis=0) > 0).all()


def test_epsilon_is_that_of_the_releases_so_far(table, queued):
    """By every way of accounting, computed here for each row alone."""
    for rows_of, task in ((table, TASK(0)), (queued, queue_task(0))):
        sample = rows_of[rows_of["seed"] == 1].groupby("point").sample(2, random_state=0)
        for row in sample.to_dict("records"):
            given = {name: row[name] for name in parameters(ppsgd.METHOD)[0]}
            for name, claim in ppsgd.METHOD.releases(task, delta=1e-4, **given).items():
                column = "epsilon" if name == "paper" else f"epsilon_{name}"
                assert row[column] == pytest.approx(epsilon(claim, row["releases"])), (column, row["releases"])


def test_rounds_with_an_empty_queue_release_nothing(queued):
    """15 blocks a pass, 3 in a round while there are so many, and nothing moves once the queues are empty."""
    for _, one in queued.sort_values("rounds").groupby(["point", "seed"]):
        total, epochs = one["releases"].iloc[-1], one["num_epochs"].iloc[0]
        assert 5 * epochs <= total <= 15 * epochs
        assert (one["releases"] <= one["rounds"]).all()
        busy = one["releases"] < total
        assert (one.loc[busy, "releases"] == one.loc[busy, "rounds"]).all()
        after = one[one["rounds"] >= total]
        assert len(after) > 1
        assert after["size"].nunique() == 1
        assert after["epsilon"].nunique() == after["epsilon_worst_case"].nunique() == 1


def test_releases_are_counted_from_the_share_of_rounds_that_released():
    rounds = np.array([0, 500, 1000, 1500])
    share = np.array([[[np.nan, 1, 123 / 500, 0], [np.nan, 1, 1, 1]], [[np.nan, 0, 0, 1 / 500], [np.nan, 0, 0, 0]]])
    counts = rows._released(share.astype(np.float32), rounds, (2, 2, 4))  # of [run, point], to [point, run]
    assert counts[0].tolist() == [[0, 500, 623, 623], [0, 0, 0, 1]]
    assert counts[1].tolist() == [[0, 500, 1000, 1500], [0, 0, 0, 0]]
    assert (rows._released(None, rounds, (3, 2, 4)) == rounds).all()


def test_an_epsilon_is_computed_once_for_all_points_that_say_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr(rows, "_accounted", {})
    asked, original = [], rows.epsilons
    monkeypatch.setattr(rows, "epsilons", lambda claim, counts: asked.append(counts) or original(claim, counts))
    steps = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    points = pd.DataFrame(hypers(step_size=steps, personalization=[1.0, math.inf], noise_multiplier=1.0))
    run(private_sgd(points=points.assign(**dict(STATIC))), tmp_path)
    assert len(asked) == 4  # ways of accounting
    assert set(asked) == {tuple(range(0, ROUNDS + 1, EVERY))}


def test_a_change_of_the_suite_is_dirty_and_one_elsewhere_is_not(tmp_path):
    """A repository with a suite: clean, with another page, with a changed file of the suite; and no repository."""
    suite = tmp_path / "here" / "bench"
    suite.mkdir(parents=True)

    def git(*words):
        who = ["-c", "user.name=n", "-c", "user.email=e"]
        return subprocess.run(
            ["git", *who, *words], cwd=suite.parent, capture_output=True, text=True, check=True
        ).stdout

    for name in ("bench/code.py", "page.md"):
        (suite.parent / name).write_text("1")
    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    head = git("rev-parse", "HEAD")[:12]
    commit = rows.commit.__wrapped__
    assert commit(suite) == head
    (suite.parent / "page.md").write_text("2")
    assert commit(suite) == head
    (suite / "code.py").write_text("2")
    assert commit(suite) == f"{head}-dirty"
    assert commit(tmp_path) == "unknown"
    (suite.parent / ".gitignore").write_text("environment")
    shutil.copytree(suite, suite.parent / "environment" / "bench")
    assert commit(suite.parent / "environment" / "bench") == "unknown"
