"""Makes a command of a function: its options are the parameters whose annotation has a text."""

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.models import OptionInfo

from bench.cli.options import path
from bench.errors import InputError
from bench.inputs.values import distinct_pairs, values

FLAGS = {"fixed": "--set", "args": "--set", "num_settings": "--settings", "board": "--against"}  # others: by the name
SECTION = re.compile(r"\n\n(?:Args|Returns|Raises):\n")  # of a docstring, where those for Python begin
PARAMETER = re.compile(r"^\w+(?= is | are |=)")  # at the start of a message
Read = Callable[[Any], Any]


def command(app: typer.Typer, function: Callable, name: str | None = None, **overrides: Any) -> Callable:
    """Return a decorator for a function that prints the result of another function: together they are a command.

    The command's help is the docstring of the function, without the sections for Python, and then that of the one that
    prints, which may have further options, as Typer reads them.

    Args:
        app: the application to which the command is added.
        function: the function that is called.
        name: of the command; default that of the function that prints.
        overrides: other defaults than the function's, and values of parameters that are no options.
    """

    def add(show: Callable) -> Callable:
        options, reads = [], {}
        for parameter in inspect.signature(function).parameters.values():
            if get_origin(parameter.annotation) is Annotated:
                option, reads[parameter.name] = _option(
                    parameter.replace(default=overrides.get(parameter.name, parameter.default))
                )
                options.append(option)
        extra = [
            parameter.replace(kind=parameter.KEYWORD_ONLY)
            for parameter in [*inspect.signature(show).parameters.values()][1:]
        ]
        flags = {option.name for option in options if isinstance(get_args(option.annotation)[1], OptionInfo)}
        fixed = {key: value for key, value in overrides.items() if key not in reads}

        def run(**words: Any) -> None:
            arguments = {key: read(words[key]) for key, read in reads.items()}
            try:
                result = function(**arguments, **fixed)
            except InputError as error:  # which has the names of Python
                error.args = (PARAMETER.sub(lambda name: _flag(name[0]) if name[0] in flags else name[0], str(error)),)
                raise
            show(result, **{parameter.name: words[parameter.name] for parameter in extra})

        run.__signature__ = inspect.Signature([*options, *extra])  # pyright: ignore[reportFunctionMemberAccess]
        run.__doc__ = "\n\n".join([SECTION.split(inspect.getdoc(function) or "")[0], inspect.getdoc(show) or ""])
        app.command(name or show.__name__)(run)
        return show

    return add


def _flag(name: str) -> str:
    """Return the option of a parameter."""
    return FLAGS.get(name, "--" + name.replace("_", "-"))


def _option(parameter: inspect.Parameter) -> tuple[inspect.Parameter, Read]:
    """Return a parameter as Typer reads it, and the function that turns a word of the command line into its value."""
    kind, text = get_args(parameter.annotation)[:2]
    kinds = {get_origin(member) or member for member in (get_args(kind) if isinstance(kind, UnionType) else [kind])}
    kinds, default = kinds - {NoneType}, parameter.default
    flag = _flag(parameter.name)
    read: Read = lambda word: word  # noqa: E731
    of_path: dict[str, Any] = {"parser": path, "metavar": "PATH"} if os.PathLike in kinds else {}
    if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and default in (parameter.empty, ()):
        typed: Any = list[str] if Sequence in kinds or default == () else str
        info: Any = typer.Argument(help=text, **of_path)
        default, read = (None, lambda words: words or ()) if default == () else (default, read)
    elif Mapping in kinds:
        typed, info, read = list[str], typer.Option(flag, help=text), partial(distinct_pairs, flag)
    elif Sequence in kinds:
        typed, info = list[str], typer.Option(flag, help=text)
        read = partial(_listed, flag, values if float in kinds else _names)
        default = [",".join(map("{:g}".format, default))] if default else None
    elif bool in kinds:
        typed, info = bool, typer.Option(flag if default is False else f"{flag}/--no-{flag[2:]}", help=text)
    else:
        typed = next((member for member in (str, int, float) if member in kinds and not of_path), str)
        info = typer.Option(flag, help=text, **of_path)
    typed = typed if default is not None else typed | None
    return inspect.Parameter(
        parameter.name, parameter.KEYWORD_ONLY, default=default, annotation=Annotated[typed, info]
    ), read


def _listed(flag: str, split: Callable[[str], list], texts: list[str] | None) -> list | None:
    """Return the values of an option, each time that it is given; None where it is not."""
    if not texts:
        return None
    if not (values := split(",".join(texts))):
        raise InputError(f"{flag} is empty: give values separated by commas, or none")
    return [] if values == ["none"] else values


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
