"""Reserved column names, which methods and tasks may not use for their own columns."""

from collections.abc import Iterable

from bench.errors import InputError

# fmt: off
CONTEXT = {  # columns that differ by when and where a run was made, or that say which run it is
    "point", "sweep", "algorithm", "scale", "trial", "seed", "num_rounds", "rounds", "date", "commit", "jax_version",
    "jaxlib_version", "python_version", "device", "wall_s", "compile_s", "points_per_chunk",
}
# Columns that the engine adds to the results, besides epsilon and epsilon_*; nothing else may have these names.
RESERVED = CONTEXT | {
    "method", "source", "releases", "privacy_unit", "neighbors", "accounted_as", "accountant", "delta", "version",
    "checksum",
}
# fmt: on


def is_reserved(name: str) -> bool:
    """Return whether every table of results has a column of this name."""
    return name in RESERVED or name.startswith("epsilon")


def check_measured(method: str, task: str, *, metrics: Iterable[str], info: Iterable[str], args: Iterable[str]) -> None:
    """Refuse names that would overwrite another column of the results.

    Args:
        method, task: names, for the message.
        metrics: what the task measures.
        info: what a round reports.
        args: the method's arguments.

    Raises:
        InputError: naming the first one that is already taken.
    """
    metrics, args, info = set(metrics), set(args), set(info)
    for name in filter(is_reserved, sorted(args)):
        raise InputError(f"{method} has an argument {name}, which is a column of all results: rename the argument")
    for name in sorted(metrics):
        if is_reserved(name) or name in args or name in ("task", "released"):
            raise InputError(f"`metrics` of task {task} has {name}, as the results have already: rename it")
    for name in sorted(info):
        if is_reserved(name) or name in metrics | args | {"task"}:
            raise InputError(f"`round` of {method} reports {name}, as the results have already: rename it in its info")
