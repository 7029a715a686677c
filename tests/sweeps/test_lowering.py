"""Nothing is for a CPU alone: every sweep's program and every method's round lower for GPUs and TPUs, here.

A machine without either lowers for them and stops before it compiles: a primitive without a rule for the platform, or a
choice by platform without one for it, ends that with an error.
"""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import pytest
from made_sweeps import made
from slow_cases import cases
from stand_in_tasks import stand_in
from toy_problems import VARIANTS, toy_of

from bench.algorithms import ALGORITHMS
from bench.comparison.problems import problem_named
from bench.data.task import Task
from bench.kernels.platforms import made_for
from bench.papers import SWEEPS
from bench.sweeps import engine
from bench.sweeps.spec import Entry, arguments, parameters

PLATFORMS = ("cuda", "tpu")
FAST = {"ppsgd_synthetic", "ppsgd_digits", "p2p_private", "pfl_one_client"}  # one of a kind


def lower(function, *args, platforms=PLATFORMS) -> None:
    """Trace the function for the first platform, and lower it to one program for all, which needs the rules of each."""
    with made_for(platforms[0]):
        jax.jit(function).trace(*args).lower(lowering_platforms=platforms)


# ---- What the check can see ----


def for_a_cpu_alone(x):
    return jax.lax.platform_dependent(x, cpu=jnp.sin)


def without_a_tpu(x):
    return jax.lax.platform_dependent(x, cpu=jnp.sin, cuda=jnp.sin)


def on_the_host(x):
    return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((3,), jnp.float32), x)


def test_a_program_that_needs_a_cpu_is_noticed():
    lower(jnp.sin, jnp.ones(3))
    with pytest.raises(NotImplementedError, match="cuda"):
        lower(for_a_cpu_alone, jnp.ones(3))
    with pytest.raises(NotImplementedError, match="tpu"):
        lower(without_a_tpu, jnp.ones(3))
    with pytest.raises(NotImplementedError, match="callback"):
        lower(on_the_host, jnp.ones(3))


# ---- Methods ----


@pytest.mark.parametrize("name", cases(ALGORITHMS, slow=VARIANTS))
def test_every_method_lowers(name):
    toy, method = toy_of(name), ALGORITHMS[name]
    args = arguments(method, toy.args | dict.fromkeys(private(method), 1.0))
    traced = parameters(method)[1]

    def rounds(task, hypers, key):
        algorithm = method.make(task, **{k: v for k, v in args.items() if k not in traced}, **hypers)
        state, info = algorithm.round(key, algorithm.init(key))
        return algorithm.params(state), info

    lower(rounds, toy.task(), {name: jnp.float32(args[name]) for name in traced}, jax.random.key(0))


def private(method) -> set[str]:
    """Arguments without which a method adds no noise."""
    return {method.noise, "clip_norm"} & parameters(method)[1]


# ---- Sweeps ----


def programs(name: str) -> set[tuple[str, object, tuple]]:
    """(task, method's factory, static arguments) of every program of the sweep at scale smoke."""
    sweep = made(name, "smoke")
    return {one for entry in sweep.entries.values() for one in _of_entry(entry, next(iter(sweep.tasks)))}


def _of_entry(entry: Entry, first: str) -> set[tuple[str, object, tuple]]:
    traced = parameters(entry.method)[1]
    found = set()
    for row in entry.points.to_dict("records"):
        args = arguments(entry.method, {str(column): value for column, value in row.items()})
        static = tuple(sorted((k, v) for k, v in args.items() if k not in traced))
        found.add((row.get("task", first), entry.method.make, static))
    return found


def lower_program(task: Task, make, static, platforms=PLATFORMS) -> None:
    """Start and rounds of two points and one seed, as the engine compiles them: two rounds at a time."""
    program = engine.Program(make, static, num_rounds=4)
    names = {name for method in ALGORITHMS.values() if method.make is make for name in parameters(method)[1]}
    key = jax.eval_shape(engine.run_keys, *2 * [jax.ShapeDtypeStruct((1,), jnp.int32)])
    hypers = {name: jax.ShapeDtypeStruct((2,), jnp.float32) for name in names}

    def run(task, key, hypers, first_round, begin, end):
        state, first = engine.start.__wrapped__(task, key, hypers, program=program)
        shapes = engine.observation_shapes(program, task, key, hypers, state)
        info = {name: jnp.zeros(of.shape, of.dtype) for name, of in shapes.items()}
        rounds = engine.advance.__wrapped__
        return first, rounds(task, key, hypers, state, first_round, info, begin, end, program=program, stride=2)

    lower(run, task, key, hypers, *3 * [jax.ShapeDtypeStruct((), jnp.int32)], platforms=platforms)


@cache
def done() -> set:
    """Programs that were lowered already, for another sweep or task."""
    return set()


@pytest.mark.parametrize("name", cases(SWEEPS, slow={*SWEEPS} - {*FAST}))
def test_every_sweep_lowers(name, monkeypatch):
    makers, tasks = made(name, "smoke").tasks, {}
    for task_name, make, static in sorted(programs(name), key=repr):
        if task_name not in tasks:
            with monkeypatch.context() as patch:
                tasks[task_name] = stand_in(makers[task_name], patch)
        task = tasks[task_name]
        shapes = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(task)]
        program = str(shapes), jax.tree.structure(replace(task, name="")), make, static
        if program not in done():
            done().add(program)
            lower_program(task, make, static)


# ---- Comparisons ----

NETWORK = "digits_cnn"  # whose model is large enough that a CPU computes one user after the other


@pytest.mark.slow
@pytest.mark.parametrize("label", problem_named(NETWORK).baselines or {})
def test_every_baseline_of_a_network_lowers_here_and_elsewhere(label, monkeypatch):
    """Users of a network with many parameters are computed in turn on a CPU, for several points at a time."""
    problem = problem_named(NETWORK)
    variant = (problem.baselines or {})[label]
    with monkeypatch.context() as patch:
        task = stand_in(problem.test, patch)
    known, traced = parameters(variant.method)
    given = (
        dict.fromkeys(traced, 0.5) | dict(problem.defaults) | {"num_sampled": 4, "batch_size": 3, "planned_rounds": 4}
    )
    args = arguments(variant.method, {k: v for k, v in (given | dict(variant.args)).items() if k in known})
    static = tuple(sorted((k, v) for k, v in args.items() if k not in traced))
    for platform in ("cpu", "cuda"):
        lower_program(task, variant.method.make, static, (platform,))
