"""The clipping of users' messages: to a fixed norm, as a whole or by layer, or to a norm that follows a quantile.

"per_layer" clips each of the L layers of a message to C / sqrt(L), so that the message is at most C long, and its noise
is that of "fixed" (McMahan, Ramage, Talwar and Zhang, ICLR 2018, who call "fixed" flat clipping). For a model with one
layer it is "fixed".

"adaptive" is Algorithm 1 of Andrew, Thakkar, McMahan and Ramaswamy (NeurIPS 2021, arXiv 1905.03871). Let b_i be 1 if
the message of user i has norm at most C, and 0 otherwise, for the m users of a round. Then

    C <- C exp(-eta_C (b - gamma)),   b = 1/2 + (sum_i (b_i - 1/2) + sigma_b N(0, 1)) / m,

and the sum of messages clipped at C has noise z_Delta C. A user moves the shifted count by 1/2, so a round costs as
much as one sum with noise z C, for any sampler (`bench.privacy.events.sums_in_one_round`), with

    z_Delta = (z^-2 - (2 sigma_b)^-2)^(-1/2).

z is the argument noise_multiplier. As in the paper, eta_C = 0.2 and sigma_b = m / 20, with m the argument num_sampled.
Where m / 20 is less than z, the count would use more than a quarter of the budget of a round; there our choice is
sigma_b = z. Without noise on the sum there is none on the count. An empty place in a round does not count.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from bench.algorithms.base import Scalar
from bench.errors import InputError, check_name
from bench.kernels import draws, gradient

CLIPPINGS = ("fixed", "adaptive", "per_layer")
STEP = 0.2  # eta_C
COUNT_SHARE = 1 / 20  # sigma_b / m
# The arguments that choose the clipping of a method, at the values for a fixed norm.
FIXED: Mapping[str, Any] = MappingProxyType({"clipping": "fixed", "quantile": 0.5})


class Clipping(NamedTuple):
    """The clipping norm of a run, round by round.

    init: () -> memory, for State.variables.
    norm: memory -> C of this round.
    noise_scale: memory -> standard deviation of the noise on the sum of messages clipped at C.
    update: (key, memory, number of clipped messages, Round or Draw) -> memory.
    info: memory -> dict of the values to report.
    """

    init: Callable[[], Any]
    norm: Callable[[Any], Scalar]
    noise_scale: Callable[[Any], Array]
    update: Callable[..., Any]
    info: Callable[[Any], dict[str, Array]]


def clipping_of(
    name: str, *, clip_norm: Scalar, noise_multiplier: Scalar, num_sampled: int, quantile: Scalar = 0.5
) -> Clipping:
    """Return the clipping of this name.

    Args:
        name: a name in CLIPPINGS.
        clip_norm: C > 0; for "adaptive" the norm of the first round, finite.
        noise_multiplier: z >= 0 of a round, for all that it releases together.
        num_sampled: m, users in a round.
        quantile: gamma, the share of messages that C should leave unclipped; used by "adaptive" only.
    """
    if name != "adaptive":
        scale = gradient.noise_scale(noise_multiplier, clip_norm)
        return Clipping(lambda: (), lambda _: clip_norm, lambda _: scale, lambda key, memory, *_: memory, lambda _: {})
    z = jnp.asarray(noise_multiplier, jnp.float32)
    count_noise = jnp.where(z > 0, jnp.maximum(num_sampled * COUNT_SHARE, z), 0.0)
    # z / sqrt(1 - (z / 2 sigma_b)^2), which equals z_Delta of the module's docstring.
    sum_noise = z * jax.lax.rsqrt(1 - jnp.square(jnp.where(z > 0, z / jnp.where(z > 0, 2 * count_noise, 1.0), 0.0)))

    def update(key, norm, clipped, drawn):
        count = drawn.count / 2 - clipped + count_noise * draws.normal(key)
        new_norm = norm * jnp.exp(-STEP * (0.5 + count / drawn.expected - quantile))
        return jnp.where(drawn.released, new_norm, norm)

    return Clipping(
        lambda: jnp.asarray(clip_norm, jnp.float32),
        lambda norm: norm,
        lambda norm: sum_noise * norm,
        update,
        lambda norm: {"norm_clipped_at": norm},
    )


def check_clipping(clipping: str, quantile: float, clip_norm: float, noise: str) -> None:
    """Refuse incompatible values.

    Raises:
        InputError: naming the value and what to do.
    """
    check_name("clipping", clipping, CLIPPINGS)
    if clipping != "adaptive":
        return
    if clip_norm == float("inf"):
        raise InputError("clip_norm is inf, from which adaptive clipping never comes down: give a finite first norm")
    if not 0 < quantile < 1:
        raise InputError(f"quantile is {quantile:g}: it must be between 0 and 1")
    if noise not in ("independent", "banded_sqrt", "banded"):
        raise InputError(
            f"adaptive clipping is not accounted for with noise {noise!r}: take 'banded_sqrt', 'banded', 'independent'"
        )
