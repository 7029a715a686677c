"""Loads methods: built-in ones by name, and users' methods from files or as objects."""

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import flax.linen as nn

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Method
from bench.algorithms.identity import digest_of
from bench.algorithms.search_space import check_space
from bench.errors import InputError, calling, in_one_line, shown, unknown_name
from bench.privacy.events import full_gaussian

PREFIX = "outside_"  # prefix of the names of modules loaded from a user's files


def undeclared(task, *, delta: float, **_):
    """The release of a method that declares none: the method counts as not private."""
    return full_gaussian(0.0, delta=delta)._replace(mechanism="nothing is declared")


def load_method(target: str | Method | Callable) -> tuple[str, Method]:
    """Load a method, with its name.

    Args:
        target: a Method or a factory; the name of a built-in method; FILE.py:NAME, where NAME is a Method, or the
            factory of one, in that file; or FILE.py with exactly one Method of its own. A factory without a Method
            becomes a method that is not private. The version is a digest of the code: for a file, of the file and of
            what it imports from its own folder; for an object, of its factory, its releases and all that they use. So
            results of an edited method are never mixed with earlier ones.

    Raises:
        InputError: for an unknown method, file or name, or a file that cannot be imported.
    """
    if not isinstance(target, str | Method) and not inspect.isfunction(target):
        raise InputError(f"{shown(target)} is not a method: give a name, FILE.py:NAME, a Method, or a factory")
    if not isinstance(target, str):
        method = _checked_method(_method_of(target, {}, "the method"))
        content = digest_of(method.make, method.releases, method.version)
        return method.make.__name__, method._replace(version=int.from_bytes(content[:6]))
    file, colon, name = target.partition(":")
    if not file.endswith(".py"):
        if target not in ALGORITHMS and Path(file).is_file():
            raise InputError(f"{file} is not a Python file: give one whose name ends in .py")
        if target not in ALGORITHMS:
            raise (
                unknown_name("method", target, ALGORITHMS)
                if not colon
                else InputError(f"{target}: the part before the colon must be a Python file, as in FILE.py:NAME")
            )
        return target, ALGORITHMS[target]
    path = Path(file)
    module = _module(path, "the method")
    methods = {key: value for key, value in vars(module).items() if isinstance(value, Method)}
    if not colon:
        built_in = set(map(id, ALGORITHMS.values()))  # those that the file builds on are not its own
        own_methods = {key: value for key, value in methods.items() if id(value) not in built_in}
        if len(set(map(id, own_methods.values()))) != 1:
            contents = f"has the methods {', '.join(own_methods)}" if own_methods else "has no Method of its own"
            raise InputError(f"{file} {contents}: name the one to use, {file}:NAME")
        method = next(iter(own_methods.values()))
    elif not hasattr(module, name):
        functions = [key for key, value in vars(module).items() if _is_defined_in(module, value)]
        raise unknown_name(f"method in {file}", name, {*methods, *functions})
    else:
        method = _method_of(getattr(module, name), methods, target)
    method = _checked_method(method)
    return method.make.__name__, method._replace(version=_digest([path.read_bytes(), *_contents(path)]))


def load_network(target: str | Callable) -> tuple[Any, str]:
    """Load a network, with a digest of its code.

    Args:
        target: a function () -> flax module, or FILE.py:NAME, where NAME is the function or module in it.

    Raises:
        InputError: for a file or name that does not exist, or where it gives something other than a flax module.
    """
    if isinstance(target, str):
        file, colon, name = target.partition(":")
        if not (file.endswith(".py") and colon and name):
            raise InputError(f"the network is {target}: give FILE.py:NAME, a function that returns a flax module")
        path = Path(file)
        module = _module(path, "the network")
        if not hasattr(module, name):
            functions = [key for key, value in vars(module).items() if _is_defined_in(module, value)]
            raise unknown_name(f"network in {file}", name, functions)
        network, code = getattr(module, name), [path.read_bytes(), *_contents(path), name.encode()]
    else:
        network, code = target, []
    if inspect.isfunction(network):
        with calling(f"network {shown(target)}"):
            network = network()
    if not isinstance(network, nn.Module):
        raise InputError(
            f"network {shown(target)} is {shown(network)}: give a flax module, or a function that returns one"
        )
    return network, f"{_digest(code):x}" if code else digest_of(network)[:6].hex()


def _checked_method(method: Method) -> Method:
    """Return the method if its fields have the right types and refer to arguments that it has.

    Raises:
        InputError: naming the field, and what it must be.
    """
    if not inspect.isfunction(method.make):
        raise InputError(f"`make` of a Method is {shown(method.make)}: give the factory of an Algorithm, a function")
    name = method.make.__name__
    with calling(f"an annotation of {name}"):
        arguments = inspect.signature(method.make, eval_str=True).parameters
    for field, fits, words in (
        ("releases", callable(method.releases), "a function (task, *, delta, ...) -> Release"),
        ("version", isinstance(method.version, int), "a whole number"),
        ("check", callable(method.check), "a function (task, ...) -> None"),
        ("noise", isinstance(method.noise, str), "the name of the argument that scales the noise"),
        ("space", isinstance(method.space, Mapping), "a dictionary from arguments to their values"),
        ("roles", callable(method.roles), "a function (**arguments) -> dictionary from arguments to Roles"),
    ):
        if not fits:
            raise InputError(f"`{field}` of {name} is {shown(getattr(method, field))}: give {words}")
    for argument in method.space:
        if argument not in arguments:
            raise unknown_name(f"argument of {name}, named in its `space`,", str(argument), list(arguments)[1:])
    check_space(f"`space` of {name}", method.space)
    return method


def _digest(parts: list[bytes]) -> int:
    return int.from_bytes(hashlib.blake2b(b"\0".join(parts), digest_size=6).digest())


def _contents(path: Path) -> list[bytes]:
    """Return the contents of imported modules in the folder of a file, or below it."""
    home, contents = path.parent.resolve(), {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        of_suite = name.partition(".")[0] in ("bench", "figures") or name.startswith(PREFIX)
        if file and not of_suite and "site-packages" not in file and Path(file).resolve().is_relative_to(home):
            contents[name] = Path(file).read_bytes()
    return [contents[name] for name in sorted(contents)]


def _is_defined_in(module: ModuleType, value) -> bool:
    return inspect.isfunction(value) and value.__module__ == module.__name__


def _method_of(value, methods: dict[str, Method], target: str) -> Method:
    """Return the Method that a value refers to: itself, or the one that this factory belongs to."""
    if isinstance(value, Method):
        return value
    if not inspect.isfunction(value):
        raise InputError(f"{target} is a {type(value).__name__}: name a Method, or a factory")
    declared = [method for method in methods.values() if method.make is value]
    return declared[0] if declared else Method(value, undeclared, version=0)


class _FromSource(SourceFileLoader):
    """Compiles the file that is there.

    Python's own loader takes kept bytecode for that of a file which has the same size and was changed within the same
    second, and leaves bytecode beside the file.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _module(path: Path, what: str) -> ModuleType:
    """Import the file that has `what` as a module; its own folder is on the import path, as for a script."""
    if not path.is_file():
        raise InputError(f"{path} is not a file: give the file that has {what}")
    name = f"{PREFIX}{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_FromSource(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        raise InputError(f"{path} calls sys.exit({error.code!r}) when it is imported: remove that call") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the file raises
        traceback = error.__traceback__
        frames = inspect.getinnerframes(traceback) if traceback else []
        lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path.resolve()]
        line = f", line {lines[-1]}" if lines else f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        message = in_one_line(error)
        fields = f": a Method has {', '.join(Method._fields)}" if Method.__name__ + ".__new__" in message else ""
        raise InputError(f"{path}{line} cannot be imported: {message}{fields}") from None
    finally:
        sys.path.pop(0)
    return module
