"""The exception for bad input, and its message for unknown names."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Bad input to the suite. The message is one line: the culprit, then the remedy.

    The command line prints only the message and exits with status 2; in Python it is an ordinary ValueError.
    """


def unknown_name(kind: str, name: str, names: Iterable[str]) -> InputError:
    """The error for a name that is not in a table; it suggests the nearest valid name, or lists all.

    Args:
        kind: what the name refers to ("sweep", "figure").
        name: the name that was given.
        names: the valid names.
    """
    names = sorted(names)
    near = get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(names)}."
    return InputError(f"no {kind} is called {name!r}: {hint}")


def in_one_line(error: BaseException) -> str:
    """The type of an exception and the first line of its message, for errors in a user's code."""
    try:
        first = next(iter(str(error).splitlines()), "")
    except Exception:  # its own __str__ may fail
        first = ""
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
