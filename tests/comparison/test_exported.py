"""The examples of a task as arrays that numpy alone reads: bench data export."""

import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from bench.cli.data import app
from bench.comparison.exported import exported
from bench.comparison.problem import Problem
from bench.comparison.problems import problem
from bench.data.task import Network, Task
from bench.data.tasks.registry import task_named
from bench.errors import InputError
from bench.kernels.sparse import Rows


def test_the_file_has_the_examples_of_the_task_by_client(tmp_path):
    path = tmp_path / "schools.npz"
    done = CliRunner().invoke(app, ["export", "made_up_schools", "--split", "2", "--out", str(path)])
    assert done.exit_code == 0, done.output
    found, task = dict(np.load(path, allow_pickle=False)), task_named("made_up_schools")(2)
    facts = {name: found[name].item() for name in ("name", "split", "metric", "privacy_unit", "delta")}
    assert facts == {
        **{"name": "made_up_schools", "split": 2, "metric": "test_squared_error"},
        **{"privacy_unit": "example", "delta": 1e-3},
    }
    for subset, leaves, counts in (
        ("train", task.train, task.num_examples),
        ("test", task.evaluation["test"], task.evaluation["count"]),
    ):
        for stored, leaf in zip(("inputs", "targets"), map(np.asarray, leaves), strict=True):
            for client, count in enumerate(counts.tolist()):
                rows = found[f"{subset}_clients"] == client
                np.testing.assert_array_equal(found[f"{subset}_{stored}"][rows], leaf[client, :count])
    assert len(found["tuning_train_targets"]) + len(found["tuning_targets"]) == len(found["train_targets"])


def test_training_tuning_and_test_examples_are_apart_and_together_those_of_the_file(tmp_path):
    inputs, targets = np.arange(120.0, dtype=np.float32).reshape(60, 2), np.arange(60) % 3
    given = {"inputs": inputs, "targets": targets, "clients": np.repeat([0, 1, 2], [10, 20, 30])}
    np.savez(tmp_path / "own.npz", **given)
    found = exported(problem(str(tmp_path / "own.npz")), 1)
    rows = {leaf: np.concatenate([found[f"{name}_{leaf}"] for name in ("train", "tuning", "test")]) for leaf in given}
    order = np.argsort(rows["inputs"][:, 0])
    for leaf, expected in given.items():
        np.testing.assert_array_equal(rows[leaf][order].reshape(60, -1)[:, :2], expected.reshape(60, -1))
    assert [len(found[f"{name}_targets"]) for name in ("train", "tuning", "test")] == [42, 6, 12]


def test_examples_in_a_pool_are_listed_by_client_and_a_common_test_has_none():
    def make(trial, part="test"):
        pool = jnp.arange(10.0)[:, None], jnp.arange(10)
        return Task(
            init_params=jnp.zeros(1),
            num_examples=jnp.array([2, 2]),
            train=jnp.array([[3, 1], [8, 9]]) if part == "test" else jnp.array([[3], [8]]),
            network=Network(pool, None),
            evaluation={"test": (pool[0][:3], pool[1][:3])},
            metrics=lambda params, task: {},
        )

    tuning = lambda trial: make(trial, "validation")  # noqa: E731
    found = exported(Problem(name="x", test=make, tuning=tuning, metric="test_accuracy", privacy_unit="example"), 0)
    np.testing.assert_array_equal(found["train_inputs"], [[3], [1], [8], [9]])
    np.testing.assert_array_equal(found["train_clients"], [0, 0, 1, 1])
    np.testing.assert_array_equal(found["tuning_train_targets"], [3, 8])
    np.testing.assert_array_equal(found["test_targets"], [0, 1, 2])
    assert "test_clients" not in found


@pytest.mark.parametrize(("name", "why"), [("synthetic", "draws its examples anew"), ("linear_p2p", "graph of agents")])
def test_a_task_that_no_arrays_hold_is_refused(name, why, tmp_path):
    done = CliRunner().invoke(app, ["export", name, "--out", str(tmp_path / "x.npz")])
    assert isinstance(done.exception, InputError)
    assert why in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_sparse_inputs_are_refused():
    rows = Rows(jnp.zeros((1, 1, 1), int), jnp.ones((1, 1, 1)), 1)
    task = Task(jnp.zeros(1), jnp.ones(1), train=(rows, jnp.ones((1, 1))), metrics=lambda params, task: {})
    with pytest.raises(InputError, match="sparse inputs"):
        exported(Problem(name="x", test=lambda trial: task, metric="test_loss", tuned_by="validation_loss"), 0)
