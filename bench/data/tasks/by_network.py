"""Users with a network: the task of their examples, and its metrics by user and on common examples.

Every user's model is tested on the user's own test examples, which is what it meets, and beside it on examples of all
users that are the same for everybody.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.data.partition import stack
from bench.data.task import Head, Task
from bench.data.tasks.by_user import accuracies, or_nan
from bench.errors import InputError
from bench.kernels.order import first_largest
from bench.kernels.per_example import cross_entropy
from bench.kernels.platforms import by_platform, in_turn
from bench.models.additive import Additive
from bench.models.linear import Personal
from bench.models.logits import apply_of, initial_parameters, loss_of
from bench.models.parts import joined, split

Examples = Sequence[tuple[np.ndarray, np.ndarray]]  # of each user: inputs [example, ...], labels [example]

NUM_COMMON = 500  # test examples on which the models of all users are tested
USERS_TOGETHER = 64  # whose models an accelerator evaluates at once


def network_task(
    examples: Mapping[str, Examples],
    *,
    module: nn.Module,
    seed: int,
    head: tuple[str, ...] = (),
    optional_head: bool = False,
    of_logits: Callable = cross_entropy,
    common: tuple[np.ndarray, np.ndarray] | None = None,
    room: Mapping[str, int] | None = None,
    **origin: Any,
) -> Task:
    """Return the task of users' examples with a network, which every user may also train for itself.

    Args:
        examples: "train", "test" and "validation" -> the examples of every user; a user may have none of the last two.
        module: inputs [example, ...] -> logits [example, class]; see `bench.models.logits`.
        seed: of the initial parameters, the same in all trials.
        head: the entries of the parameters that make up the head; empty where the model has no representation.
        optional_head: whether a network without these entries, or with no others, is a model without a head.
        of_logits: (logits [class], label) -> loss.
        common: inputs and labels to test the models of all users on; default NUM_COMMON examples of the test that are
            drawn evenly from the list of all users' examples.
        room: "train", "test" and "validation" -> places for the examples of a user, the same in all trials; default the
            most that a user has.
        origin: name, source and checksum.

    Raises:
        InputError: for a network that does not fit its inputs or the interface, or a head that it does not have.
    """

    evaluation: dict[str, Any] = {}
    for subset in ("train", "test", "validation"):
        inputs, labels, sizes = stack(examples[subset], room[subset] if room else None)
        evaluation[subset] = inputs, labels.astype(jnp.int32), sizes
    inputs, labels, sizes = evaluation.pop("train")
    params = initial_parameters(module, jax.random.key(seed), inputs[:2, 0])
    if optional_head and not (isinstance(params, dict) and set(head) < set(params)):
        head = ()
    if head:
        split(params, head)
    if common is None:
        common = spread(examples["test"], NUM_COMMON)
    evaluation["common"] = jnp.asarray(common[0]), jnp.asarray(common[1], jnp.int32)
    return Task(
        init_params=params,
        num_examples=sizes,
        train=(inputs, labels),
        evaluation=evaluation,
        head=Head(head) if head else None,
        loss=loss_of(module, of_logits),
        metrics=Accuracy(module),
        **origin,
    )


def spread(examples: Examples, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `count` examples at even distances in the list of all users' examples; all, where there are fewer."""
    inputs, labels = (np.concatenate(leaf) for leaf in zip(*examples, strict=True))
    chosen = np.unique(np.linspace(0, len(labels) - 1, min(count, len(labels))).astype(int))
    return inputs[chosen], labels[chosen]


@dataclass(frozen=True)
class Accuracy:
    """The metrics of users with a network: accuracies by user (`by_user`), and that on common examples.

    module: inputs [example, ...] -> logits [example, class].
    """

    module: nn.Module

    def __call__(self, params, task: Task) -> dict:
        """Return the metrics of `by_user` on test and on held-out examples, and

        common_accuracy: of every user's model on the common examples, the mean over users.

        All are NaN where a logit is not finite.
        """
        right, finite = self._common(params, task)
        return accuracies(self.hits, params, task) | {"common_accuracy": jnp.where(finite, right, jnp.nan)}

    def hits(self, params, task: Task, subset: str) -> tuple[Array, Array, Array]:
        """Return right answers and examples of each user, [user], and whether all logits are finite."""
        inputs, labels, sizes = task.evaluation[subset]

        def of_user(shared, personal, inputs, labels, size):
            logits = apply_of(self.module)(joined(shared, personal), inputs)
            real = jnp.arange(labels.shape[0]) < size
            right = jnp.sum(real & (first_largest(logits) == labels))
            return right, jnp.all(jnp.isfinite(logits) | ~real[:, None])

        shared, personal = _models(params)
        right, finite = _of_each(of_user, shared, personal, inputs, labels, sizes)
        return right, sizes, jnp.all(finite)

    def _common(self, params, task: Task) -> tuple[Array, Array]:
        inputs, labels = task.evaluation["common"]

        def of_model(shared, personal):
            model, examples = shared
            inputs, labels = examples
            logits = apply_of(self.module)(joined(model, personal), inputs)
            return jnp.mean(first_largest(logits) == labels, dtype=jnp.float32), jnp.all(jnp.isfinite(logits))

        shared, personal = _models(params)
        if personal is None:
            return in_turn(lambda shared: of_model(shared, None))((shared, (inputs, labels)))
        right, finite = _of_each(of_model, (shared, (inputs, labels)), personal)
        return jnp.mean(right), jnp.all(finite)


@dataclass(frozen=True)
class Hits:
    """(params, task) -> right answers on test examples, NaN where a logit is not finite, and their number, [user]."""

    module: nn.Module

    def __call__(self, params, task: Task) -> tuple[Array, Array]:
        return or_nan(*Accuracy(self.module).hits(params, task, "test"))


def _models(params) -> tuple[Any, Any]:
    """Return the parameters that all users share, and those of each user, leaves [user, ...]; None for neither."""
    if isinstance(params, Personal):
        return None, params.theta
    if not isinstance(params, Additive):
        return params, None
    if params.coefficients is not None:
        raise InputError("local models of a network are no coefficients of inputs: use local='dense' or 'head'")
    return params.w, params.theta


def _of_each(function: Callable, shared: Any, *rows: Any) -> Any:
    """Return function(shared, *row) for every user's row, one user after the other on a CPU."""

    def of_each(shared, *rows):
        return jax.lax.map(lambda row: function(shared, *row), rows, batch_size=by_platform(None, USERS_TOGETHER))

    return in_turn(of_each)(shared, *rows)
