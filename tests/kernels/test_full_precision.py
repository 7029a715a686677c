"""What is clipped is summed in full float32, also where a GPU would multiply matrices in TF32.

TF32 rounds each factor to 10 bits of mantissa, after the norm was taken: a clipped gradient could then move the sum by
more than C, which the noise is scaled for. A CPU has no TF32, so that no value here would show it; traced programs do.
"""

from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import Literal
from tiny_networks import Tiny, task

from bench.algorithms.parts import silos
from bench.kernels import gradient, linear, linear_network, messages, newton, per_example
from bench.models.linear import squared

HIGHEST = (jax.lax.Precision.HIGHEST, jax.lax.Precision.HIGHEST)
CLASSIFIER = linear_network.Linear(jnp.ones((2, 3)), jnp.ones(2), linear_network.Scaling(jnp.ones(3), jnp.ones(3)))
X, Y, W = jnp.ones((4, 3)), jnp.ones(4), jnp.ones(3)


def products(jaxpr, depends):
    """Return whether each output depends on inputs marked so, and the precisions of the products that do."""
    marked = {var for var, mark in zip(jaxpr.invars, depends, strict=True) if mark}
    found = []
    for equation in jaxpr.eqns:
        inputs = [not isinstance(var, Literal) and var in marked for var in equation.invars]
        within_it = [value if isinstance(value, tuple) else (value,) for value in equation.params.values()]
        inner = [value for values in within_it for value in values if hasattr(value, "jaxpr")]
        if equation.primitive.name == "dot_general" and any(inputs):
            found.append(equation.params["precision"])
        outputs = [any(inputs)] * len(equation.outvars)
        for closed in inner:
            alike = len(closed.jaxpr.invars) == len(inputs)
            within, below = products(closed.jaxpr, inputs if alike else [any(inputs)] * len(closed.jaxpr.invars))
            found += below
            outputs = within if len(within) == len(outputs) else outputs
        marked |= {var for var, mark in zip(equation.outvars, outputs, strict=True) if mark}
    return [not isinstance(var, Literal) and var in marked for var in jaxpr.outvars], found


def after_clipping(function, *args):
    """Return the precisions of the products that depend on the last argument, the clipping norm."""
    closed = jax.make_jaxpr(function)(*args)
    leaves = [len(jax.tree.leaves(arg)) for arg in args]
    return products(closed.jaxpr, [False] * sum(leaves[:-1]) + [True] * leaves[-1])[1]


def of_network(params, inputs, labels, clip_norm, per_layer=False):
    weight = jnp.ones(len(labels))
    return per_example.clipped_gradient_sum(Tiny(), params, inputs, labels, weight, clip_norm, per_layer=per_layer)


def of_classifier(model, inputs, labels, clip_norm):
    sums, *_ = linear_network.clipped_sums(model, inputs, labels, jnp.ones(len(labels)), clip_norm)
    return linear_network.gradient_of(model, sums)


def norms_of_classifier(inputs, slopes):
    return linear_network._squares(CLASSIFIER, inputs, slopes)


def of_linear_model(model, inputs, targets, clip_norm):
    return linear.clipped_gradient(squared, model, inputs, targets, jnp.ones(4), clip_norm)


def network_args():
    made = task(np.zeros((1, 1)))
    inputs, labels = made.network.pool
    return made.init_params, inputs[:4], labels[:4]


def sum_of_linear(inputs, residuals, gram, clip_norm):
    return messages.linear(inputs, residuals, gram).clipped_sum(clip_norm)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (of_network, None),
        (partial(of_network, per_layer=True), None),
        (of_linear_model, (jnp.ones(3), X, Y)),
        (of_classifier, (CLASSIFIER, X, jnp.zeros(4, jnp.int32))),
        (gradient.clipped_sum, (X,)),
        (gradient.clipped_sum_by_layer, ({"a": X, "b": X},)),
        (sum_of_linear, (X[:, None], Y[:, None, None], jnp.ones((4, 1, 1)))),
    ],
)
def test_sums_of_what_is_clipped_are_in_full_precision(function, args):
    found = after_clipping(function, *(args or network_args()), jnp.float32(0.5))
    assert found
    assert set(found) == {HIGHEST}


def test_norms_from_products_of_places_are_in_full_precision():
    """Where the gradient is not formed, a product in TF32 would make its norm too small by up to a thousandth."""
    inputs, slopes = jnp.ones((2, 2, 2, 40)), jnp.ones((2, 2, 2, 50))
    norms = jax.make_jaxpr(lambda a, d: per_example._product(a, d)[0])(inputs, slopes)
    found = products(norms.jaxpr, [True, True])[1]
    assert len(found) == 2
    assert set(found) == {HIGHEST}


def of_silo(examples, weight, w):
    """The clipped gradients of a silo whose model is not linear."""
    made = SimpleNamespace(linear=None, loss=lambda w, theta, example: jnp.sum(w * example))
    how = SimpleNamespace(smoothing="none", smoothing_radius=0.0, clip_norm=0.5)
    return silos._mean_gradient(made, how)(jax.random.key(0), w, examples, weight)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (norms_of_classifier, (X, jnp.ones((4, 2)))),
        (gradient.linear_norms, (jnp.ones((2, 4, 1)), jnp.ones((2, 4, 4)))),
        (lambda x, y, w: linear.clipped_gradient(squared, w, x, y, Y, 0.5), (X, Y, W)),
        (of_silo, (X, Y, W)),
        (lambda x, y, w: newton.newton_step(squared, w, x, y, Y, 0.1), (X, Y, W)),
        (lambda x, y, w: newton.pulled_minimizer(squared, w, 1.0, x, y, Y, 0.1), (X, Y, W)),
    ],
)
def test_all_products_of_small_kernels_are_in_full_precision(function, args):
    closed = jax.make_jaxpr(function)(*args)
    found = products(closed.jaxpr, [True] * len(closed.jaxpr.invars))[1]
    assert found
    assert set(found) == {HIGHEST}


def test_products_in_the_branches_of_a_choice_are_found():
    def either(x, c):
        return jax.lax.cond(c > 0, lambda x: x @ x, lambda x: 2.0 * x @ x, x * c)

    assert after_clipping(either, W, jnp.float32(0.5)) == [None, None]


def test_a_product_in_default_precision_is_found():
    assert after_clipping(lambda x, c: jnp.minimum(x, c) @ x, W, jnp.float32(0.5)) == [None]
