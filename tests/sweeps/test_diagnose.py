"""A method whose functions do not give what they must is one line that names the function, before anything is run."""

import jax.numpy as jnp
import pytest
from tiny_sweeps import run, sweep_of

from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.errors import InputError
from bench.privacy.events import nothing_released
from bench.sweeps.spec import Entry, grid


def method(**functions) -> Method:
    """A walk that stands still, with some of its functions replaced."""

    def walk(task, *, step_size: Scalar) -> Algorithm:
        given = {
            "init": lambda key: State((), task.init_params),
            "round": lambda key, state: (state, {}),
            "params": lambda state: state.variables,
        }
        return Algorithm(**given | functions)

    return Method(walk, lambda task, *, delta, **_: nothing_released(delta=delta), version=1)


def stops(*_):
    raise KeyError("w")


WRONG = {
    "`init` of walk returns a tuple: return State": {"init": lambda key: ((), jnp.zeros(2))},
    "`init` of walk fails on synthetic_0.1: KeyError: 'w'": {"init": stops},
    "`round` of walk returns nothing: return State": {"round": lambda key, state: None},
    "`round` of walk returns a State: return State": {"round": lambda key, state: state},
    "`round` of walk returns nothing as its state": {"round": lambda key, state: (None, {})},
    "`round` of walk reports loss as float32[2]": {"round": lambda key, state: (state, {"loss": jnp.zeros(2)})},
    "`round` of walk reports loss as a str": {"round": lambda key, state: (state, {"loss": "b"})},
    "`round` of walk reports loss as complex64": {"round": lambda key, state: (state, {"loss": jnp.complex64(1)})},
    "`round` of walk returns a str in its state": {"round": lambda key, state: (State((), "b"), {})},
    "`round` of walk turns State.variables from float32": {
        "round": lambda key, state: (State((), jnp.zeros((*state.variables.shape, 2))), {})
    },
    "`round` of walk returns a state of another structure": {
        "round": lambda key, state: (State((), (state.variables, 1.0)), {})
    },
    "`round` of walk fails on synthetic_0.1: KeyError: 'w'": {"round": stops},
    "`params` of walk fails on synthetic_0.1: KeyError: 'w'": {"params": stops},
    "`metrics`, with what `params` of walk returns, (7,), fails on synthetic_0.1": {
        "params": lambda state: jnp.zeros(7)
    },
}


@pytest.mark.parametrize(("said", "functions"), WRONG.items(), ids=list(WRONG))
def test_the_function_is_named(said, functions, tmp_path):
    with pytest.raises(InputError) as raised:
        run(sweep_of({"Walk": Entry(method(**functions), grid(step_size=[0.1]))}), tmp_path)
    assert str(raised.value).startswith(said)
    assert "\n" not in str(raised.value)
    assert not list(tmp_path.rglob("part-*"))


@pytest.mark.parametrize("function", ["init", "round", "params"])
def test_a_lack_of_memory_is_no_fault_of_a_function(function, tmp_path):
    def lacks(*_):
        raise MemoryError

    with pytest.raises(InputError, match="needs more memory than is available"):
        run(sweep_of({"Walk": Entry(method(**{function: lacks}), grid(step_size=[0.1]))}), tmp_path)
