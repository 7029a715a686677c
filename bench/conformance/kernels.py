"""The golden runs by the suite's own kernels, in double precision."""

from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from bench.conformance import GOLDEN_RUNS, content
from bench.kernels.gradient import batch_gradient, clipped_sum
from bench.kernels.per_example import clipped_gradient_sum
from bench.models.linear import logistic

NETWORK_LAYERS = ("1", "2")


@dataclass(frozen=True)
class Run:
    """A training run without noise, with the fields of golden_runs.json, which says what they mean.

    The numbers that it is given are multiples of 1/8, so that float32 holds them exactly.
    """

    name: str
    about: str
    definition: dict[str, str]
    clip_norm: float
    expected: int
    step_size: float
    data: list[dict[str, Any]]
    initial_model: dict[str, Any]
    rounds: list[dict[str, Any]]
    local_step_size: float | None = None
    local_batches: list[list[list[int]]] | None = None

    @property
    def participants(self) -> list[list[int]]:
        """The indices of the participants of each round."""
        return [entry["participants"] for entry in self.rounds]


RUNS = [Run(**entry) for entry in content(GOLDEN_RUNS)["runs"]]


class Network(nn.Module):
    """Two dense layers with tanh between them."""

    hidden: int
    classes: int

    @nn.compact
    def __call__(self, x):
        """Return the scores of the classes."""
        x = nn.tanh(nn.Dense(self.hidden, name="1", param_dtype=jnp.float64, dtype=jnp.float64)(x))
        return nn.Dense(self.classes, name="2", param_dtype=jnp.float64, dtype=jnp.float64)(x)


def rounds(run: Run) -> list[dict[str, dict[str, np.ndarray]]]:
    """Return the clipped sum, the mean and the model of every round, as leaf -> values."""
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        model = {name: jnp.asarray(leaf, dtype=jnp.float64) for name, leaf in run.initial_model.items()}
        out = []
        for participants in run.participants:
            out.append(jax.jit(partial(_round, run, participants=participants))(model))
            model = out[-1]["model"]
        return jax.tree.map(np.asarray, out)


def _round(run: Run, model: dict, participants: list[int]) -> dict[str, dict]:
    summed = _clipped_sum(run, model, participants)
    mean = jax.tree.map(lambda leaf: leaf / run.expected, summed)
    step = run.step_size if run.local_step_size else -run.step_size
    changed = jax.tree.map(lambda w, change: w + step * change, model, mean)
    return {"clipped_sum": summed, "mean": mean, "model": changed}


def _clipped_sum(run: Run, model: dict, participants: list[int]) -> dict:
    if not participants:
        return jax.tree.map(jnp.zeros_like, model)
    if run.name == "network_dp_sgd":
        return _of_network(run, model, participants)
    loss = _logistic_loss if run.name == "logistic_dp_sgd" else _squared_loss
    if run.local_step_size is None:
        inputs, targets = (jnp.asarray([run.data[unit][name] for unit in participants]) for name in ("x", "y"))
        each = jax.vmap(lambda *example: jax.grad(loss)(model, None, example))(inputs, targets)
    else:
        vectors = [_local_steps(run, model, loss, user) for user in participants]
        each = jax.tree.map(lambda *leaves: jnp.stack(leaves), *vectors)
    return clipped_sum(each, run.clip_norm)[0]


def _logistic_loss(model, _, example):
    x, y = example
    return logistic(x @ model["weights"] + model["bias"], y)


def _squared_loss(model, _, example):
    x, y = example
    return jnp.square(x @ model["weights"] + model["bias"] - y) / 2


def _local_steps(run: Run, model: dict, loss: Any, user: int) -> dict:
    """Return the model after the local steps of a user, minus the model."""
    gradient = batch_gradient(loss)
    inputs, targets = (jnp.asarray(run.data[user][name]) for name in ("x", "y"))
    own = model
    for batch in cast(list, run.local_batches)[user]:
        rows = jnp.asarray(batch)
        slope = gradient(own, {}, (inputs[rows], targets[rows]), jnp.full(len(batch), 1 / len(batch)))
        own = jax.tree.map(lambda w, g: w - run.local_step_size * g, own, slope)
    return jax.tree.map(jnp.subtract, own, model)


def _of_network(run: Run, model: dict, participants: list[int]) -> dict:
    params = {layer: {"kernel": model[f"kernel_{layer}"], "bias": model[f"bias_{layer}"]} for layer in NETWORK_LAYERS}
    inputs = jnp.asarray([run.data[unit]["x"] for unit in participants])
    labels = jnp.asarray([run.data[unit]["y"] for unit in participants])
    network = Network(*(len(run.initial_model[f"bias_{layer}"]) for layer in NETWORK_LAYERS))
    summed, _, _ = clipped_gradient_sum(network, params, inputs, labels, jnp.ones(len(participants)), run.clip_norm)
    return {f"{kind}_{layer}": summed[layer][kind] for layer in NETWORK_LAYERS for kind in ("kernel", "bias")}
