"""A problem: examples dealt to clients, a loss, a score."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
from jax import Array

from bench.kernels.graph import Graph


def _static(default=None):
    return field(default=default, metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Task:
    """A federated learning problem. Arrays are leaves; functions and labels are static.

    Two tasks of the same shapes, such as two data splits, share one compiled program, because the functions
    are module-level and the data are arguments.

    Attributes:
        init_params: the shared model at the start, a pytree.
        init_local: a client's local model at the start, where it is no second copy of the shared one.
        num_examples: real training examples of each client, int32 [client]; of a stream, how many it draws
            in a round at most.
        train: training examples, pytree with leaves [client, example, ...], padded; None for a stream. Where there is
            a pool, int32 [client, example]: which of the pool's examples a client has.
        pool: examples that clients may share, pytree with leaves [example, ...]; None where each has its own.
        evaluation: what `metrics` reads: test and validation examples, known optima.
        gram: X_i X_i^T of the training inputs, [client, example, example], where the dual form is used.
        graph: who talks to whom, and how similar they are, for peer-to-peer methods.
        regularization: lambda_i of lambda_i |theta|^2 in the clients' own objectives, [client].
        smoothness: bound on the curvature of the clients' own objectives, [client].
        budget: how much of a privacy budget each client grants, relative to the others, [client]; 0 never speaks.
        loss: (shared, local, example) -> scalar loss of one example.
        network: flax module, inputs [batch, ...] -> logits [batch, class], where `loss` is the cross-entropy of one
            with params as model.
        link: (score, target) -> scalar loss, where `loss` is link(<shared + local, input>, target) with one vector
            as model and train = (inputs [client, example, feature], targets [client, example]).
        lipschitz: bounds on the gradient of `loss` in the model, in L1 and in L2, over all examples that a client
            may have, not only those it has; (inf, inf) where there are none.
        metrics: (params, task) -> dict of scalars; params is what an algorithm predicts with.
        sample: (key, task, clients, batch_size) -> fresh examples [client, example, ...], for a stream.
        name: what the task is called in results.
        source: where its data came from.
        checksum: of the data, or of the recipe that generates them.
    """

    init_params: Any
    num_examples: Array
    train: Any = None
    pool: Any = None
    evaluation: Any = None
    init_local: Any = None
    gram: Array | None = None
    graph: Graph | None = None
    regularization: Array | None = None
    smoothness: Array | None = None
    budget: Array | None = None
    loss: Callable | None = _static()
    network: Any = _static()
    link: Callable | None = _static()
    lipschitz: tuple[float, float] = _static((math.inf, math.inf))
    metrics: Callable | None = _static()
    sample: Callable | None = _static()
    name: str = _static("")
    source: str = _static("")
    checksum: str = _static("")

    @property
    def num_clients(self) -> int:
        return self.num_examples.shape[0]


def recipe_checksum(recipe: tuple) -> str:
    """The checksum of data that are made: of the numbers and words that they are made by."""
    return hashlib.blake2b(repr(recipe).encode(), digest_size=8).hexdigest()
