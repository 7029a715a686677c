"""A flax network as the model of a task: its initial parameters, and the loss of one example from its logits.

The logits of an example may depend on that example and the parameters alone. A network that normalises over a batch, or
keeps running statistics of it, would send statistics of a user's data outside of the clipped update: use GroupNorm,
LayerNorm or `bench.kernels.per_example.Affine`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax.errors import InvalidRngError
from jax import Array

from bench.errors import InputError, in_one_line
from bench.kernels.per_example import cross_entropy
from bench.models.parts import joined

PARAMETERS = "params"


def apply_of(module: nn.Module) -> Callable[[Any, Array], Array]:
    """Return (params, inputs [example, ...]) -> logits [example, class]."""
    return _applied(module)


@cache
def _applied(module: nn.Module) -> Callable[[Any, Array], Array]:
    return lambda params, inputs: cast(Array, module.apply({PARAMETERS: params}, inputs))


def initial_parameters(module: nn.Module, key: Array, inputs: Any) -> Any:
    """Return the parameters of a network at the start.

    Args:
        module: inputs [example, ...] -> logits [example, class].
        key: of the draw.
        inputs: some examples, two at least; they are used for their shape, and to test that the logits of an example
            are its own.

    Raises:
        InputError: for a network that fails, that keeps anything but parameters, as batch normalisation does, or whose
            logits of an example depend on the other examples.
    """
    name = type(module).__name__
    try:
        variables = jax.jit(module.init)(key, inputs)
    except Exception as error:
        raise InputError(
            f"network {name} fails on inputs {np.shape(inputs)}: {in_one_line(error)}: it takes inputs "
            "[example, ...] and nothing else"
        ) from error
    if extra := [collection for collection in variables if collection != PARAMETERS]:
        raise InputError(
            f"network {name} keeps {extra[0]!r} beside its parameters, which no method clips: normalise every example "
            "by itself, with GroupNorm or LayerNorm in place of BatchNorm"
        )
    params = variables[PARAMETERS]
    apply = jax.jit(apply_of(module))
    try:
        batch_logits = apply(params, inputs)
    except InvalidRngError:
        raise InputError(
            f"network {name} draws random numbers when it is applied, which no method gives it: leave out dropout, or "
            "make it deterministic"
        ) from None
    if batch_logits.ndim != 2 or len(batch_logits) != len(inputs):
        raise InputError(f"network {name} gives {batch_logits.shape}: logits [example, class] are needed")
    if not np.isfinite(batch_logits).all():
        raise InputError(
            f"network {name} gives logits that are not finite on the first examples at its initial parameters: keep it "
            "from logarithms and divisions of what may be 0 or negative, or scale the inputs"
        )
    single_logits = jnp.concatenate([apply(params, inputs[place : place + 1]) for place in range(2)])
    if not np.allclose(batch_logits[:2], single_logits, rtol=1e-3, atol=1e-4):
        raise InputError(
            f"the logits of network {name} for an example change with the other examples: normalise every example by "
            "itself"
        )
    return params


@cache
def loss_of(module: nn.Module, of_logits: Callable = cross_entropy) -> Callable:
    """Return f(shared, local, example) of one example (inputs [...], target), for a client whose model is the sum of
    both (`bench.models.parts.joined`). It is one function for all trials, so that they share a compiled program.

    Args:
        module: inputs [example, ...] -> logits [example, class].
        of_logits: (logits [class], target) -> scalar loss.
    """

    def loss(shared, local, example):
        inputs, target = example
        inputs = jax.tree.map(lambda leaf: leaf[None], inputs)
        return of_logits(apply_of(module)(joined(shared, local), inputs)[0], target)

    return loss
