"""Methods from anywhere: built in by name, or from a file of the user's."""

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Method
from bench.errors import InputError, in_one_line, unknown_name
from bench.privacy.events import full_gaussian

PREFIX = "outside_"  # of the names of modules made of a user's files


def undeclared(task, *, delta: float, **_):
    """The release of a method that declares none: it counts as not private."""
    return full_gaussian(0.0, delta=delta)._replace(mechanism="nothing is declared")


def load_method(target: str | Method | Callable) -> tuple[str, Method]:
    """A method and what to call it.

    Args:
        target: a Method, or a factory; or the name of a built-in one; or FILE.py:NAME, where NAME is a Method, or the
            factory of a Method in that file; or FILE.py, which has one Method. A factory of which nothing more is said
            becomes a method that is not private. The version is a digest of the code: of the file and of what it
            imports from its own folder; of a function, with the functions and plain values that it uses. So results of
            an edited method are never mixed.

    Raises:
        InputError: no such method, file or name, or a file that does not import.
    """
    if not isinstance(target, str | Method) and not inspect.isfunction(target):
        raise InputError(f"{target!r} is no method: give a name, FILE.py:NAME, a Method, or a factory")
    if not isinstance(target, str):
        method = _usable(_method(target, {}, "the method"))
        return method.make.__name__, method._replace(version=_digest(code_of(method.make)))
    file, colon, name = target.partition(":")
    if not file.endswith(".py"):
        if target not in ALGORITHMS:
            raise (
                unknown_name("method", target, ALGORITHMS)
                if not colon
                else InputError(f"{target}: what stands before the colon must be a Python file, FILE.py:NAME")
            )
        return target, ALGORITHMS[target]
    path = Path(file)
    module = _imported(path)
    methods = {key: value for key, value in vars(module).items() if isinstance(value, Method)}
    if not colon:
        if len(set(map(id, methods.values()))) != 1:
            contents = f"has the methods {', '.join(methods)}" if methods else "has no Method"
            raise InputError(f"{file} {contents}: say which, {file}:NAME")
        method = next(iter(methods.values()))
    elif not hasattr(module, name):
        functions = [key for key, value in vars(module).items() if _is_defined_in(module, value)]
        raise unknown_name(f"method in {file}", name, {*methods, *functions})
    else:
        method = _method(getattr(module, name), methods, target)
    return method.make.__name__, _usable(method)._replace(version=_digest([path.read_bytes(), *_beside(path)]))


def _usable(method: Method) -> Method:
    """The method, if its fields are what they must be, and about arguments that it has.

    Raises:
        InputError: naming the field, and what it must be.
    """
    if not inspect.isfunction(method.make):
        raise InputError(f"`make` of a Method is {method.make!r}: give the factory of an Algorithm, a function")
    name = method.make.__name__
    try:
        arguments = inspect.signature(method.make, eval_str=True).parameters
    except Exception as error:  # whatever an annotation may raise
        raise InputError(f"an annotation of {name} cannot be read: {in_one_line(error)}: mend it") from None
    for field, fits, words in (
        ("releases", callable(method.releases), "a function (task, *, delta, ...) -> Release"),
        ("version", isinstance(method.version, int), "a whole number"),
        ("check", callable(method.check), "a function (task, ...) -> None"),
        ("noise", isinstance(method.noise, str), "the name of the argument that scales the noise"),
        ("space", isinstance(method.space, Mapping), "a dictionary from arguments to their values"),
    ):
        if not fits:
            raise InputError(f"`{field}` of {name} is {getattr(method, field)!r}: give {words}")
    for argument, tried in method.space.items():
        if argument not in arguments:
            raise unknown_name(f"argument of {name}, as its `space` says,", str(argument), list(arguments)[1:])
        if not isinstance(tried, Sequence) or isinstance(tried, str) or not len(tried):
            raise InputError(f"`space` of {name} has {tried!r} for {argument}: give a list of values")
    return method


def _digest(parts: list[bytes]) -> int:
    return int.from_bytes(hashlib.blake2b(b"\0".join(parts), digest_size=6).digest())


def _beside(path: Path) -> list[bytes]:
    """The modules that lie beside a file, or below, and have been imported."""
    home, contents = path.parent.resolve(), {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        of_suite = name.partition(".")[0] in ("bench", "figures") or name.startswith(PREFIX)
        if file and not of_suite and "site-packages" not in file and Path(file).resolve().is_relative_to(home):
            contents[name] = Path(file).read_bytes()
    return [contents[name] for name in sorted(contents)]


def code_of(function: Callable, seen: set | None = None) -> list[bytes]:
    """What a function does: its code, the plain values and the functions that it finds around it, and so on.

    Args:
        function: a plain one, written in Python.
        seen: functions that are not looked at again.
    """
    seen = set() if seen is None else seen
    if function in seen:
        return []
    seen.add(function)
    codes, used = [function.__code__], set()
    for code in codes:
        used |= set(code.co_names)
        codes += [constant for constant in code.co_consts if inspect.iscode(constant)]
    parts = [code.co_code + repr([c for c in code.co_consts if not inspect.iscode(c)]).encode() for code in codes]
    globals_used = {name: function.__globals__[name] for name in sorted(used & set(function.__globals__))}
    for name, value in {**globals_used, **inspect.getclosurevars(function).nonlocals}.items():
        if inspect.isfunction(value) and "site-packages" not in value.__code__.co_filename:
            parts += code_of(value, seen)
        elif isinstance(value, bool | int | float | str | tuple | list | dict | None):
            parts.append(f"{name} = {value!r}".encode())
    return parts


def _is_defined_in(module: ModuleType, value) -> bool:
    return inspect.isfunction(value) and value.__module__ == module.__name__


def _method(value, methods: dict[str, Method], target: str) -> Method:
    """The Method that a value in a file stands for: itself, or the Method that is made by this factory."""
    if isinstance(value, Method):
        return value
    if not inspect.isfunction(value):
        raise InputError(f"{target} is a {type(value).__name__}: name a Method, or the factory of one")
    declared = [method for method in methods.values() if method.make is value]
    return declared[0] if declared else Method(value, undeclared, version=0)


def _imported(path: Path) -> ModuleType:
    """The file as a module; its own folder is searched for what it imports, as Python does for a script."""
    if not path.is_file():
        raise InputError(f"{path} is not a file: give the one that has the method")
    spec = importlib.util.spec_from_file_location(f"{PREFIX}{path.stem}", path)
    assert spec is not None  # as for every name that ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        raise InputError(f"{path} calls sys.exit({error.code!r}) when it is imported: take that out") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the file raises
        traceback = error.__traceback__
        frames = inspect.getinnerframes(traceback) if traceback else []
        at = [frame.lineno for frame in frames if frame.filename == str(path)]
        line = f", line {at[-1]}" if at else f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise InputError(f"{path}{line} does not import: {in_one_line(error)}") from None
    finally:
        sys.path.pop(0)
    return module
