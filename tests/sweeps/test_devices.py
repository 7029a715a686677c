"""Users over devices: the rows of one device, noise added once, one exchange a round, and a share of the memory.

They need eight devices, which a CPU has only where JAX is told before it starts, so one test runs the others in a
process of its own. To run them directly: XLA_FLAGS=--xla_force_host_platform_device_count=8 python -m pytest THIS_FILE
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from grouped_examples import saturated
from slow_cases import cases
from tiny_silos import task_of as silos_of
from tiny_sweeps import sweep_of, table

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.data.task import Head, Task
from bench.data.tasks.quadratic import half_square
from bench.errors import InputError
from bench.execution import snapshots
from bench.execution.pool import Pool
from bench.execution.run import run_sweep
from bench.kernels.division import Division
from bench.kernels.platforms import made_for
from bench.models.additive import squared_loss
from bench.models.parts import joined
from bench.sweeps import devices, engine
from bench.sweeps.spec import Entry, arguments, grid, parameters

DEVICES = 8
FORCED = f"--xla_force_host_platform_device_count={DEVICES}"
USERS, EACH, FEATURES = 37, 6, 3  # the last of 8 devices has 2 users, and 3 rows without one
on_eight = pytest.mark.skipif(jax.device_count() < DEVICES, reason=f"needs {DEVICES} devices: {FORCED}")


@pytest.mark.skipif(jax.device_count() >= DEVICES, reason="the others run in this process")
@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_on_eight_devices(slow):
    words = ["-m", "pytest", __file__, "-x", "-p", "no:cacheprovider", *(["--slow", "-m", "slow"] if slow else [])]
    flags = os.environ | {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {FORCED}"}
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, *words], env=flags, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert re.search(r"[1-9]\d* passed", done.stdout)


# ---- The rows of one device ----


def size_of(params, task: Task) -> dict:
    """Numbers in which every parameter counts: of the model, of all users, and of the user with the largest."""
    w, own = getattr(params, "w", params), getattr(params, "theta", None)
    own = getattr(params, "coefficients", None) if own is None else own
    out = {"w": sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(w))}
    if own is not None:
        (own,) = jax.tree.leaves(own)
        of_user = jnp.sum(jnp.square(own).reshape(task.num_clients, -1), axis=1)
        out |= {"mean": jnp.mean(of_user), "most": jnp.max(of_user)}
    return out


@cache
def users() -> Task:
    """Least squares of users with 2 to 6 examples."""
    rng = np.random.default_rng(0)
    inputs, targets = rng.standard_normal((USERS, EACH, FEATURES)), rng.standard_normal((USERS, EACH))
    return Task(
        init_params=jnp.zeros(FEATURES),
        num_examples=jnp.asarray(2 + np.arange(USERS) % 5, jnp.int32),
        train=(jnp.asarray(inputs, jnp.float32), jnp.asarray(targets, jnp.float32)),
        loss=squared_loss,
        metrics=size_of,
        name="users",
    )


@cache
def dual_users() -> Task:
    inputs, targets = users().train
    gram = jnp.einsum("nid,njd->nij", inputs, inputs)
    return replace(users(), init_params=jnp.zeros((1, FEATURES)), train=(inputs, targets[..., None]), gram=gram)


@cache
def headed() -> Task:
    """The same users with a factor of their own on a common direction."""

    def loss(shared, local, example):
        model, (x, y) = joined(shared, local), example
        return half_square(model["head"] * (model["body"] @ x), y)

    start = {"body": jnp.linspace(0.1, 1.0, FEATURES), "head": jnp.asarray(0.9)}
    return replace(users(), init_params=start, loss=loss, head=Head(("head",)), name="headed")


@cache
def silos() -> Task:
    """Least squares of 11 silos, so that two of eight devices have none."""
    rng = np.random.default_rng(1)
    inputs, targets = rng.standard_normal((11, 8, FEATURES)), rng.standard_normal((11, 8))
    return replace(silos_of(inputs, targets, half_square, squared_loss), metrics=size_of)


@cache
def unequal_silos() -> Task:
    return replace(silos(), num_examples=jnp.asarray(3 + np.arange(11) % 6, jnp.int32))


@cache
def networks() -> Task:
    return replace(saturated(), metrics=lambda params, task: size_of(getattr(params, "theta", params), task))


PRIVATE = {"clip_norm": 1.0, "noise_multiplier": 0.5}
AVERAGED = PRIVATE | {"step_size": 0.2, "server_step_size": 0.3, "batch_size": 3, "num_sampled": 17}
PERSONAL = PRIVATE | {"step_size": 0.2, "personalization": 0.7, "batch_size": 3, "num_sampled": 17}
SILOS = PRIVATE | {"step_size": 0.2, "num_sampled": 5, "phase_rounds": 3, "share": 1.0}
EPOCHS = {"total_epochs": 3, "batch_size": 2, "step_size": 0.5, "momentum": 0.5}
ALL = {"sampler": "all", "num_sampled": USERS}
CASES = {  # one of each sampler, and of each way of dividing users and silos
    "all": ("dp_fedavg", users, AVERAGED | ALL | {"batch_size": EACH}),
    "fixed": ("dp_fedavg", users, AVERAGED | {"num_steps": 2}),
    "poisson": ("ppsgd", users, PERSONAL | {"sampler": "poisson", "reduce": "sum", "average": True}),
    "cyclic": ("ppsgd", users, PERSONAL | {"sampler": "cyclic", "noise": "banded_sqrt", "clipping": "adaptive"}),
    "queue": ("ppsgd", dual_users, PERSONAL | {"sampler": "queue", "local": "dual", "batch_size": 2, "num_epochs": 2}),
    "silos": ("mr_mtl", unequal_silos, PRIVATE | {"batch_size": 2, "step_size": 0.2, "regularization": 0.3}),
    "networks": ("dpsgd_fedavg", networks, PRIVATE | EPOCHS | {"num_epochs": 1.0}),
}
SLOW = {
    "all, of whose examples some": ("ppsgd", users, PERSONAL | ALL),
    "ditto": ("ditto", users, PERSONAL | {"local_step_size": 0.1, "regularization": 0.3}),
    "fine-tuning": ("fine_tuning", dual_users, AVERAGED | {"local_step_size": 0.1, "own_steps": 5}),
    "scaffold": ("dp_scaffold", silos, PRIVATE | {"num_sampled": 5, "batch_size": 4, "step_size": 0.2, "num_steps": 2}),
    "phases": ("minibatch_sgd", silos, SILOS | {"sampler": "fixed", "batch_size": 3}),
    "server's optimiser": (
        "dp_fedopt",
        users,
        AVERAGED | {"optimiser": "adam", "beta1": 0.5, "beta2": 0.9, "tau": 0.1},
    ),
    "proximal": ("dp_fedprox", users, AVERAGED | {"proximal": 0.5, "num_steps": 2}),
    "sharpness": ("dp_fedsam", users, AVERAGED | {"sharpness": 0.3, "num_steps": 2, "kept": 0.5}),
    "bound": ("dp_fedblur", dual_users, AVERAGED | {"bound": 0.5, "num_steps": 3}),
    "random numbers": ("dp_fedsmp", users, AVERAGED | {"kept": 0.5}),
    "head first": ("dp_fedrep", headed, AVERAGED | {"local_step_size": 0.2, "num_steps": 2, "own_steps": 2}),
    "smoothing of the sum": ("dp_fedls", users, AVERAGED | {"smoothing_strength": 0.5}),
    "in turn by chance": (
        "dp_fedavg",
        users,
        AVERAGED | {"num_sampled": 7, "sampler": "cyclic_poisson", "noise": "banded_sqrt", "num_bands": 3},
    ),
    "in bins": ("ppsgd", users, PERSONAL | {"num_sampled": 7, "sampler": "balls_in_bins"}),
    "in bins drawn anew": ("ppsgd", users, PERSONAL | {"num_sampled": 7, "sampler": "random_allocation"}),
    "networks, a server's optimiser": (
        "dpsgd_fedopt",
        networks,
        PRIVATE
        | EPOCHS
        | {"num_epochs": 1.0, "optimiser": "adam", "server_step_size": 0.1, "beta1": 0.5, "beta2": 0.8, "tau": 0.1},
    ),
    "networks, AdamW": (
        "dpsgd_fedadamw",
        networks,
        PRIVATE | EPOCHS | {"num_epochs": 1.0, "step_size": 0.05, "beta1": 0.5, "beta2": 0.8, "tau": 0.1, "decay": 0.1},
    ),
    "networks, control variates": ("dpsgd_scaffold", networks, PRIVATE | EPOCHS | {"num_epochs": 1.0}),
    "networks, by layer": ("dpsgd_fedavg", networks, PRIVATE | EPOCHS | {"num_epochs": 1.0, "clipping": "per_layer"}),
    "networks, proximal": ("dpsgd_fedprox", networks, PRIVATE | EPOCHS | {"num_epochs": 3.0, "proximal": 0.5}),
    "networks, own models": ("dpsgd_mrmtl", networks, PRIVATE | EPOCHS | {"num_epochs": 1.0, "regularization": 0.5}),
    "alone": ("local_learning", users, {"batch_size": 3, "step_size": 0.2}),
    "silos, shuffled": (
        "mr_mtl",
        unequal_silos,
        PRIVATE | {"batch_size": 2, "step_size": 0.2, "regularization": 0.0} | {"sampler": "shuffled", "start": "mean"},
    ),
    "poisson of silos": ("subgradient", silos, SILOS | {"sampler": "poisson", "batch_size": 3}),
    "smoothed": ("accelerated", silos, SILOS | {"smoothing": "convolution", "smoothing_radius": 0.1}),
    "once": ("localized", silos, SILOS | {"sampler": "once", "num_phases": 1, "regularization": 0.5}),
    "networks alone": ("local_networks", networks, EPOCHS),
}


@partial(jax.jit, static_argnames="program")
def _trained(task, keys, hypers, *, program):
    """The state after the rounds, the metrics at the start, and those at the end with the info."""
    state, before = engine.start.__wrapped__(task, keys, hypers, program=program)
    state, _, after = engine.advance.__wrapped__(task, keys, hypers, state, jnp.int32(0), program=program)
    return state, before, after


def _trained_in_steps(task, keys, hypers, *, program):
    """The same by the two programs of the engine, which another test needs as well."""
    state, before = engine.start(task, keys, hypers, program=program)
    state, _, after = engine.advance(task, keys, hypers, state, jnp.int32(0), program=program)
    return state, before, after


def prepared(make, task: Task, args: dict, *, on: int, rounds: int = 3, seeds: int = 1, points: int = 2):
    """The program, the task, the keys and the points, which differ in all that they may, on so many devices."""
    method = ALGORITHMS[make]
    keywords, names = parameters(method)
    args = arguments(method, {name: value for name, value in args.items() if name in keywords})
    method.fits(task, **args)
    task = devices.lay_out(task, on) if on > 1 else task
    static = tuple(sorted((name, value) for name, value in args.items() if name not in names))
    grown = 1 + 0.2 * np.arange(points)
    whole = {"num_epochs"}  # of which no part can be had
    hypers = {name: jnp.asarray(args[name] * (grown**0 if name in whole else grown), jnp.float32) for name in names}
    keys = engine.run_keys(np.zeros(seeds, np.int32), np.arange(seeds, dtype=np.int32))
    return engine.Program(method.make, static, rounds), task, *devices.on_all((keys, hypers), task)


def trained(*case, by=_trained, **options):
    """What `_trained` returns for what `prepared` prepares."""
    program, task, keys, hypers = prepared(*case, **options)
    return by(task, keys, hypers, program=program)


def assert_close(ours, theirs):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=3e-5, atol=1e-6), ours, theirs)


def check_case(make, task, args, on=DEVICES, by=_trained):
    alone, many = trained(make, task(), args, on=1)[1:], trained(make, task(), args, on=on, by=by)[1:]
    assert_close(many, alone)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(alone))
    assert (
        np.ptp(sum(alone[1][name] for name in ("w", "mean") if name in alone[1])) > 0
    )  # seeds and points differ, so it is no comparison of zeros


@on_eight
@pytest.mark.parametrize("case", cases(CASES, slow={"fixed"}))  # the sweep below draws a fixed number as well
def test_eight_devices_give_the_rows_of_one(case):
    by = _trained_in_steps if case == "cyclic" else _trained
    check_case(*CASES[case], on=2 if case == "networks" else DEVICES, by=by)


@on_eight
@pytest.mark.slow
@pytest.mark.parametrize("case", SLOW)
def test_eight_devices_give_the_rows_of_one_slowly(case):
    check_case(*SLOW[case], on=2 if case == "networks alone" else DEVICES)


@on_eight
def test_a_state_that_was_kept_goes_back_to_its_devices():
    """As in a snapshot, of what users keep on their own device and of what all have; training goes on with its bits.

    The programs are those of the case above.
    """
    make, task, args = CASES["cyclic"]
    program, task, keys, hypers = prepared(make, task(), args, on=DEVICES)
    begun, _ = engine.start(task, keys, hypers, program=program)
    state, *_ = engine.advance(task, keys, hypers, begun, jnp.int32(0), program=program)
    kept = jax.tree.map(snapshots._plain, state)
    begun, _ = engine.start(task, keys, hypers, program=program)
    back = jax.tree.map(snapshots._placed, kept, begun)
    jax.tree.map(np.testing.assert_array_equal, back, state)
    assert [leaf.sharding for leaf in jax.tree.leaves(back)] == [leaf.sharding for leaf in jax.tree.leaves(state)]
    one, other = (engine.advance(task, keys, hypers, x, jnp.int32(3), program=program)[2] for x in (back, state))
    jax.tree.map(np.testing.assert_array_equal, one, other)


def test_every_method_that_divides_is_compared():
    assert {make for make, _, _ in (CASES | SLOW).values()} == {n for n, method in ALGORITHMS.items() if method.divides}


# ---- Noise ----


def nothing(w, theta, example):
    """A loss without a gradient, so that a round moves w by noise alone."""
    return 0.0 * jnp.sum(w) * jnp.sum(theta)


NOISY = {"dp_fedavg": (1, 2, 4, 8), "minibatch_sgd": (1, 8)}  # method -> numbers of devices


@on_eight
@pytest.mark.parametrize(
    ("make", "on"),
    [
        pytest.param(make, on, marks=[pytest.mark.slow] if on < DEVICES else [])
        for make, numbers in NOISY.items()
        for on in numbers
    ],
)
def test_noise_is_added_once_on_any_number_of_devices(make, on):
    """Its variance is that of the method, to 5 %; drawn before the sum, that of users would be `on` times as large."""
    task = replace(silos(), init_params=jnp.zeros(20_000), train=(jnp.zeros((11, 8, 1)), jnp.zeros((11, 8))))
    task = replace(task, loss=nothing, linear=None, metrics=lambda w, task: {"second": jnp.mean(jnp.square(w))})
    args = PRIVATE | {"step_size": 1.0, "server_step_size": 1.0, "batch_size": 8, "sampler": "all"}
    args |= {"num_sampled": 11, "phase_rounds": 1}
    # Of users one draw on the sum, and of silos one each on a mean over their 8 records.
    std = {"dp_fedavg": 0.5 / 11, "minibatch_sgd": 0.5 / 8 / np.sqrt(11)}[make]
    second = float(trained(make, task, args, on=on, rounds=1, points=1)[2]["second"][0, 0])
    np.testing.assert_allclose(second, std**2, rtol=0.05)


@on_eight
def test_all_devices_have_the_same_model_to_the_last_bit():
    make, task, args = CASES["all"]
    w = trained(make, task(), args, on=DEVICES)[0].variables["w"]
    assert len(w.addressable_shards) == DEVICES
    assert {np.asarray(shard.data).tobytes() for shard in w.addressable_shards} == {np.asarray(w).tobytes()}


# ---- What is exchanged, and what is held ----

COLLECTIVE = re.compile(r"= (\S+?)(?:\{\S*\})? (all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)\(")


def compiled(make: str, num_users: int, args: dict, *, on: int = DEVICES, examples: int = EACH):
    """The rounds of a method, compiled for users that are never made."""

    def none(params, task):
        return {"w": jnp.sum(getattr(params, "w", params))}

    small = replace(users(), metrics=none)
    task = devices.lay_out(small, on) if on > 1 else small
    rows = -(-num_users // on) * on

    def of_many(leaf):
        by_client = on == 1 or leaf.sharding.spec == devices.HELD
        shape = leaf.shape
        if by_client and leaf.ndim and leaf.shape[0] in (USERS, task.num_held):
            shape = (rows, *(examples if size == EACH else size for size in leaf.shape[1:]))
        return jax.ShapeDtypeStruct(shape, leaf.dtype, sharding=leaf.sharding)

    task = jax.tree.map(of_many, task)
    task = replace(task, division=Division(num_users, on) if on > 1 else None)
    method = ALGORITHMS[make]
    names = parameters(method)[1]
    args = arguments(method, {name: value for name, value in args.items() if name in parameters(method)[0]})
    static = tuple(sorted((name, value) for name, value in args.items() if name not in names))
    program = engine.Program(method.make, static, 2)
    return engine._step(program, task, *engine.shapes_of(program, task, 1, names, 1)).compiled


@on_eight
@pytest.mark.parametrize(
    ("make", "args"), [("dp_fedavg", AVERAGED), ("ppsgd", PERSONAL | {"sampler": "poisson"})], ids=["fixed", "poisson"]
)
def test_a_round_exchanges_one_sum_of_the_models_size(make, args):
    """And nothing that grows with the users, of whom there are 2000."""
    exchanged = COLLECTIVE.findall(compiled(make, 2000, args | {"num_sampled": 1000}).as_text())
    assert [kind for _, kind in exchanged] == ["all-reduce"]
    numbers = np.prod([int(size) for size in re.findall(r"\d+", exchanged[0][0].partition("[")[2])])
    assert FEATURES + 1 <= numbers <= FEATURES + 4  # the model, and counts


@on_eight
@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["fixed", "poisson", "cyclic"])
def test_a_million_users_with_models_of_their_own_need_an_eighth_on_each_of_eight_devices(sampler):
    """By the compiler's figures per device: what users hold is divided. Temporary arrays, a part of them for
    the draw among all users, depend on the processor, and are smaller than on one device."""

    def needed(on):
        args = PERSONAL | {"sampler": sampler, "num_sampled": 100_000, "batch_size": EACH}
        memory = compiled("ppsgd", 1_000_000, args, on=on).memory_analysis()
        held = memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
        return held, memory.temp_size_in_bytes

    (held, temporary), (held_alone, temporary_alone) = needed(DEVICES), needed(1)
    assert held <= 1.05 * held_alone / DEVICES  # what is shared counts on each
    assert temporary <= 0.6 * temporary_alone


@on_eight
@pytest.mark.parametrize("case", ["fixed", "networks"])
def test_programs_for_several_devices_lower_for_accelerators(case):
    make, task, args = CASES[case]
    program, laid, keys, hypers = prepared(make, task(), args, on=2)
    for platform in ("cuda", "tpu"):
        with made_for(platform):
            traced = _trained.trace(laid, keys, hypers, program=program)
            assert "all_reduce" in traced.lower(lowering_platforms=(platform,)).as_text()


# ---- Whole sweeps ----


def stored(trial: int) -> Task:
    return users()


def averaging_sweep(**fields):
    points = grid(**(AVERAGED | {"step_size": [0.1, 0.2]}))
    return sweep_of({"FedAvg": Entry(ALGORITHMS["dp_fedavg"], points)}, tasks={"users": stored}, **fields)


@on_eight
def test_a_sweep_over_devices_is_that_of_one_device_and_continues_it(tmp_path):
    """The second seed is run on one device and on all, after the first, by programs for one seed each."""
    run_sweep(averaging_sweep(seeds=1), scale="smoke", out=tmp_path / "both")
    shutil.copytree(tmp_path / "both", tmp_path / "one")
    run_sweep(averaging_sweep(), scale="smoke", out=tmp_path / "one")
    with Pool(devices="auto") as pool:
        run_sweep(averaging_sweep(), scale="smoke", out=tmp_path / "both", pool=pool)
    one, both = (table(tmp_path / folder / "smoke" / "tiny") for folder in ("one", "both"))
    columns = ["point", "trial", "seed", "rounds", "w", "clipped", "epsilon"]
    one, both = (rows.loc[rows["seed"] == 1, columns].reset_index(drop=True) for rows in (one, both))
    assert len(one)
    pd.testing.assert_frame_equal(one, both, rtol=3e-5)


# ---- What is refused ----


def undeclared(task: Task, *, step_size: Scalar) -> Algorithm:
    return Algorithm(lambda key: State(), lambda key, state: (state, {}), lambda state: task.init_params)


@pytest.mark.parametrize(
    ("method", "task", "on", "named"),
    [
        (Method(undeclared, lambda task, **_: {}, version=1), users, 2, "undeclared cannot divide"),
        (ALGORITHMS["admm"], users, 2, "admm cannot divide"),
        (ALGORITHMS["dp_fedavg"], lambda: replace(users(), train=None, name="drawn"), 2, "drawn is a stream"),
        (ALGORITHMS["dp_fedavg"], users, 64, "37 clients for 64 devices"),
    ],
)
def test_what_cannot_be_divided_is_refused_in_a_line(method, task, on, named):
    with pytest.raises(InputError, match=named) as refusal:
        devices.check(method, task(), on)
    assert "--devices" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_another_generator_of_random_numbers_is_refused():
    with jax.default_prng_impl("rbg"), pytest.raises(InputError, match="jax_default_prng_impl"):
        devices.check(ALGORITHMS["dp_fedavg"], users(), 2)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"devices": "all"}, "--devices is all"),
        ({"devices": 0}, "--devices is 0"),
        ({"devices": 9999}, "JAX has"),
        ({"devices": 2, "workers": 2}, "one or the other"),
        ({"devices": 2, "executor": "ray"}, "one or the other"),
    ],
)
def test_numbers_of_devices_that_cannot_be_had_are_refused(options, named):
    jax.devices()  # from here on there are as many as there are
    with pytest.raises(InputError, match=named):
        Pool(**options)
