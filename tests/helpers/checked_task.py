"""The annotations of a Task, and of the groups within it, checked at run time."""

import dataclasses
from functools import partial
from typing import get_type_hints

import jax
from beartype import BeartypeConf
from beartype.door import is_bearable
from jaxtyping import jaxtyped

from bench.data.task import Linear, Network, Peers, Task
from bench.kernels.graph import Graph

CONF = BeartypeConf(is_pep484_tower=True)  # an int will do for a float, as in runtime_types
GROUPS = (Network, Linear, Peers, Graph)


def wrong_fields(task: Task) -> list[str]:
    """The fields that are not what their annotation says, such as "peers.graph.weights"; a dimension of one name has
    one length in all of them, in the order of the fields."""
    with jaxtyped("context"):
        return _wrong(task, "")


def _wrong(value, place: str) -> list[str]:
    out = []
    for name, hint in get_type_hints(type(value), include_extras=True).items():
        field = getattr(value, name)
        if not is_bearable(field, hint, conf=CONF):
            out.append(place + name)
        elif isinstance(field, GROUPS):
            out += _wrong(field, f"{place}{name}.")
    return out


def changed(value, place: str, new):
    """The task with another value of one field, named as in `wrong_fields`."""
    first, _, rest = place.partition(".")
    inner = changed(getattr(value, first), rest, new) if rest else new
    replace = partial(dataclasses.replace, value) if dataclasses.is_dataclass(value) else value._replace
    return replace(**{first: inner})


def program(task: Task) -> tuple:
    """What decides, of a task, which program is compiled."""
    leaves, structure = jax.tree.flatten(task)
    return structure, [(leaf.shape, leaf.dtype, leaf.weak_type) for leaf in leaves]
