"""Tasks for audits, on which a single privacy unit has the largest effect that the theory allows.

The loss of an example (x, y) is y <w + theta, x>, with gradient y x at every model. A canary has |x| = S, far above the
clipping norm. It lies along one axis, where Laplace noise hides least, or along all axes at once, which shows if the
clipped norm is not the norm that the noise is for. With -x in its place a sum of clipped gradients moves by 2 C;
without the canary, which is then absent and has data of 0 besides, it moves by C. All other units are 0, so that any
part of the output that does not come from the canary shows. A network with two classes does the same: its bias makes it
certain of class 0, so that examples of that class have no gradient, and those of class 1, the canaries, have one along
x. Through a convolution the gradient of a canary spreads over all layers, so that a wrong norm of any of them shows.
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import flax.linen as nn
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.data.graphs import from_weights
from bench.data.task import Head, Linear, Network, Peers, Task
from bench.kernels.per_example import Affine, cross_entropy
from bench.models.parts import joined

SIZE = 10.0  # S, the norm of a canary, and the task's Lipschitz bound
CERTAIN = 50.0  # logit of class 0 at the start; exp(-50) is negligible in float32
FEWEST = 4  # clients, or examples of a client
HOLDERS = 4  # clients with a convolutional network
SPEAKERS = 12  # agents that share noise, enough that most of the noise on each is shared
FEATURES = 9  # of most tasks
CHANNELS, STRIDES = (2, 4), (5, 1)  # of the convolutions
SHAPES = ("axis", "dense")
OVERFLOW = "overflow"  # a canary of infinite coordinates, whose message is not finite
NUM_PAIR, MANY_FEATURES = 2, 32  # users of the tasks with few, and features, whose number tells how large a change is
LEAVES = {"first": (8,), "second": (2, 4), "third": (4, 2), "fourth": (8,)}  # shapes in the model of `layers`


def product(score: Array, target: Array) -> Array:
    """Return y s, which is linear with slope y."""
    return target * score


def product_loss(w: Array, theta: Array, example) -> Array:
    """Return `product` of one example (x [feature], y)."""
    x, y = example
    return product(x @ (w + theta), y)


def layered_loss(w: dict[str, Array], theta: dict[str, Array], example) -> Array:
    """Return `product_loss` for a model in the leaves LEAVES."""
    shared, own = (jnp.concatenate([jnp.ravel(leaves[name]) for name in LEAVES]) for leaves in (w, theta))
    return product_loss(shared, own, example)


def headed_loss(shared: dict[str, Array], local: dict[str, Array], example) -> Array:
    """Return `product_loss` for a model whose two entries add up, each of which may be shared or local."""
    model = joined(shared, local)
    return product_loss(model["body"], model["head"], example)


class Certain(nn.Module):
    """A network of one dense layer with two outputs."""

    @nn.compact
    def __call__(self, x: Array) -> Array:
        return nn.Dense(2)(x)


class Convolutional(nn.Module):
    """A network of every kind of layer that the reproduced models have, for columns of pixels [feature].

    Its two convolutions are such that the norm of one gradient is computed from products of places, and that of the
    other from the gradient itself.
    """

    @nn.compact
    def __call__(self, x: Array) -> Array:
        x = Affine()(x[:, :, None, None])
        x = nn.tanh(nn.Conv(CHANNELS[0], (3, 1))(x))
        x = nn.tanh(nn.Conv(CHANNELS[1], (3, 1), STRIDES)(x))
        return nn.Dense(2)(Affine()(x).reshape(x.shape[0], -1))


def network_loss(shared, local, example, network: nn.Module | None = None) -> Array:
    """Return the cross-entropy of a network, `Certain` by default, for one example (x [feature], label)."""
    x, label = example
    logits = cast(Array, (network or Certain()).apply({"params": shared}, x[None]))
    return cross_entropy(logits, label[None])[0]


def _units(canary: Array, number: int = FEWEST) -> Array:
    """Return the canary's input, of length S, and zeros, [unit, feature]."""
    return jnp.zeros((number, canary.shape[0])).at[0].set(SIZE * canary)


def _linear(inputs: Array, name: str) -> Task:
    """Return the task of these inputs [client, example, feature]."""
    clients, examples, features = inputs.shape
    return Task(
        init_params=jnp.zeros(features),
        num_examples=jnp.full(clients, examples, jnp.int32),
        train=(inputs, jnp.ones((clients, examples))),
        loss=product_loss,
        linear=Linear(product, (SIZE * features**0.5, SIZE)),
        name=name,
        source="made for the audit",
    )


def users(canary: Array, present: Array) -> Task:
    """Return a task whose canary is a user, who has several copies of one example."""
    return _task_of_users(canary, present, FEWEST, "audit_users")


def _task_of_users(canary: Array, present: Array, number: int, name: str) -> Task:
    task = _linear(jnp.repeat(_units(canary, number)[:, None], FEWEST, axis=1), name)
    return dataclasses.replace(task, present=jnp.ones(number, bool).at[0].set(present))


def pair(canary: Array, present: Array) -> Task:
    """Return a task for users with few of them: beside the canary there is one other user, whose data are 0.

    Rounds without a participant, or with the canary alone, are frequent, so that noise or a divisor that depends on who
    takes part shows. A model of many features tells by what its change was divided.
    """
    return _task_of_users(canary, present, NUM_PAIR, "audit_pair")


def layers(canary: Array, present: Array) -> Task:
    """Return the same task with a model of several leaves, of which the dense canary has an equal share in each."""
    pair_task = pair(canary, present)
    return dataclasses.replace(
        pair_task,
        init_params={name: jnp.zeros(shape) for name, shape in LEAVES.items()},
        loss=layered_loss,
        linear=None,
        name="audit_layers",
    )


def heads(canary: Array, present: Array) -> Task:
    """Return the task of `users` with a model in two parts, in both of which a canary's gradient is the same."""
    users_task = users(canary, present)
    start = {name: jnp.zeros_like(users_task.init_params) for name in ("body", "head")}
    return dataclasses.replace(
        users_task, init_params=start, loss=headed_loss, head=Head(("head",)), linear=None, name="audit_heads"
    )


def records(canary: Array, present: Array) -> Task:
    """Return a task whose canary is a record of its only client."""
    inputs = _units(canary)[None]
    return dataclasses.replace(_linear(inputs, "audit_records"), present_examples=_presence(inputs.shape[:2], present))


def _presence(shape: tuple[int, ...], present: Array, clients: int = 1) -> Array:
    """Return which examples are there, [client, example]: the first one of the first clients is the canary."""
    return jnp.ones(shape, bool).at[:clients, 0].set(present)


def agents(canary: Array, present: Array) -> Task:
    """Return a task whose canary is a data point of the first of two neighbours; the other agent has no budget and
    never speaks.
    """
    return _task_of_agents(canary, 2, 1, "audit_agents")


def speakers(canary: Array, present: Array) -> Task:
    """Return a task whose canary is a data point of the first of twelve agents.

    All agents are neighbours and have a budget: they add their own noise, and share noise where the method does. The
    data of the other agents are 0.
    """
    return _task_of_agents(canary, SPEAKERS, SPEAKERS, "audit_speakers")


def _task_of_agents(canary: Array, number: int, num_speaking: int, name: str) -> Task:
    """Return a task of neighbours, of whom the first few have a budget and the first one the canary."""
    units = _units(canary)
    task = _linear(jnp.zeros((number, *units.shape)).at[0].set(units), name)
    peers = Peers(
        graph=from_weights(1 - np.eye(number)),
        regularization=jnp.ones(number),
        smoothness=jnp.ones(number),
        budget=(jnp.arange(number) < num_speaking).astype(jnp.float32),
    )
    return dataclasses.replace(task, peers=peers)


def images(canary: Array, present: Array) -> Task:
    """Return a task for a network, whose canary is an example of one client, in a pool."""
    inputs = _units(canary)
    units, features = inputs.shape
    start = {"Dense_0": {"kernel": jnp.zeros((features, 2)), "bias": jnp.array([CERTAIN, 0.0])}}
    mask = _presence((1, units), present)
    return _pool_task("audit_images", inputs, jnp.arange(units)[None], mask, start, Certain())


def convolutions(canary: Array, present: Array) -> Task:
    """Return a task for a convolutional network, whose canary is an example of the first of four clients."""
    return _convolutional_task("audit_convolutions", canary, present, shared=False)


def copies(canary: Array, present: Array) -> Task:
    """Return the same task where all clients hold the same examples, the canary included."""
    return _convolutional_task("audit_copies", canary, present, shared=True)


def _convolutional_task(name: str, canary: Array, present: Array, *, shared: bool) -> Task:
    inputs = _units(canary)
    units, features = inputs.shape
    others = 0 if shared else units * (HOLDERS - 1)
    rows = jnp.arange(units + others)
    first, second = CHANNELS
    places = -(-features // STRIDES[0])
    start = {  # of such sizes that every layer has its share of a canary's gradient
        "Affine_0": {"scale": jnp.full(1, 3 / SIZE), "bias": jnp.zeros(1)},
        "Conv_0": {"kernel": jnp.full((3, 1, 1, first), 0.15), "bias": jnp.zeros(first)},
        "Conv_1": {"kernel": jnp.full((3, 1, first, second), 0.3), "bias": jnp.zeros(second)},
        "Affine_1": {"scale": jnp.ones(second), "bias": jnp.zeros(second)},
        "Dense_0": {"kernel": jnp.tile(jnp.array([0.5, -0.5]), (places * second, 1)), "bias": jnp.array([CERTAIN, 0])},
    }
    holdings = jnp.stack([rows] * HOLDERS) if shared else rows.reshape(HOLDERS, units)
    mask = _presence(holdings.shape, present, HOLDERS if shared else 1)
    return _pool_task(name, jnp.pad(inputs, ((0, others), (0, 0))), holdings, mask, start, Convolutional())


def _pool_task(name: str, inputs: Array, holdings: Array, mask: Array, start: Any, network: nn.Module) -> Task:
    """Return a task whose clients hold rows of a pool, [client, example], of which some are there; an input of 0 is of
    class 0.
    """
    return Task(
        init_params=start,
        num_examples=jnp.full(len(holdings), holdings.shape[1], jnp.int32),
        train=holdings.astype(jnp.int32),
        present_examples=mask,
        network=Network((inputs, jnp.any(inputs != 0, axis=1).astype(jnp.int32)), network),
        loss=partial(network_loss, network=network),
        name=name,
        source="made for the audit",
    )


def canary(shape: str, features: int = FEATURES) -> np.ndarray:
    """Return a canary of length 1, [feature].

    Args:
        shape: a name in SHAPES, or OVERFLOW.
        features: of the family.
    """
    coordinates = {"axis": np.eye(1, features)[0], "dense": features**-0.5, OVERFLOW: np.inf}[shape]
    return np.full(features, coordinates, np.float32)


class Family(NamedTuple):
    """A family of methods that are audited on the same task.

    task: (canary [feature], of length 1, or 0 where it is absent; whether it is present) -> Task; traceable. A canary
        that is not present is a user, record or image that takes part in nothing (`Task.present`,
        `Task.present_examples`); that of an agent has data of 0.
    units: what such methods protect, as in `Release.privacy_unit`.
    arguments: (task, rounds) -> arguments to call a method with, by name; a method takes those that it has.
    features: of the task.
    shapes: of the canary, of SHAPES.
    """

    task: Callable[[Array, Array], Task]
    units: tuple[str, ...]
    arguments: Callable[[Task, int], dict[str, Any]]
    features: int = FEATURES
    shapes: tuple[str, ...] = SHAPES


def _for_users(task: Task, rounds: int) -> dict[str, Any]:
    # Each takes part with probability 1/2: often enough to be seen, and seldom enough that a sampler that differs from
    # its description is seen, too.
    return {
        "num_sampled": task.num_clients // 2,
        "batch_size": task.train[0].shape[1],
        "sampler": "poisson",
        "step_size": 1.0,
        "server_step_size": 1.0,
        "local_step_size": 1.0,
        "regularization": 1.0,
        "personalization": 1.0,
    }


def _for_records(task: Task, rounds: int) -> dict[str, Any]:
    return {
        "num_sampled": task.num_clients,
        "batch_size": task.train[0].shape[1],
        "sampler": "all",
        "phase_rounds": rounds + 1,  # the answer of a complete phase need not contain its last message
        "num_phases": 1,
        "share": 1.0,
        "step_size": 1.0,
        "regularization": 0.0,
    }


def _for_agents(task: Task, rounds: int) -> dict[str, Any]:
    return {
        "mu": 1.0,
        "penalty": 1.0,
        "bound": 1.0,
        "num_updates": rounds,
        "max_updates": rounds,
        "local": "noisy_step",
        "step_size": 1.0,
    }


def _for_images(task: Task, rounds: int) -> dict[str, Any]:
    return {
        "total_epochs": rounds,
        "num_epochs": 1,
        "batch_size": task.train.shape[1] // 2,
        "step_size": 0.1,
        "momentum": 0.0,
        "tau": 1000.0,  # far above any root of a second moment, so that steps show the length of a gradient
    }


def _for_convolutions(task: Task, rounds: int) -> dict[str, Any]:
    # No averaging within the audited epochs, which would hide half of what a client sends.
    return _for_images(task, rounds) | {"total_epochs": 2 * rounds, "num_epochs": 2 * rounds, "momentum": 0.5}


def _for_copies(task: Task, rounds: int) -> dict[str, Any]:
    # An example that every client holds takes about twice the noise of one that a single client holds, and with the
    # step size of `convolutions` some of the networks overflow.
    return _for_convolutions(task, rounds) | {"step_size": 0.05}


FAMILIES = {  # in the order in which they are tried
    "users": Family(users, ("user",), _for_users),
    "records": Family(records, ("record", "example"), _for_records),
    "agents": Family(agents, ("point", "coordinate"), _for_agents),
    "speakers": Family(speakers, ("point", "coordinate"), _for_agents),
    "images": Family(images, ("example", "record"), _for_images),
    "convolutions": Family(convolutions, ("example", "record"), _for_convolutions),
    "copies": Family(copies, ("example", "record"), _for_copies),
    "heads": Family(heads, ("user",), _for_users),
    "layers": Family(layers, ("user",), _for_users, MANY_FEATURES, ("dense",)),
    "pair": Family(pair, ("user",), _for_users, MANY_FEATURES, ("dense",)),
}
NETWORKS = ("images", "convolutions", "copies")  # families whose model is a network
CLIP_NORM = 1.0  # of methods on all tasks
BESIDE_USERS = ("layers", "pair")  # besides "users", with twice the rounds: the first of them on which the method runs
