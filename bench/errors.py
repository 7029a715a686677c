"""The one exception that a person's input can cause, and the sentence for a name that does not exist."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Something given to the suite cannot be used. The message is one line: the culprit, then the remedy.

    The command line prints the message alone and exits with 2; from Python it is an ordinary ValueError.
    """


def unknown_name(kind: str, name: str, names: Iterable[str]) -> InputError:
    """The error for a name that is not in a table: says the nearest ones that are.

    Args:
        kind: what was named, in words ("sweep", "figure").
        name: what was given.
        names: what there is.
    """
    names = sorted(names)
    near = get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}."
    return InputError(f"no {kind} is called {name!r}: {hint}")


def in_one_line(error: BaseException) -> str:
    """Its type and the first line of what it says, for an exception of code that was given to the suite."""
    try:
        first = next(iter(str(error).splitlines()), "")
    except Exception:  # of its own __str__
        first = ""
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
