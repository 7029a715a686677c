"""Projections and proximal steps that have closed forms."""

import jax.numpy as jnp
from jax import Array

from bench.kernels.gradient import clip_factor


def project_ball(point: Array, center: Array, radius) -> Array:
    """The nearest point of the ball { |w - center| <= radius } in L2.

    Args:
        point, center: [feature].
        radius: above 0; inf is the whole space.
    """
    offset = point - center
    return center + offset * clip_factor(jnp.linalg.norm(offset), radius)


def proximal_step(gradient: Array, anchors: tuple[Array, Array], weights: tuple, center: Array, radius) -> Array:
    """argmin <g, w> + a/2 |w - u|^2 + b/2 |w - v|^2 over the ball around `center`.

    The sum of the squares is one square around a weighted mean, so the minimiser over a ball is the projection of
    the minimiser over the whole space.

    Args:
        gradient: g [feature].
        anchors: u and v, [feature].
        weights: a and b, 0 or more, not both 0.
        center, radius: of the ball, see `project_ball`.
    """
    (u, v), (a, b) = anchors, weights
    return project_ball((a * u + b * v - gradient) / (a + b), center, radius)
