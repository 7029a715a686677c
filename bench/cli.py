"""From a command line to its exit status; every `python -m` of the suite ends here."""

import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import typer

from bench.errors import InputError, in_one_line
from bench.paths import path as path  # for every `python -m`
from bench.stopping import LINE

# Of the system, and of libraries that cannot start a thread; chunks that do not fit are halved before it comes to this.
NO_MEMORY = re.compile(r"out of memory|cannot allocate memory|resource temporarily unavailable", re.IGNORECASE)
PACKAGE = "private-federated-bench"


def exit_status(app: typer.Typer) -> int:
    """Run a command: bad input is one line and status 2, no command at all is the help, Ctrl-C is a line and 130."""
    try:
        code = app(standalone_mode=False) or 0  # of a command that ended with typer.Exit
    except InputError as error:
        print(f"error: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2
    except typer.TyperException as error:
        message = error.format_message()
        if type(error).__name__ == "NoArgsIsHelpError":
            print(message)
            return 0
        print(f"error: {message}", file=sys.stderr)
        return 2
    except SystemExit as error:  # of a person's method or task; the suite itself never calls it
        print(f"error: the code that was given called sys.exit({error.code!r}): take that out", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, typer.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # which typer takes for the end of what a person types
            raise error.__cause__ from None
        code = 130
    except Exception as error:
        if not (isinstance(error, MemoryError) or NO_MEMORY.search(str(error))):
            raise
        print(f"error: out of memory ({in_one_line(error)}): give it more, or take fewer --workers", file=sys.stderr)
        return 2
    if code == 130:  # which is also how typer passes Ctrl-C on
        print(LINE, file=sys.stderr)
    return code


def pairs(option: str, given: list[str] | None) -> list[tuple[str, str]]:
    """NAME=TEXT, taken apart.

    Raises:
        InputError: where one is no pair.
    """
    out = []
    for text in given or []:
        key, equals, rest = text.partition("=")
        if not (key.strip() and equals and rest.strip()):
            raise InputError(f"{option} {text} is no pair: write {option} NAME=VALUE")
        out.append((key.strip(), rest.strip()))
    return out


def distinct_pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """NAME=TEXT, taken apart, every name once.

    Raises:
        InputError: where one is no pair, or a name comes twice.
    """
    out: dict[str, str] = {}
    for key, text in pairs(option, given):
        if key in out:
            raise InputError(f"{option} {key} is given twice: write all its values in one, {key}=A,B,C")
        out[key] = text
    return out


def version() -> str:
    """Of the package as it is installed, or of the folder that it runs from."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        pyproject = Path(__file__).parent.parent / "pyproject.toml"
        return tomllib.loads(pyproject.read_text())["project"]["version"] if pyproject.is_file() else "unknown"


def print_version(wanted: bool) -> None:
    """The callback of --version: print it and end."""
    if wanted:
        print(PACKAGE, version())
        raise typer.Exit
