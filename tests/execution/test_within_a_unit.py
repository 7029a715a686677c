"""A unit reports within itself: rounds between two evaluations are divided, by time, and this changes no number."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_sweeps import ROUNDS, STATIC, TASK, hypers, resolved, walks

from bench.algorithms.base import Algorithm, State
from bench.algorithms.ppsgd import ppsgd
from bench.execution.run import use_compilation_cache
from bench.execution.unit import Trainer, Unit
from bench.sweeps import engine
from bench.sweeps.rows import Origin

KEYS = engine.run_keys(np.zeros(2, np.int32), np.arange(2, dtype=np.int32))


@pytest.fixture(scope="module", autouse=True)
def _programs_kept():
    use_compilation_cache()


def noisy(task, *, step_size) -> Algorithm:
    """A random walk with an info, which compiles in a moment."""

    def one_round(key, state):
        moved = state.variables + step_size * jax.random.normal(key, task.init_params.shape)
        return State((), moved), {"length": jnp.linalg.norm(moved)}

    return Algorithm(lambda key: State((), task.init_params), one_round, lambda state: state.variables)


def run(monkeypatch, *, stride: int, part_s: float, make=noisy, static=(), columns=None) -> tuple[dict, list[int]]:
    """What the engine measures in twice ROUNDS rounds of a new program, and the numbers of rounds that it reports."""
    monkeypatch.setattr(engine, "CALL_S", part_s)
    monkeypatch.setattr(engine, "stride_of", lambda num_rounds: stride)
    program, columns = engine.Program(make, static, ROUNDS), columns or {"step_size": np.array([0.1, 0.2, 0.3])}
    num_points = len(columns["step_size"])
    step = engine.fitted_chunk(program, TASK(0), 2, columns, num_points, budget=1e9).step
    told: list[int] = []
    options = {"num_evals": 2, "chunk": num_points, "on_block": lambda done, *_: told.append(done)}
    found = engine.run_chunk(program, step, TASK(0), KEYS, columns, **options)
    return found, told


@pytest.mark.parametrize("private", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_rounds_in_parts_are_those_of_one_scan_to_the_last_bit(monkeypatch, private):
    """A stride of all rounds is one `lax.scan`, as before there were parts; that of accelerators lies in between."""
    of = {"make": ppsgd, "static": STATIC, "columns": hypers(clip_norm=1.0)} if private else {}
    whole, told = run(monkeypatch, stride=ROUNDS, part_s=1.0, **of)
    assert told == [0, ROUNDS, 2 * ROUNDS]
    one_by_one, told = run(monkeypatch, stride=1, part_s=0.0, **of)
    assert told == list(range(2 * ROUNDS + 1))
    in_fives, told = run(monkeypatch, stride=5, part_s=0.0, **of)
    assert told == list(range(0, 2 * ROUNDS + 1, 5))
    assert {*whole} == {*one_by_one} == {*in_fives} >= {"excess_risk", "clipped" if private else "length"}
    for name in whole:
        np.testing.assert_array_equal(whole[name], one_by_one[name], err_msg=name)
        np.testing.assert_array_equal(whole[name], in_fives[name], err_msg=name)


def test_fast_rounds_are_divided_only_until_their_speed_is_known(monkeypatch):
    """After the first round at most GROWTH times as many, then all up to the evaluation; from then on one call."""
    assert run(monkeypatch, stride=1, part_s=1e9)[1] == [0, 1, 1 + engine.GROWTH, ROUNDS, 2 * ROUNDS]


def test_parts_take_about_as_long_as_asked_for():
    """Of a program whose rounds take 0.25 s each by a clock of our own."""
    calls = []
    clock = iter(np.cumsum([0.0, *[0.25, 0.0] * 1000]))

    def compiled(task, keys, hypers, state, first_round, info, begin, end):
        calls.append(int(end - begin))
        for _ in range(2 * (int(end - begin) - 1)):
            next(clock)
        return state, info, {}

    step = engine.Step(compiled, 40, 1, {})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine.time, "monotonic", lambda: next(clock))
        patched.setattr(engine, "CALL_S", 2.0)
        step(None, None, None, None, 0)
    assert calls[0] == 1
    assert set(calls[1:-1]) == {8}
    assert sum(calls) == 40


@pytest.mark.parametrize("part_s", [0.0, 1e9])
def test_a_worker_reports_all_rounds(monkeypatch, part_s):
    monkeypatch.setattr(engine, "CALL_S", part_s)
    sweep = walks(eval_every=None)
    ((_, points),) = resolved(sweep).items()
    trainer, steps = Trainer(1e9), []
    unit = Unit(Origin("tiny", "smoke", 1e-4, "0"), TASK(0), points, ((0, 0), (1, 1)))
    trainer.run(unit, steps.append)
    assert "2 seeds in chunks of" in steps.pop(0).message
    assert sum(step.units for step in steps) == len(points) * 2 * ROUNDS
    assert all(step.seconds > 0 for step in steps)
    assert len(steps) == (ROUNDS if part_s == 0.0 else 3)


def test_the_metrics_of_unfinished_rounds_are_no_numbers():
    program, columns = engine.Program(noisy, (), 4), {"step_size": jnp.float32([0.1, 0.2])}
    state, _ = engine.start(TASK(0), KEYS, columns, program=program)
    part = partial(engine.advance, TASK(0), KEYS, columns, program=program, stride=1)
    state, info, metrics = part(state, 0, {"length": jnp.zeros((4, 2, 2))}, 0, 3)
    assert all(np.isnan(leaf).all() for leaf in jax.tree.leaves(metrics))
    _, _, metrics = part(state, 0, info, 3, 4)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(metrics))
