"""Newton's method for one client's own objective sum_j w_j link(<theta, x_j>, y_j) + lambda |theta|^2."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int32, PyTree, Shaped

_product = partial(jnp.matmul, precision="highest")  # a GPU would use TF32, with 10 bits of mantissa
HALVINGS = 12  # of the step; the lengths 1, 1/2, ... and 0 are tried all at once


def newton_step(
    link: Callable,
    model: Float[Array, " feature"],
    inputs: Float[Array, "example feature"],
    targets: PyTree[Shaped[Array, "example ..."]],
    weight: Float[Array, " example"],
    ridge: float | Float[Array, ""],
) -> Float[Array, " feature"]:
    """Return the model after one Newton step, with the length among 1, 1/2, ... and 0 that lowers the objective most.

    Args:
        link: (score, target) -> loss, convex and twice differentiable in the score.
        model: theta.
        inputs, targets, weight: examples; weight 0 for padding. Targets are what the link takes.
        ridge: lambda > 0.
    """
    scores = _product(inputs, model)
    slope = jax.vmap(jax.grad(link))(scores, targets)
    curvature = jax.vmap(jax.grad(jax.grad(link)))(scores, targets)
    gradient = _product(slope * weight, inputs) + 2 * ridge * model
    identity = jnp.eye(model.shape[0])
    hessian = _product((inputs * (curvature * weight)[:, None]).T, inputs) + 2 * ridge * identity
    direction = jax.scipy.linalg.solve(hessian, gradient, assume_a="pos")
    # A Hessian that is singular to float precision has no Newton step; a gradient step over its trace replaces it.
    direction = jnp.where(jnp.all(jnp.isfinite(direction)), direction, gradient / jnp.trace(hessian))
    steps = jnp.append(0.5 ** jnp.arange(HALVINGS, dtype=jnp.float32), 0.0)

    def objective(step):
        losses = jax.vmap(link)(scores - step * _product(inputs, direction), targets)
        return _product(weight, losses) + ridge * jnp.sum(jnp.square(model - step * direction))

    values = jax.vmap(objective)(steps)
    return model - steps[jnp.argmin(values)] * direction


def minimizer(
    link: Callable,
    inputs: Float[Array, "example feature"],
    targets: PyTree[Shaped[Array, "example ..."]],
    weight: Float[Array, " example"],
    ridge: float | Float[Array, ""],
    *,
    most: int = 50,
) -> Float[Array, " feature"]:
    """Return the minimiser to float precision: `newton_step` from 0 until it stays, `most` times at most."""
    return _minimization(link, inputs, targets, weight, ridge, most)[0]


def pulled_minimizer(
    link: Callable,
    center: Float[Array, " feature"],
    strength: float | Float[Array, ""],
    inputs: Float[Array, "example feature"],
    targets: PyTree[Shaped[Array, "example ..."]],
    weight: Float[Array, " example"],
    ridge: float | Float[Array, ""],
    *,
    most: int = 50,
) -> Float[Array, " feature"]:
    """Return the minimiser of |theta - center|^2 / 2 + strength (sum_j w_j link(<theta, x_j>, y_j) + lambda |theta|^2).

    Args:
        link, inputs, targets, weight, ridge, most: as for `minimizer`.
        center: where the model is pulled to.
        strength: of the objective against the pull, >= 0; 0 returns the center.
    """
    pull = 0.5 / jnp.where(strength > 0, strength, 1.0)
    # Both quadratic terms together are (pull + lambda) |theta - middle|^2 and a constant.
    middle = pull / (pull + ridge) * center
    shifted = _product(inputs, middle), targets
    shift = minimizer(lambda s, pair: link(s + pair[0], pair[1]), inputs, shifted, weight, pull + ridge, most=most)
    return jnp.where(strength > 0, middle + shift, center)


def steps_to_minimizer(
    link: Callable,
    inputs: Float[Array, "example feature"],
    targets: PyTree[Shaped[Array, "example ..."]],
    weight: Float[Array, " example"],
    ridge: float | Float[Array, ""],
    *,
    most: int = 50,
) -> Int32[Array, ""]:
    """Return the number of steps that `minimizer` takes."""
    return _minimization(link, inputs, targets, weight, ridge, most)[2]


def _minimization(link: Callable, inputs, targets, weight, ridge, most: int) -> tuple[Array, Array, Array]:
    """Return the minimiser, whether the last step still changed it, and the number of steps."""

    def continues(carry):
        _, changing, count = carry
        return changing & (count < most)

    def step(carry):
        model, _, count = carry
        new_model = newton_step(link, model, inputs, targets, weight, ridge)
        converged = jnp.sum(jnp.square(new_model - model)) <= 1e-12 * jnp.sum(jnp.square(new_model))
        return new_model, ~converged, count + 1

    start = (jnp.zeros(inputs.shape[-1]), jnp.array(True), jnp.int32(0))
    return jax.lax.while_loop(continues, step, start)
