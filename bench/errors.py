"""The exception for bad input, and its message for unknown names."""

import errno
import os
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path

MOST_SHOWN = 100  # characters of a value
TRACEBACK = "BENCH_TRACEBACK"  # environment variable: show tracebacks
SUITE = Path(__file__).parent


class InputError(ValueError):
    """Bad input to the suite. The message is one line: the culprit, then the remedy.

    The command line prints only the message and exits with status 2; in Python it is an ordinary ValueError, of which
    notebooks show only the message, unless the environment variable BENCH_TRACEBACK is set.
    """

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows of it."""
        lines = traceback.format_exception(self) if TRACEBACK in os.environ else [f"{type(self).__name__}: {self}"]
        return [line.rstrip("\n") for line in lines]


def unknown_name(kind: str, name: str, names: Iterable[str], remedy: str | None = None) -> InputError:
    """Return the error for a name that is not in a table; it suggests the nearest valid name, or lists all.

    Args:
        kind: what the name refers to ("sweep", "figure").
        name: the name that was given.
        names: the valid names.
        remedy: in place of the list of names, where they are too many.
    """
    names = sorted(names)
    suggestion = nearest(name, names)
    hint = remedy or f"choose from {', '.join(names)}." if suggestion is None else f"did you mean {suggestion}?"
    return InputError(f"no {kind} is called {shown(name)}: {hint}")


def check_name(kind: str, name: str, names: Iterable[str]) -> None:
    """Refuse a name that is not one of the names; the arguments are those of `unknown_name`."""
    names = tuple(names)
    if name not in names:
        raise unknown_name(kind, str(name), names)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the valid name that is nearest to a misspelt one; None where none is near."""
    in_lower_case = {valid.lower(): valid for valid in names}
    matches = get_close_matches(name.lower(), in_lower_case, n=1)
    return in_lower_case[matches[0]] if matches else None


def combined_error(errors: Sequence[InputError]) -> InputError:
    """Return one error with the messages of all, in their order."""
    return errors[0] if len(errors) == 1 else InputError("; ".join(dict.fromkeys(map(str, errors))))


def cannot_write(error: OSError, place: Path) -> InputError:
    """Return the error for results that cannot be written; it names the file of the error, or else the place."""
    why = f"{error.strerror}; choose another --out"
    if error.errno == errno.ENOSPC:
        why = "the disk is full; everything finished so far is kept; choose another --out or free some space"
    return InputError(f"cannot write {error.filename or place}: {why}")


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn an OSError in writing to a place into an InputError of one line.

    Raises:
        InputError: where it cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise cannot_write(error, place) from None


def shown(value: object) -> str:
    """Return a value for a message: its repr in one line of at most 100 characters; its type where repr fails."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of a user's class
        return f"an object of type {type(value).__name__}"
    return cut(text)


def cut(text: str, most: int = MOST_SHOWN) -> str:
    """Return a text for a message, of at most so many characters, without those that cannot be printed."""
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text[: most + 1])
    return text if len(text) <= most else f"{text[: most - 3]}..."


def expanded(path: str | os.PathLike, option: str) -> Path:
    """Return a path with a leading ~ or ~USER replaced by the home folder.

    Raises:
        InputError: where there is no such user; naming the option.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(
            f"{option} is {shown(str(path))}, but that home folder is unknown: give a whole path"
        ) from None


def remedy_of(error: OSError) -> str:
    """Return what to do about a file that cannot be read."""
    return "make it readable" if isinstance(error, PermissionError) else "move it elsewhere"


def place_of(error: BaseException) -> str:
    """Return where an error came from, as " (FILE, line N)": the last line of code outside the suite and installed
    packages, or else the last outside installed packages; "" where there is neither.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    relevant = [frame for frame in frames if not Path(frame.filename).is_relative_to(SUITE)] or frames
    return f" ({relevant[-1].filename}, line {relevant[-1].lineno})" if relevant else ""


@cache  # asked for each of some 2,000 modules whenever something is sent to a worker
def of_the_user(file: str) -> bool:
    """Return whether a file is neither the suite's, nor of an installed package or Python itself."""
    path = Path(file).resolve()
    elsewhere = SUITE, *(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return not installed and not any(path.is_relative_to(folder) for folder in elsewhere)


@contextmanager
def calling(what: str, *, condition: str = "", but: tuple = ()) -> Iterator[None]:
    """Turn an error in a user's code into an InputError that says what fails, why and where; its cause is the error.

    Args:
        what: what is called, such as "`round` of ppsgd".
        condition: what it is called with, to follow "fails".
        but: errors that are passed on, as those of a lack of memory are.
    """
    try:
        yield
    except (InputError, MemoryError, *but):
        raise
    except (Exception, SystemExit) as error:
        text = f"{what} fails{condition}: {in_one_line(error)}{place_of(error)}"
        raise InputError(f"{text}; {TRACEBACK}=1 shows the whole traceback") from error


def in_one_line(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message, for errors in a user's code."""
    try:
        first = next(iter(str(error).splitlines()), "")
    except Exception:  # its own __str__ may fail
        first = ""
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
