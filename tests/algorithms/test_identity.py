"""A user's objects are recognised by what determines their numbers: every edit is noticed, and nothing else."""

import importlib
import os
import subprocess
import sys

import jax
import pytest
from tiny_sweeps import ROOT

from bench.algorithms.base import Method
from bench.algorithms.identity import digest_of
from bench.algorithms.loading import load_method, load_network
from bench.privacy.events import full_gaussian

HEAD = """
import abc, collections, dataclasses, enum, functools, logging, re, typing
import flax.linen as nn, jax, jax.numpy as jnp, numpy as np, optax
from jaxtyping import Array, Float
from bench import Method, Scalar
from bench.privacy.events import full_gaussian
"""
BODY = "\ndef f(task, *, step_size: float = 1.0):\n    return {}\n"
# What a method uses, how, and an edit of the first: a text in it, and another one in its place.
EDITS = {
    "attribute": ("", "jnp.maximum(step_size, 2)", "maximum", "minimum"),
    "method of an array": ("", "task.train.sum()", ".sum", ".mean"),
    "keyword": ("", "jnp.sum(task, axis=0)", "axis=", "initial="),
    "operator": ("def h(x): return x + 1", "h(1)", "x + 1", "x - 1"),
    "default of the method": ("", "step_size", "= 1.0", "= 2.0"),
    "annotation of the method": ("", "step_size", ": float", ": Scalar"),
    "default of a helper": ("def h(x, k=2): return x * k", "h(1)", "k=2", "k=3"),
    "helper of a helper": ("def k(x): return jnp.exp(x)\ndef h(x): return k(x)", "h(1)", "jnp.exp", "jnp.log"),
    "outer variable": ("def o(k):\n  def h(x): return x * k\n  return h\nh = o(2)", "h(1)", "o(2)", "o(3)"),
    "caught exception": ("", "task", "return", "try: return task\n    except KeyError: return"),
    "class that is named": ("class A: k = 1\nclass B: k = 2", "A.k", "A.k", "B.k"),
    "method of a class": ("class A:\n  def g(self): return 1", "A().g()", "return 1", "return 2"),
    "base of a class": ("class A: k = 1\nclass B: k = 2\nclass C(A): pass", "C.k", "C(A)", "C(B)"),
    "cached property": (
        "class A:\n  @functools.cached_property\n  def g(s): return 1",
        "A().g",
        "return 1",
        "return 2",
    ),
    "class method": ("class A:\n  @classmethod\n  def g(c): return 1", "A.g()", "return 1", "return 2"),
    "slots": ("class A:\n  __slots__ = 'k'\na = A()\na.k = 1", "a.k", "a.k = 1", "a.k = 2"),
    "abstract class": ("class A(abc.ABC):\n  def g(s): return 1", "A().g()", "return 1", "return 2"),
    "data class": ("@dataclasses.dataclass\nclass A:\n  k: int = 1", "A().k", "int = 1", "int = 2"),
    "generic class": ("T = typing.TypeVar('T')\nclass A(typing.Generic[T]): k = 1", "A.k", "k = 1", "k = 2"),
    "enumeration": ("class E(enum.Enum):\n  A = 1\n  B = 2", "E.A.value", "A = 1", "A = 3"),
    "named tuple": ("T = collections.namedtuple('T', 'a')\nk = T(2)", "k.a", "T(2)", "T(3)"),
    "bound method": ("class A:\n  def __init__(s, k): s.k = k\n  def g(s): s.k\ng = A(1).g", "g()", "A(1)", "A(2)"),
    "list": ("k = [[1], [2]]", "k", "[2]", "[3]"),
    "dictionary of functions": ("k = {'a': lambda x: x * 2}", "k['a'](1)", "x * 2", "x * 3"),
    "set": ("k = {'a', 'b', 'c'}", "k", "'c'", "'d'"),
    "set of functions": ("def h(x): g(x)\ndef g(x): return h(x) + 1\nk = {h, g}", "k", "+ 1", "+ 2"),
    "truth for a number": ("k = 1", "k", "k = 1", "k = True"),
    "sign of zero": ("k = 0.0", "k", "k = 0.0", "k = -0.0"),
    "array": ("k = np.array([2.0])", "k", "2.0", "3.0"),
    "array of JAX": ("k = jnp.array([2.0])", "k", "2.0", "3.0"),
    "dtype": ("k = np.zeros(2, np.float32)", "k", "float32", "int32"),
    "masked array": ("k = np.ma.array([1, 2], mask=[0, 1])", "k", "[0, 1]", "[1, 0]"),
    "objects in an array": ("k = np.array([{'a': 1}])", "k", "'a': 1", "'a': 2"),
    "key": ("k = jax.random.key(1)", "k", "key(1)", "key(2)"),
    "generator": ("k = np.random.default_rng(1)", "k", "rng(1)", "rng(2)"),
    "jitted": ("@jax.jit\ndef h(x): return x * 2", "h(1)", "x * 2", "x * 3"),
    "jitted, with options": ("@functools.partial(jax.jit, static_argnums=1)\ndef h(x, n): 2", "h(1, 2)", " 2", " 3"),
    "axis of a map": ("h = jax.vmap(lambda x: x * 2)", "h(1)", "x * 2)", "x * 2, in_axes=1)"),
    "derived": ("h = jax.grad(lambda x: x * 2)", "h(1)", "x * 2", "x * 3"),
    "checkpoint": ("h = jax.checkpoint(lambda x: x * 2)", "h(1)", "x * 2", "x * 3"),
    "gradient of one's own": (
        "@jax.custom_vjp\ndef h(x): return x\nh.defvjp(lambda x: (x, x), lambda s, g: (2 * g,))",
        "h(1)",
        "2 * g",
        "3 * g",
    ),
    "partial": ("def h(x, k): return x * k\np = functools.partial(h, k=2)", "p(1)", "k=2", "k=3"),
    "cached": ("@functools.cache\ndef h(x): return x * 2", "h(1)", "x * 2", "x * 3"),
    "wrapped": (
        "def d(g):\n  @functools.wraps(g)\n  def w(*a): return 2 * g(*a)\n  return w\n@d\ndef h(x): return x",
        "h(1)",
        "2 * g",
        "3 * g",
    ),
    "vectorised": ("h = np.vectorize(lambda x: x * 2)", "h(1)", "x * 2", "x * 3"),
    "optimiser": ("o = optax.sgd(0.1)", "o", "0.1", "0.2"),
    "pattern": ("k = re.compile('a')", "k.match('b')", "'a'", "'b'"),
    "layer of a network": (
        "class N(nn.Module):\n  @nn.compact\n  def __call__(self, x): return nn.relu(nn.Dense(2)(x))",
        "N()",
        "nn.relu",
        "nn.tanh",
    ),
    "network within a network": (
        "class M(nn.Module):\n  def __call__(self, x): return nn.relu(x)\n"
        "class N(nn.Module):\n  def setup(self): self.m = M()\n  def __call__(self, x): return self.m(x)",
        "N()",
        "nn.relu",
        "nn.tanh",
    ),
    "activation": ("n = nn.Sequential([nn.Dense(2), nn.relu])", "n", "nn.relu", "nn.tanh"),
    "shapes in annotations": ("def h(x: Float[Array, ' n']): return x * 2", "h(1)", "x * 2", "x * 3"),
    "log": ("log = logging.getLogger('a')", "log.info('b') or 2", "or 2", "or 3"),
}


def defined(source: str, name: str = "f"):
    names = {"__name__": "__main__"}
    exec(HEAD + source, names)
    return names[name]


def version(source: str) -> int:
    return load_method(defined(source))[1].version


def source_of(kind: str) -> str:
    helpers, used, _, _ = EDITS[kind]
    return helpers + BODY.format(used)


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_is_another_version_and_the_same_source_the_same(kind, capsys):
    source, (_, _, before, after) = source_of(kind), EDITS[kind]
    assert before in source
    assert version(source) == version(source) != version(source.replace(before, after))
    assert capsys.readouterr().err == ""


PRINTED = (
    "from test_identity import EDITS, source_of, version\nfor kind in EDITS: print(kind, version(source_of(kind)))"
)


def printed_by(words: str, seed: str) -> list[str]:
    """What another process prints."""
    paths = os.pathsep.join(str(ROOT / folder) for folder in (".", "tests/helpers", "tests/algorithms"))
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, "-c", words], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_versions_are_the_same_in_every_process():
    """With other hashes and addresses, and after other imports."""
    here = [f"{kind} {version(source_of(kind))}" for kind in reversed(EDITS)]
    assert here[::-1] == printed_by(PRINTED, "1") == printed_by(f"import bench.cli.app\n{PRINTED}", "2")


def test_use_changes_no_version():
    """Of what keeps something from its first call on: compiled programs, the cache of a function, layers."""
    source = source_of("jitted") + source_of("cached").replace("h(", "c(") + source_of("layer of a network")
    source += "\nclass A(nn.Module):\n  k: int = 1\n  def setup(self): self.d = nn.Dense(2)\n"
    source += "  @nn.compact\n  def __call__(self, x): return N()(self.d(x))\n"
    source += "\ndef f(task, *, step_size=1.0):\n    return A(2).init(jax.random.key(0), jnp.ones(3)), h(1), c(1)\n"
    made = defined(source)
    before = digest_of(made)
    jax.block_until_ready(made(None))
    assert digest_of(made) == before


def released(multiplier: float):
    return lambda task, *, delta: full_gaussian(multiplier, delta=delta)


def still(task):
    return task


def test_another_release_is_another_version():
    """Since its epsilon is in the rows."""
    made = [load_method(Method(still, released(of), version=1))[1].version for of in (1.0, 1.0, 2.0)]
    assert made[0] == made[1] != made[2]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of the user's that is imported anew after each edit."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # which is taken for that of a file of the same second
    (tmp_path / "mine_too").mkdir()
    (tmp_path / "mine_too" / "__init__.py").write_text("K = 1\nfrom mine_too.parts import h\n")

    def after(text: str, of_others: str = "") -> None:
        for name in [name for name in sys.modules if name.startswith("mine_too")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        (tmp_path / "mine_too" / "parts.py").write_text(f"def h(x):\n    return {text}\n{of_others}\n")

    return after


@pytest.mark.parametrize(
    "use",
    [
        "import mine_too\ndef f(task): return mine_too.h(1)",
        "import mine_too.parts\ndef f(task): return mine_too.parts.h(1)",
        "from mine_too import h\ndef f(task): return h(1)",
        "import mine_too as m\ndef g(m): return m.h(1)\ndef f(task): return g(m)",
        "def f(task):\n  import mine_too.parts as p\n  return p.h(1)",
        "def f(task):\n  from mine_too import parts\n  return parts.h(1)",
        "__package__ = 'mine_too'\ndef f(task):\n  from .parts import h\n  return h(1)",
        "__package__ = 'mine_too'\ndef f(task):\n  from . import parts\n  return parts.h(1)",
    ],
)
def test_modules_of_the_user_count_by_what_they_do(package, use):
    versions = []
    for text in ("x + 1", "x + 1", "x - 1"):
        package(text)
        versions.append(version(use))
    assert versions[0] == versions[1] != versions[2]


def test_what_is_not_used_does_not_count(package):
    source = "import mine_too\ndef f(task): return task.h + mine_too.h(1)\n"
    package("x + 1")
    before = version(source)
    package("x + 1", of_others="def g(): return 1")
    assert version(source + "h = 1\ndef g(): return 2") == before


def test_a_function_may_do_without_a_package():
    optional = "def f(task):\n  try: import no_such_package\n  except ImportError: return {}\n"
    assert version(optional.format(1)) == version(optional.format(1)) != version(optional.format(2))


LOCKED = "import threading\nlock = threading.Lock()\ndef f(task):\n  with lock: return 1\n"


def test_what_cannot_be_read_is_named_and_recognised_in_this_process_alone(capsys):
    made = defined(LOCKED)
    here = load_method(made)[1].version
    line = capsys.readouterr().err
    assert line.startswith("f uses <unlocked _thread.lock object")
    assert line.count("\n") == 1
    assert "give a method or network as FILE.py:NAME, a task a checksum" in line
    assert load_method(made)[1].version == here
    assert version(LOCKED) != here
    words = "from test_identity import version, LOCKED; print(version(LOCKED))"
    assert printed_by(words, "1") != printed_by(words, "1")


def test_what_is_nested_too_deeply_is_not_recognised(capsys):
    deep: list = []
    for _ in range(10_000):
        deep = [deep]
    assert len(digest_of(deep)) == 16
    assert "nothing says whether it changes" in capsys.readouterr().err


def test_a_network_is_its_layers_and_fields_also_where_they_are_functions(tmp_path):
    networks = [source_of("layer of a network"), source_of("network within a network")]
    for source in networks:
        codes = [load_network(defined(text, "N")())[1] for text in (source, source, source.replace("relu", "tanh"))]
        assert codes[0] == codes[1] != codes[2]
    (tmp_path / "net.py").write_text("import flax.linen as nn\ndef make(): return nn.Sequential([nn.relu])\n")
    where = f"from bench.algorithms.loading import load_network; print(load_network('{tmp_path}/net.py:make')[1])"
    assert printed_by(where, "1") == printed_by(where, "2")


def test_code_alone_is_not_what_a_function_keeps():
    """Such as the tasks that it has made."""
    kept: dict = {}

    def made(trial, *, k=1):
        return kept.setdefault(trial, trial in {1, 2})

    codes = [digest_of(made, code_only=True)]
    made(1)
    codes.append(digest_of(made, code_only=True))
    assert codes[0] == codes[1]
    edits = [
        "def f(t, *, k=1): return t in {1, 2}",
        "def f(t, *, k=2): return t in {1, 2}",
        "def f(t, *, k=1): return t in {1, 3}",
    ]
    assert len({digest_of(defined(text), code_only=True) for text in edits}) == 3
