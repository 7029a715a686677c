"""Projections and proximal steps that have closed forms."""

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from bench.kernels.gradient import clip_factor


def project_ball(
    point: Float[Array, " feature"], center: Float[Array, " feature"], radius: float | Float[Array, ""]
) -> Float[Array, " feature"]:
    """Return the nearest point of the ball { |w - center| <= radius } in L2.

    Args:
        point: the point to project.
        center: of the ball.
        radius: above 0; inf is the whole space.
    """
    offset = point - center
    return center + offset * clip_factor(jnp.linalg.norm(offset), radius)


def proximal_step(
    gradient: Float[Array, " feature"],
    anchors: tuple[Float[Array, " feature"], Float[Array, " feature"]],
    weights: tuple[float | Float[Array, ""], float | Float[Array, ""]],
    center: Float[Array, " feature"],
    radius: float | Float[Array, ""],
) -> Float[Array, " feature"]:
    """Return argmin <g, w> + a/2 |w - u|^2 + b/2 |w - v|^2 over the ball around `center`.

    The sum of the squares is one square around a weighted mean, so the minimiser over a ball is the projection of
    the minimiser over the whole space.

    Args:
        gradient: g.
        anchors: u and v.
        weights: a and b, 0 or more, not both 0.
        center, radius: of the ball, see `project_ball`.
    """
    (u, v), (a, b) = anchors, weights
    return project_ball((a * u + b * v - gradient) / (a + b), center, radius)
