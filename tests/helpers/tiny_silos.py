"""Silos small enough to see through: what a message holds can be read off it."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.parts import silos
from bench.algorithms.parts.phases import num_records, plan_phases
from bench.algorithms.parts.silo_arguments import SiloArguments
from bench.data.task import Linear, Task
from bench.data.tasks.quadratic import half_square
from bench.models import linear
from bench.models.additive import squared_loss


def size_of_w(w, task):
    return {"norm": jnp.linalg.norm(w)}


def task_of(inputs, targets, link=linear.logistic, loss=None, name="tiny") -> Task:
    """A task of these records, inputs [silo, record, feature], targets [silo, record]."""
    inputs = jnp.asarray(inputs, jnp.float32)
    return Task(
        init_params=jnp.zeros(inputs.shape[-1]),
        num_examples=jnp.full(len(inputs), inputs.shape[1], jnp.int32),
        train=(inputs, jnp.asarray(targets, jnp.float32)),
        linear=None if link is None else Linear(link),
        loss=loss,
        metrics=size_of_w,
        name=name,
    )


def score(s, y):
    """A loss whose gradient is the record's input, whatever w is."""
    return s


def counting(num_clients=3, records=16) -> Task:
    """Record j of every silo has gradient e_j: a silo's noiseless message is the vector of its records' weights."""
    return task_of(np.tile(np.eye(records), (num_clients, 1, 1)), np.zeros((num_clients, records)), score, name="count")


def random_records(seed=0, num_clients=4, records=16, features=3, **kwargs) -> Task:
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1.0, 1.0], (num_clients, records))
    return task_of(rng.standard_normal((num_clients, records, features)), labels, **kwargs)


def drifting() -> Task:
    """Least squares of four clients whose inputs have different second moments, so that local steps drift."""
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((4, 12, 3)) * rng.uniform(0.2, 1.5, (4, 1, 3))
    return task_of(inputs, rng.standard_normal((4, 12)), half_square, squared_loss)


def minimiser(task: Task) -> np.ndarray:
    """Of the mean squared error over all records, [feature]."""
    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    return np.linalg.lstsq(inputs.reshape(-1, inputs.shape[-1]), targets.ravel())[0]


def ask(task, *, clip_norm=1.0, noise_multiplier=0.0, num_sampled=None, smoothing="none", **args):
    """(phases, (t, w, key) -> messages, the records in the order of use) of silos with these arguments."""
    args = {"phase_rounds": 2, "num_phases": 1, "share": 1.0, "num_sampled": num_sampled or task.num_clients} | args
    shared = SiloArguments(clip_norm=clip_norm, noise_multiplier=noise_multiplier, smoothing=smoothing, **args)
    phases = plan_phases(num_records(task), shared)
    records = _shuffled(task, phases, shared)

    def messages(t, w=None, key=0):
        w = task.init_params if w is None else jnp.asarray(w, jnp.float32)
        return np.asarray(_answers(task, records, jnp.int32(t), w, jax.random.key(key), phases, shared))

    return phases, messages, records


# Programs for all tasks of the same shapes.
@partial(jax.jit, static_argnames=("phases", "shared"))
def _shuffled(task, phases, shared):
    return silos.silos(task, phases, shared).shuffle(jax.random.key(7))


@partial(jax.jit, static_argnames=("phases", "shared"))
def _answers(task, records, t, w, key, phases, shared):
    return silos.silos(task, phases, shared).messages(key, records, t, w)


def run(algorithm, rounds, seed=0):
    """The model after every round, [round + 1, feature]."""
    state = algorithm.init(jax.random.key(seed))
    step, params = jax.jit(algorithm.round), jax.jit(algorithm.params)
    models = [params(state)]
    for t in range(rounds):
        state, _ = step(jax.random.fold_in(jax.random.key(seed + 1), t), state)
        models.append(params(state))
    return np.stack(models)
