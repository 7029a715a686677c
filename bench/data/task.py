"""A problem: examples dealt to clients, a loss, a score."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
from jax import Array


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
        num_examples: real training examples of each client, int32 [client]; of a stream, how many it draws
            in a round at most.
        train: training examples, pytree with leaves [client, example, ...], padded; None for a stream.
        evaluation: what `metrics` reads: test and validation examples, known optima.
        gram: X_i X_i^T of the training inputs, [client, example, example], where the dual form is used.
        loss: (shared, local, example) -> scalar loss of one example.
        metrics: (params, task) -> dict of scalars; params is what an algorithm predicts with.
        sample: (key, task, clients, batch_size) -> fresh examples [client, example, ...], for a stream.
        name: what the task is called in results.
        source: where its data came from.
        checksum: of the data, or of the recipe that generates them.
    """

    init_params: Any
    num_examples: Array
    train: Any = None
    evaluation: Any = None
    gram: Array | None = None
    loss: Callable | None = _static()
    metrics: Callable | None = _static()
    sample: Callable | None = _static()
    name: str = _static("")
    source: str = _static("")
    checksum: str = _static("")

    @property
    def num_clients(self) -> int:
        return self.num_examples.shape[0]
