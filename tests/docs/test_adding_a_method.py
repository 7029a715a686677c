"""A new method is one file and one row of a table; nothing else of the suite is touched.

What a newcomer writes, as the two files below (examples/normalised_gradients.py is a private method of users):

1. a factory `name(task, *, ...) -> Algorithm`: its keyword-only arguments are the columns of the table; those that a
   sweep varies without compiling again are annotated `Scalar`; inside, `init`, `round` and `params`;
2. `releases(task, *, delta, **the same arguments) -> {"paper": ...}`: what the run makes public, one of the
   descriptions in bench.privacy.events; this decides epsilon, the unit of privacy and the accountant in every row;
3. `METHOD = Method(name, releases, version=1)`;
4. the row: `Entry(METHOD, grid(...))` under the name in the legend, beside the others in a Sweep. (To run it from the
   command line as well, a line in bench.algorithms.ALGORITHMS and one in bench.papers.SWEEPS.)

Seeds, clients, batches, evaluation, accounting, chunks, resuming and Parquet come with the engine.
"""

import importlib
import math

import numpy as np
import pytest
from tiny_sweeps import STATIC, TASK, run, sweep_of

from bench.algorithms import ppsgd
from bench.execution.run import use_compilation_cache
from bench.privacy.accounting import epsilon
from bench.privacy.events import poisson_gaussian
from bench.sweeps.spec import Entry, grid

FILES = {
    "federated_sgd": '''
"""The mean of the sampled users' gradients, as it is: nothing is private."""

import jax
import jax.numpy as jnp

from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.algorithms.parts.participation import participation
from bench.privacy.events import full_gaussian


def federated_sgd(task, *, num_sampled: int, batch_size: int, step_size: Scalar):
    who = participation(task, num_sampled=num_sampled, batch_size=batch_size, sampler="fixed")

    def gradient(w, examples, weight):
        return jax.grad(lambda w: weight @ jax.vmap(lambda example: task.loss(w, 0 * w, example))(examples))(w)

    def one_round(key, state):
        drawn, schedule = who.draw(jax.random.split(key)[0], state.schedule)
        grads = jax.vmap(gradient, (None, 0, 0))(state.variables, drawn.batch.examples, drawn.batch.weight)
        return State(schedule, state.variables - step_size * jnp.sum(grads, axis=0) / drawn.divisor), {}

    return Algorithm(lambda key: State(who.init(key), task.init_params), one_round, lambda state: state.variables)


def releases(task, *, delta, **_):
    return {"paper": full_gaussian(0.0, delta=delta)}


METHOD = Method(federated_sgd, releases, version=1)
''',
    "record_sgd": '''
"""The server holds all records and samples them one by one: each is clipped, and each is a unit of privacy."""

import jax
import jax.numpy as jnp

from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.kernels.gradient import clipped_sum
from bench.privacy.events import poisson_gaussian


def record_sgd(task, *, batch_size: int, step_size: Scalar, clip_norm: Scalar, noise_multiplier: Scalar):
    inputs, targets = (leaf.reshape(-1, *leaf.shape[2:]) for leaf in task.evaluation["validation"])
    rate = batch_size / len(targets)

    def one_round(key, state):
        key_draw, key_noise = jax.random.split(key)
        w = state.variables
        taken = jax.random.uniform(key_draw, targets.shape) < rate
        grads = jax.vmap(lambda *record: jax.grad(task.loss)(w, jnp.zeros_like(w), record))(inputs, targets)
        total, _ = clipped_sum(jnp.where(taken[:, None], grads, 0.0), clip_norm)
        noise = noise_multiplier * clip_norm * jax.random.normal(key_noise, w.shape)
        return State((), w - step_size * (total + noise) / batch_size), {"taken": jnp.sum(taken)}

    return Algorithm(lambda key: State((), task.init_params), one_round, lambda state: state.variables)


def releases(task, *, delta, batch_size, noise_multiplier, **_):
    rate = batch_size / task.evaluation["validation"][1].size
    return {
        "paper": poisson_gaussian(noise_multiplier, sampling_rate=rate, delta=delta, privacy_unit="record"),
        "pld": poisson_gaussian(
            noise_multiplier, sampling_rate=rate, delta=delta, privacy_unit="record", accountant="pld"
        ),
    }


METHOD = Method(record_sgd, releases, version=1)
''',
}

POINTS = {  # the one row each
    "federated_sgd": grid(step_size=[0.05, 0.1], num_sampled=4, batch_size=3),
    "record_sgd": grid(step_size=[0.1, 0.2], clip_norm=1.0, noise_multiplier=1.5, batch_size=6),
}
GLOBAL = grid(step_size=[0.05, 0.1], personalization=math.inf, clip_norm=math.inf, noise_multiplier=0.0)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """PPSGD and the newcomers, in one sweep on one task, as read back."""
    use_compilation_cache()
    folder = tmp_path_factory.mktemp("newcomers")
    entries = {"PPSGD, global": Entry(ppsgd.METHOD, GLOBAL.assign(**dict(STATIC)))}
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(folder)
        for name, text in FILES.items():
            (folder / f"{name}.py").write_text(text)
            entries[name] = Entry(importlib.import_module(name).METHOD, POINTS[name])
    return run(sweep_of(entries), folder / "results")


def of(rows, name):
    return rows[rows["algorithm"] == name].sort_values(["step_size", "seed", "rounds"], ignore_index=True)


def test_all_are_in_one_table_with_the_same_seeds_and_evaluations(rows):
    assert rows.groupby("algorithm").size().to_dict() == dict.fromkeys(["PPSGD, global", *FILES], 2 * 2 * 5)
    for _, one in rows.groupby("algorithm"):
        assert sorted(set(zip(one["seed"], one["rounds"], strict=True))) == [
            (s, t) for s in (0, 1) for t in range(0, 21, 5)
        ]
        assert (one[one["rounds"] == 20]["excess_risk"] < one[one["rounds"] == 0]["excess_risk"].max()).all()
    assert rows[rows["rounds"] == 0].groupby("seed")["excess_risk"].nunique().tolist() == [1, 1]


def test_all_see_the_same_clients_and_batches(rows):
    """Without noise and clipping, global PPSGD is the plain mean of gradients: equal only on equal draws."""
    here, there = of(rows, "federated_sgd"), of(rows, "PPSGD, global")
    np.testing.assert_allclose(here["excess_risk"], there["excess_risk"], rtol=1e-5)
    assert here["excess_risk"].nunique() > 16


def test_each_has_the_epsilon_of_what_it_says_it_releases(rows):
    later = rows[rows["rounds"] > 0]
    assert np.isinf(of(later, "federated_sgd")["epsilon"]).all()
    records = of(later, "record_sgd")
    assert set(records["privacy_unit"]) == {"record"}
    assert set(rows[rows["algorithm"] != "record_sgd"]["privacy_unit"]) == {"user"}
    rate = 6 / TASK(0).evaluation["validation"][1].size
    claim = poisson_gaussian(1.5, sampling_rate=rate, delta=1e-4)
    np.testing.assert_allclose(records["epsilon"], [epsilon(claim, count) for count in records["rounds"]])
    assert (records["epsilon_pld"] < records["epsilon"]).all()


def test_columns_that_a_method_does_not_have_are_empty_in_its_rows(rows):
    assert of(rows, "federated_sgd")["noise_multiplier"].isna().all()
    assert of(rows, "PPSGD, global")["taken"].isna().all()
    assert of(rows, "record_sgd").loc[lambda t: t["rounds"] > 0, "taken"].between(1, 20).all()
