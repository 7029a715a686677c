"""Files of outside methods with every kind of mistake."""

from hypothesis import strategies as st

WHOLE = """
import jax, jax.numpy as jnp
from bench import Algorithm, Method, Scalar, State
from bench.privacy.events import full_gaussian, nothing_released
{before}

def walk({arguments}) -> Algorithm:
    {inside}
    def one_round(key, state):
        {moved}
        return {returned}

    return {algorithm}

def releases(task, *, delta, **a):
    return {released}

{method}
"""
GOOD = {
    "before": "",
    "arguments": "task, *, step_size: Scalar, noise_multiplier: Scalar = 1.0, batch_size: int = 2",
    "inside": "",
    "moved": "moved = state.variables + step_size * jax.random.normal(key, task.init_params.shape)",
    "returned": "State((), moved), {}",
    "algorithm": "Algorithm(lambda key: State((), task.init_params), one_round, lambda state: state.variables)",
    "released": '{"paper": full_gaussian(a["noise_multiplier"], delta=delta)}',
    "method": 'walk_method = Method(walk, releases, version=1, space={"step_size": [0.1, 1.0]})',
}
WRONG = {  # one of each kind
    "before": [
        "def (",
        "import nosuch",
        "1 / 0",
        "raise SystemExit(0)",
        "import sys; sys.exit('x')",
        "raise BaseException('odd')",
        "x = " + "(" * 300,
        "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
    ],
    "arguments": [
        "",
        "task, step_size",
        "task, *, step_size",
        "task, *, step_size: Scalar = 'a'",
        "*a, **k",
        "task, *, step_size: 'Nosuch', noise_multiplier: Scalar = 1.0",
        "task, /, *, noise_multiplier: Scalar",
        "task, *, noise_multiplier: list = []",
    ],
    "inside": [
        "return None",
        "raise ValueError('two\\nlines')",
        "x = task.nosuch",
        "exit()",
        "step_size = float(step_size)",
        "yield",
        "if step_size > 0: pass",
        "print('talks')",
    ],
    "moved": [
        "moved = None",
        "moved = state.nosuch",
        "moved = 1j * state.variables",
        "moved = 'a'",
        "moved = jnp.nan * state.variables",
        "moved = state.variables.astype(int)",
        "moved = jnp.zeros((10**9, 10**9))",
        "moved = jnp.zeros(7)",
        "raise SystemExit",
    ],
    "returned": [
        "None",
        "State((), moved)",
        "moved, {}",
        "State((), moved), {'a': 'b'}",
        "State((), moved), {1: 2.0}",
        "State((), moved), {'excess_risk': 0.0}",
        "State((), moved), {'seed': 0.0}",
        "State((), moved), {'loss': jnp.zeros(3)}",
        "State(moved, moved), {}",
        "State((), moved), {}, 1",
        "State((), (moved,)), {}",
        "State((), moved), {'a b|$': 1.0}",
        "State((), moved), {'loss': 1j}",
    ],
    "algorithm": [
        "None",
        "walk",
        "Algorithm(1, 2)",
        "Algorithm(None, None, None)",
        "Algorithm(lambda key: None, one_round, lambda state: state.variables)",
        "Algorithm(lambda: State((), task.init_params), one_round, lambda state: state.variables)",
        "Algorithm(lambda key: State((), task.init_params), one_round, lambda state: None)",
        "Algorithm(lambda key: State((), 'text'), one_round, lambda state: state.variables)",
    ],
    "released": [
        "None",
        "{}",
        "{'paper': 5}",
        "{'other': full_gaussian(1.0, delta=delta)}",
        "1 / 0",
        "full_gaussian(0.0, delta=delta)",
        "full_gaussian(-1.0, delta=delta)",
        "full_gaussian('a', delta=delta)",
        "exit()",
        "full_gaussian(float('nan'), delta=delta)",
        "full_gaussian(1.0, delta=2)",
        "nothing_released(delta=delta)",
        "{1: full_gaussian(1.0, delta=delta)}",
        "full_gaussian(1e-300, delta=delta)",
        "full_gaussian(1.0, delta=delta)._replace(privacy_unit='nosuch')",
        "full_gaussian(1.0, delta=delta)._replace(neighbors='x')",
        "full_gaussian(1.0, delta=delta)._replace(event=None)",
    ],
    "method": [
        "",
        "walk_method = 5",
        "a = b = Method",
        "walk_method = other = Method(walk, releases, version=1)",
        "walk_method = Method(walk, None, version=1)",
        "walk_method = Method('walk', releases, version=1)",
        "walk_method = Method(print, releases, version=1)",
        "walk_method = Method(lambda task: None, releases, version=1)",
        "walk_method = Method(walk, releases, version='one')",
        "walk_method = Method(walk, releases, version=1, noise='nosuch')",
        "walk_method = Method(walk, releases, version=1, check=5)",
        "walk_method = Method(walk, releases, version=1, check=lambda task, **a: 1 / 0)",
        *(
            f"walk_method = Method(walk, releases, version=1, space={space})"
            for space in ("5", "{'nosuch': [1]}", "{'step_size': []}", "{'step_size': ['a']}", "{'step_size': 'ab'}")
        ),
    ],
}


@st.composite
def method_files(draw: st.DrawFn) -> str:
    """The text of a file with a method, with up to two mistakes."""
    text = dict(GOOD)
    for name in draw(st.lists(st.sampled_from(sorted(WRONG)), max_size=2)):
        text[name] = draw(st.sampled_from(WRONG[name]))
    whole = WHOLE
    for name, value in text.items():
        whole = whole.replace("{" + name + "}", value)
    return whole


def targets() -> st.SearchStrategy[str]:
    """What of the file is asked for."""
    return st.sampled_from(["m.py", "m.py:walk_method", "m.py:walk", "m.py:nosuch", "m.py:", "m.py:jnp", "m.py:State"])
