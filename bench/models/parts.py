"""Models in two parts, one that clients share and one of each client, as dictionaries with some of a model's entries.

A client's model is the sum of both: an entry that both have is added up, and an entry that only one has is taken from
it. So one rule covers the methods that personalise a network:

    shared            local             client i predicts with
    ---------------   ---------------   -----------------------------------------------------------------
    all entries       none              the shared model: DP-FedAvg
    all entries       all entries       w + theta_i: fine-tuning, Ditto, learning alone
    all entries       the head          a shared head plus its own: PPSGD (Bietti et al. 2022, Figure 1d)
    representation    the head          its own head on the shared representation: FedPer, FedRep, CENTAUR
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from bench.errors import InputError


def split(params: Any, entries: Sequence[str]) -> tuple[dict, dict]:
    """Return a model without some of its entries, and these entries.

    Args:
        params: a dictionary.
        entries: of the head.

    Raises:
        InputError: where the model is no dictionary, lacks an entry, or is nothing but these entries.
    """
    if not isinstance(params, dict):
        raise InputError("a model with a head is a dictionary: name the layers of the network")
    if missing := [name for name in entries if name not in params]:
        raise InputError(f"the model has no entry {missing[0]!r} for its head: name some of {', '.join(params)}")
    if not entries or len(set(entries)) == len(params):
        raise InputError(
            f"the head is {', '.join(entries) or 'nothing'} of {', '.join(params)}: leave a part for either"
        )
    head = {name: params[name] for name in entries}
    return {name: value for name, value in params.items() if name not in head}, head


def joined(shared: Any, local: Any) -> Any:
    """Return the model of a client: the sum of two dictionaries, in which a missing entry is 0.

    Args:
        shared, local: dictionaries; or two pytrees of one structure, which are added up. None is 0.
    """
    if local is None or shared is None:
        return shared if local is None else local
    if isinstance(shared, dict) and isinstance(local, dict):
        sums = {name: jax.tree.map(jnp.add, shared[name], local[name]) for name in shared if name in local}
        return shared | local | sums
    return jax.tree.map(jnp.add, shared, local)
