"""A digest of what determines the numbers of a user's own Python objects, by which their results are recognised.

It is the same in every process, and for every definition of the same source. What an installed package or the suite has
under a name counts by this name and the package's version, everything else by its content: functions by their byte
code, with the names, defaults, and global and outer variables that they use; classes by what is defined in them; arrays
by their numbers; and objects by what would be pickled of them. Byte code differs between versions of Python.
"""

import contextlib
import copyreg
import dataclasses
import dis
import functools
import hashlib
import importlib.metadata
import inspect
import secrets
import sys
from collections.abc import Iterable, Iterator
from types import CellType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import flax.linen as nn
import jax
import numpy as np

from bench.errors import of_the_user, shown

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
WRAPPERS = (classmethod, staticmethod, type(functools.cache(len)), type(jax.jit(len)))  # of the function __wrapped__
LOADS, TAKES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"), ("LOAD_ATTR", "LOAD_METHOD")
HEAP = 1 << 9  # flag of classes but those of C that may have no name in their module, such as that of functions
OF_CODE = (
    *("co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_exceptiontable"),
    *("co_flags", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
)
OF_NO_CODE = {  # entries of a class that say where and how it was defined
    *("__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__static_attributes__", "_abc_impl")
}
_process = secrets.token_bytes()
_unreadable: dict[int, Any] = {}  # kept, so that no other object gets the same id


def digest_of(*values: Any, code_only: bool = False) -> bytes:
    """Return the digest of some objects. It is another in every process where something has no content that could be
    digested, such as an open file: a line on standard error names it.

    Args:
        values: any objects.
        code_only: whether of what is neither code nor a constant only the class counts: of data, which a function may
            keep from call to call.
    """
    walk = _Walk(code_only)
    try:
        return walk.digest(values)
    except RecursionError:
        return walk.unreadable(values)


@dataclasses.dataclass
class _Walk:
    """One walk through objects.

    Attributes:
        code_only: as for `digest_of`.
        known: id -> an object and its digest, or its depth as long as this object is being read.
        within: the objects that are being read, each of which contains the next.
    """

    code_only: bool
    known: dict[int, tuple[Any, bytes]] = dataclasses.field(default_factory=dict)
    within: list[Any] = dataclasses.field(default_factory=list)

    def digest(self, value: Any) -> bytes:
        if type(value) in PLAIN:
            return _digest(type(value).__name__.encode(), value if isinstance(value, bytes) else repr(value).encode())
        if id(value) not in self.known:
            self.known[id(value)] = value, b"%d" % len(self.within)
            self.within.append(value)
            try:
                parts = self.parts(value)
            except Exception:  # of a user's class, too
                digest = self.unreadable(value)
            else:
                digest = _digest(*map(self.digest, parts))
            self.within.pop()
            self.known[id(value)] = value, digest
        return self.known[id(value)][1]

    def parts(self, value: Any) -> tuple:
        """Return what an object consists of, beginning with its class or name."""
        kind = type(value)
        match value:
            case _ if named := _address(value):
                return named
            case FunctionType():
                named = value.__kwdefaults__ or {}, inspect.get_annotations(value), vars(value)
                return kind, value.__code__, value.__defaults__, value.__closure__, *map(_items, named), _globals(value)
            case CodeType():
                return kind, *(getattr(value, name) for name in OF_CODE)
            case MethodType():
                return kind, value.__func__, value.__self__
            case functools.partial():
                return kind, value.func, value.args, value.keywords
            case property():
                return kind, value.fget, value.fset, value.fdel
            case functools.cached_property():
                return kind, value.func
            case _ if kind in WRAPPERS:
                return kind, value.__wrapped__
            case CellType():
                with contextlib.suppress(ValueError):  # of a variable that has no value yet
                    return kind, value.cell_contents
                return (kind,)
            case type():
                entries = {name: entry for name, entry in vars(value).items() if name not in OF_NO_CODE}
                return kind, value.__name__, value.__bases__, *_items(entries)
            case ModuleType():
                return kind, *_items({name: entry for name, entry in vars(value).items() if name[:2] != "__"})
            case nn.Module():
                fields = {field.name for field in dataclasses.fields(value)} - {"parent"}
                return kind, *_items({name: getattr(value, name) for name in sorted(fields)})
            case _ if kind is tuple:
                return kind, *value
            case _ if kind is frozenset:
                return kind, *self.sorted(value)
            case _ if self.code_only:
                return (kind,)
            case _ if kind is list:
                return kind, *value
            case _ if kind in (dict, MappingProxyType):
                return kind, *_items(value)
            case _ if kind is set:
                return kind, *self.sorted(value)
            case _ if kind is np.ndarray or isinstance(value, np.generic | jax.Array):
                if isinstance(value, jax.Array) and jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key):
                    return kind, str(value.dtype), jax.random.key_data(value)
                array = np.asarray(value)
                content = array.tolist() if array.dtype.hasobject else array.tobytes()
                return kind, str(array.dtype), getattr(value, "weak_type", False), array.shape, content
        registered = copyreg.dispatch_table.get(kind)
        reduced = registered(value) if registered else value.__reduce_ex__(4)
        if isinstance(reduced, str) and kind.__module__ != "typing":  # a name, under which something else may be
            raise TypeError(f"{reduced} is not found by its name")
        return (kind, reduced) if isinstance(reduced, str) else (kind, *map(_as_list, reduced))

    def sorted(self, values: Iterable) -> list[bytes]:
        """Return the digests of the members of a set, each as if it was read first: sets have no order."""
        return sorted(dataclasses.replace(self, known={**self.known}).digest(each) for each in values)

    def unreadable(self, value: Any) -> bytes:
        """Return a digest that no other process gives, after a line that says so."""
        if self.code_only:
            return self.digest(type(value))
        if id(value) not in _unreadable:
            _unreadable[id(value)] = value
            names = [name for each in self.within if (name := getattr(each, "__qualname__", None))]
            print(
                f"{names[-1] if names else 'an object'} uses {shown(value)}, of which nothing says whether it changes: "
                "no other command goes on with its runs; give a method or network as FILE.py:NAME, a task a checksum",
                file=sys.stderr,
            )
        return _digest(_process, b"%d" % id(value))


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(b"%d:" % len(part) + part)
    return digest.digest()


def _items(mapping: Any) -> tuple:
    return tuple(mapping.items())


def _as_list(part: Any) -> Any:
    """Return an item of what `__reduce_ex__` gives, with iterators as lists."""
    return list(part) if isinstance(part, Iterator) else part


def _release_of(name: str) -> str | None:
    """Return the version of the package that a module is of, "" where it has none; None for a user's module."""
    module, (top, *below) = sys.modules.get(name), name.split(".")
    file = getattr(module, "__file__", None)
    if module is not None and file is None and below:
        return _release_of(name.rpartition(".")[0])
    if module is None or (of_the_user(file) if file else top not in sys.stdlib_module_names):
        return None
    return str(getattr(sys.modules.get(top), "__version__", "")) or _version_of(top)


@functools.cache
def _version_of(package: str) -> str:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version("private-federated-bench" if package == "bench" else package)
    return ""


def _address(value: Any) -> tuple[str, str, str] | None:
    """Return module, name and version of what an installed package or the suite has under its name; None for others."""
    if isinstance(value, ModuleType):
        return None if (release := _release_of(value.__name__)) is None else (value.__name__, "", release)
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not (isinstance(module, str) and isinstance(name, str)) or (release := _release_of(module)) is None:
        return None
    value_there = functools.reduce(lambda outer, part: getattr(outer, part, None), name.split("."), sys.modules[module])
    static = isinstance(value, type) and not value.__flags__ & HEAP
    return (module, name, release) if value_there is value or static else None


def _globals(function: FunctionType) -> tuple:
    """Return the name and the value of each global variable that a function uses, of a user's module only what it takes
    from it; the name and version of the package of an installed function."""
    variables = function.__globals__
    home = str(variables.get("__name__"))
    if (release := _release_of(home)) is not None and vars(sys.modules[home]) is variables:
        return home, release
    values, codes = {}, [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if inspect.iscode(constant)]
        steps = [*dis.get_instructions(code)]  # the last one returns
        for place, step in enumerate(steps):
            name = step.argval
            if step.opname == "IMPORT_NAME":
                level, names = (before.argval for before in steps[place - 2 : place])
                with contextlib.suppress(ImportError):  # where a function may do without it
                    values[f"import {level} {name}"] = __import__(name, variables, None, names, level)
            elif step.opname in LOADS and name in variables:
                value, following = variables[name], steps[place + 1]
                if isinstance(value, ModuleType) and _release_of(value.__name__) is None and following.opname in TAKES:
                    name, value = f"{name}.{following.argval}", getattr(value, following.argval, None)
                values[name] = value
    return tuple(sorted(values.items(), key=lambda item: item[0]))
