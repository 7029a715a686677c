"""Methods with local steps that users of the suite write, each in one file: what they find, and how fast they are."""

import inspect
from pathlib import Path

import numpy as np
from rounds import states
from tiny_silos import drifting, minimiser, task_of

from bench.algorithms import ALGORITHMS
from bench.algorithms.loading import load_method
from bench.data.task import Task
from bench.data.tasks.quadratic import half_square
from bench.models.additive import squared_loss

ROOT = Path(__file__).parents[2]
OWN = ROOT / "tests" / "helpers" / "own_methods"
FILES = {"fedexp": ROOT / "examples" / "fedexp.py", "scaffold": OWN / "scaffold.py"}
SILENT = {"clip_norm": 1e6, "noise_multiplier": 0.0}
STEPS = {"num_sampled": 4, "batch_size": 12, "sampler": "all", "step_size": 0.1, "num_steps": 10}


def method(name: str):
    return load_method(str(FILES[name]))[1] if name in FILES else ALGORITHMS[name]


def made(name: str, task: Task, **args):
    """The algorithm, of those arguments that the method has."""
    known = inspect.signature(method(name).make).parameters
    return method(name).make(task, **{key: value for key, value in args.items() if key in known})


def test_a_vector_of_each_user_leads_to_the_minimiser_that_local_steps_miss():
    task = drifting()
    corrected, averaged = (
        made(name, task, server_step_size=0.1, **STEPS, **SILENT) for name in ("scaffold", "dp_fedavg")
    )
    found, missed = (one.params(states(one, 300)[-1]) for one in (corrected, averaged))
    np.testing.assert_allclose(found, minimiser(task), atol=2e-4)
    assert np.abs(missed - minimiser(task)).max() > 0.02


def test_fedexp_goes_as_far_as_changes_in_different_directions_allow():
    """Of n users whose changes have length C and are orthogonal, the server goes n / 2 times the mean change."""
    users = 4
    task = task_of(np.eye(users)[:, None], np.ones((users, 1)), half_square, squared_loss)
    args = {"num_sampled": users, "batch_size": 1, "sampler": "all", "step_size": 0.1, "num_steps": 1}
    one = made("fedexp", task, clip_norm=0.5, noise_multiplier=0.0, **args)
    np.testing.assert_allclose(one.params(states(one, 1)[-1]), 0.1 * 0.5 / users * users / 2, rtol=1e-4)
