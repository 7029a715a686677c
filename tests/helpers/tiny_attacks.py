"""Tasks and methods small enough to be attacked in a test, and a board of made-up runs to attack."""

import dataclasses
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from made_up_parts import put

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Algorithm, Scalar, State
from bench.attacks.runs import Attacked, scores
from bench.attacks.units import units_of
from bench.comparison.problem import Problem
from bench.comparison.problems import problem_named
from bench.data.task import Task
from bench.models.additive import squared_loss
from bench.privacy import accounting
from bench.sweeps.spec import arguments

FEATURES, OUTPUTS = 60, 3
DELTA = 1e-4
FIXED = {
    "num_sampled": 24,
    "batch_size": 2,
    "sampler": "all",
    "step_size": 0.5,
    "clip_norm": 1.0,
    "noise_multiplier": 0.0,
    "server_step_size": 12.0,
}


def metrics(params, task):
    """The loss of the shared model, under both names."""
    w = params.w if hasattr(params, "w") else params
    return {"test_loss": jnp.sum(jnp.square(w)), "validation_loss": jnp.sum(jnp.square(w))}


def task(trial=0, users=24, features=FEATURES) -> Task:
    """Users with two examples of random labels, which only a model that has seen them can predict."""
    rng = np.random.default_rng(trial)
    x = rng.standard_normal((users, 2, features))
    x = jnp.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True), jnp.float32)
    return Task(
        init_params=jnp.zeros((OUTPUTS, features)),
        num_examples=jnp.full(users, 2, jnp.int32),
        train=(x, jnp.asarray(rng.choice([-1.0, 1.0], (users, 2, OUTPUTS)), jnp.float32)),
        gram=jnp.einsum("nid,njd->nij", x, x),
        loss=squared_loss,
        metrics=metrics,
        name="tiny",
        source="made up",
        checksum="tiny",
    )


def attacked(on=None, rounds=30, name="dp_fedavg", **args) -> Attacked:
    """A method of the suite on a task."""
    on = task() if on is None else on
    method = ALGORITHMS[name]
    return Attacked(method, arguments(method, FIXED | {"num_sampled": on.num_clients} | args), rounds, on)


def ignoring(task: Task, *, step_size: Scalar) -> Algorithm:
    """A method that releases noise and looks at no data."""

    def one_round(key, state):
        return State((), step_size * jax.random.normal(key, task.init_params.shape)), {}

    return Algorithm(lambda key: State((), task.init_params), one_round, lambda state: state.variables)


def ignores_its_data(rounds=2) -> Attacked:
    method = ALGORITHMS["dp_fedavg"]._replace(make=ignoring)
    return Attacked(method, {"step_size": 0.1}, rounds, task())


def seen(one: Attacked, runs: int, unit="user", seed=0, **options):
    """The scores of a membership attack, and who was a member, [run, unit]."""
    of = units_of(one.task, unit, runs, seed)
    return scores(one, of, seeds=np.arange(runs), **options), of.members


def problem() -> Problem:
    """A problem of these users with two methods, of which one releases nothing."""
    whole = problem_named("digits")
    assert whole.baselines is not None
    names = ("DP-FedAvg", "Local learning")
    changes = {"name": "tiny", "test": task, "metric": "test_loss", "tuned_by": "validation_loss", "best": "min"}
    baselines = {name: whole.baselines[name] for name in names}
    return dataclasses.replace(whole, **changes, by_user=None, measured_on={}, baselines=baselines)


def board(out: Path, *, version=None, step_size=0.5) -> Path:
    """The folder of a board's task, with made-up runs of these methods at epsilon 1 and without noise."""
    folder = out / "board" / "tiny"
    (folder / "test").mkdir(parents=True, exist_ok=True)
    protocol = {"task": "tiny", "epsilons": [1.0], "seeds": 1, "settings": 4, "rounds": 4, "delta": DELTA}
    protocol |= {"neighbors": "add-or-remove one", "unit": "user"}
    (folder / "protocol.json").write_text(json.dumps(protocol))
    common = {"trial": 0, "seed": 0, "num_rounds": 4, "rounds": 4, "sweep": "tiny/test", "task": "tiny", "delta": DELTA}
    common |= {"checksum": "tiny", "neighbors_compared": "add-or-remove one", "privacy_unit_compared": "user"}
    rows = []
    for target, noise in ((1.0, 6.0), (np.inf, 0.0)):
        args = arguments(ALGORITHMS["dp_fedavg"], FIXED | {"step_size": step_size, "noise_multiplier": noise})
        one = ALGORITHMS["dp_fedavg"]
        release = one.readings(task(), delta=DELTA, **args)["tight"]
        rows.append(
            {
                **common,
                **args,
                "algorithm": "DP-FedAvg",
                "target_epsilon": target,
                "reading": "tight" if noise else "",
                "epsilon_tight": accounting.epsilon(release, 4) if noise else np.inf,
                "epsilon": np.inf,
                "version": one.version if version is None else version,
                "point": f"{step_size}-{target}",
            }
        )
    silent = {"algorithm": "Local learning", "target_epsilon": 0.0, "reading": "paper", "epsilon": 0.0, "version": 1}
    rows.append(common | silent | {"point": "alone"})
    for path in (folder / "test").glob("part-*"):
        path.unlink()
    put(folder / "test", pd.DataFrame(rows))
    return folder
