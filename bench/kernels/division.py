"""The users of one run over several devices: who is where, and sums over all of them.

User number i belongs to device i // held, which holds its data and what it keeps. Within a program made by
`jax.shard_map`, arrays by user have the rows of one device, everything else is the same on all, and `total` is the only
way in which devices exchange anything. Noise is drawn after it, from a key that all devices share: drawn before, it
would be added once for every device.
"""

from dataclasses import dataclass
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Int32, Shaped
from scipy import stats

AXIS = "clients"  # of the mesh of devices
FAILURE = 1e-12  # most probable share of rounds in which a user of a device finds no place
Sums = TypeVar("Sums")


@dataclass(frozen=True)
class Division:
    """The division of a run's users over devices.

    users: N, of all devices together.
    devices: D.
    """

    users: int
    devices: int

    @property
    def held(self) -> int:
        """Return ceil(N / D), the rows of a device; the last devices may have rows that are no users."""
        return -(-self.users // self.devices)

    def numbers(self) -> Int32[Array, " held"]:
        """Return the numbers of this device's users; those that are at least N are no users."""
        return jax.lax.axis_index(AXIS).astype(jnp.int32) * self.held + jnp.arange(self.held, dtype=jnp.int32)

    def real(self) -> Bool[Array, " held"]:
        """Return which rows of this device are users."""
        return self.numbers() < self.users

    def total(self, sums: Sums) -> Sums:
        """Return the sums over all devices, on every device, by one exchange for all leaves of a dtype."""
        leaves, structure = jax.tree.flatten(sums)
        out = list(leaves)
        for dtype in dict.fromkeys(leaf.dtype for leaf in leaves):
            places = [place for place, leaf in enumerate(leaves) if leaf.dtype == dtype]
            summed = jax.lax.psum(jnp.concatenate([jnp.ravel(leaves[place]) for place in places]), AXIS)
            begin = 0
            for place in places:
                end = begin + leaves[place].size
                out[place], begin = summed[begin:end].reshape(leaves[place].shape), end
        return jax.tree.unflatten(structure, out)

    def gathered(self, held: Shaped[Array, "held ..."]) -> Shaped[Array, "user ..."]:
        """Return an array by user with the rows of all devices, on every device."""
        return jax.lax.all_gather(held, AXIS, tiled=True)[: self.users]

    def most(self, sampled: int) -> int:
        """Return the number of places that the users of a device need, of `sampled` users drawn without replacement.

        More are drawn on any device with probability at most FAILURE; the last ones of them then miss the round.
        """
        most = stats.hypergeom.isf(FAILURE / self.devices, self.users, min(self.held, self.users), sampled)
        return max(1, min(self.held, sampled, int(most)))

    def most_of(self, rate: float) -> int:
        """Return the same for a Poisson sample of this rate."""
        return max(1, min(self.held, int(stats.binom.isf(FAILURE / self.devices, self.held, rate))))


def places_of(mask: Bool[Array, " place"], bound: int) -> tuple[Int32[Array, " {bound}"], Bool[Array, " {bound}"]]:
    """Return the first `bound` places at which `mask` is true, in order, and which of them exist; the others are 0."""
    places = jnp.flatnonzero(mask, size=bound, fill_value=mask.shape[0])
    taken = places < mask.shape[0]
    return jnp.where(taken, places, 0).astype(jnp.int32), taken
