"""Bhaskar et al. 2025: steps of DP-SGD with the kernel of this project, with plain vmap(grad), and with Opacus where it
is installed.

A step computes the gradients of the examples, clips and sums them, adds noise, and takes one step of SGD. All are timed
in turn within the same minutes, because others use the machine too.
"""

import importlib.metadata
import importlib.util
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.kernels import gradient
from bench.kernels.per_example import clipped_gradient_of_rows, cross_entropy
from bench.models.networks import CLASSES, network
from bench.perf.measure import Call, Measurement, Workload, workload_of_call

BATCH = 256
POOL = 6000  # examples of a client
# Data set, model, and shape and type of its inputs.
CNN = ("mnist", "papernot_cnn", (28, 28, 1), jnp.float32)
SCATTERING = ("mnist", "scatter_linear", (7, 7, 81), jnp.float16)
COLOUR = {
    "CNN": ("cifar10", "cnn_tempered", (32, 32, 3), jnp.float32),
    "scattering + CNN": ("cifar10", "scatter_cnn", (8, 8, 243), jnp.float16),
}
STEP_SIZE, CLIP_NORM, NOISE_MULTIPLIER = 0.3, 1.0, 1.0
REPEATS, REPEAT_SECONDS = 15, 0.3


class StepTimes(NamedTuple):
    """The times of one step: seconds of the fastest and the median repetition, and the least CPU seconds."""

    best: float
    median: float
    cores: float


def _in_turn(steps: dict[str, Callable[[], object]]) -> dict[str, StepTimes]:
    """Time each step in turn, REPEATS times, each time for about REPEAT_SECONDS."""
    times_of = {name: [] for name in steps}
    calls = {}
    for name, step in steps.items():
        step()
        began = time.perf_counter()
        step()
        calls[name] = max(1, round(REPEAT_SECONDS / (time.perf_counter() - began)))
    for _ in range(REPEATS):
        for name, step in steps.items():
            began, busy = time.perf_counter(), time.process_time()
            for _ in range(calls[name]):
                step()
            elapsed = time.perf_counter() - began, time.process_time() - busy
            times_of[name].append(np.divide(elapsed, calls[name]))
    return {
        name: StepTimes(np.min(wall), np.median(wall), np.min(cores))
        for name, times in times_of.items()
        for wall, cores in [np.transpose(times)]
    }


# ---- The project's kernel, and plain JAX ----


def _plain(module, params, pool, rows):
    """Form every example's gradient, clip it, and return the sum."""

    def loss(params, x, y):
        logits = module.apply({"params": params}, x[None].astype(jnp.float32))
        return cross_entropy(logits, y[None])[0]

    def clipped(row):
        return gradient.clip(jax.grad(loss)(params, *(leaf[row] for leaf in pool)), CLIP_NORM)

    return jax.tree.map(lambda leaf: jnp.sum(leaf, 0), jax.vmap(clipped)(rows))


def _kernel(module, params, pool, rows):
    return clipped_gradient_of_rows(module, params, pool, rows, rows.shape[0], CLIP_NORM)[0]


def _step(clipped_sum, module, key, params, pool, rows):
    """Return the parameters after a step."""
    total = clipped_sum(module, params, pool, rows)
    noise = gradient.gaussian_like(key, params)
    scale = STEP_SIZE / len(rows)
    return jax.tree.map(lambda p, g, n: p - scale * (g + NOISE_MULTIPLIER * CLIP_NORM * n), params, total, noise)


def _program(clipped_sum, module, params, pool, num_rows: int):
    """Return the compiled step (key, params, pool, rows) -> params."""
    rows = jax.ShapeDtypeStruct((num_rows,), jnp.int32)
    return jax.jit(partial(_step, clipped_sum, module)).lower(jax.random.key(0), params, pool, rows).compile()


def _client(dataset: str, model: str, shape: tuple[int, ...], dtype):
    """Return a network, its initial parameters, and random examples of a client."""
    module = network(dataset, model).module
    rng = np.random.default_rng(0)
    inputs = jnp.asarray(rng.standard_normal((POOL, *shape), np.float32), dtype)
    labels = jnp.asarray(rng.integers(CLASSES, size=POOL), jnp.int32)
    init = jax.jit(lambda key: module.init(key, jnp.zeros((1, *shape)))["params"])
    return module, init(jax.random.key(0)), (inputs, labels)


def _jax_steps(module, params, pool) -> tuple[dict[str, Callable], dict[str, float]]:
    """Return steps with a batch of BATCH by name, and the memory of each in MB by name and batch."""
    rows = jnp.asarray(np.sort(np.random.default_rng(1).choice(POOL, BATCH, replace=False)), jnp.int32)
    key = jax.random.key(1)
    steps, memory = {}, {}
    for name, clipped_sum in (("plain vmap(grad)", _plain), ("here", _kernel)):
        for num_rows in (BATCH, 4 * BATCH):
            program = _program(clipped_sum, module, params, pool, num_rows)
            needed = program.memory_analysis()
            assert needed is not None
            memory[f"{name}, batch {num_rows:,}"] = needed.temp_size_in_bytes / 1e6
            if num_rows == BATCH:
                steps[name] = partial(lambda run: jax.block_until_ready(run(key, params, pool, rows)), program)
    return steps, memory


# ---- Opacus ----


def _opacus_steps(inputs, labels) -> dict[str, Callable]:
    """Return steps of the same network in PyTorch on one batch, by Opacus' modes, on one core and on all.

    PyTorch's threads busy-wait for each other, so one thread may be several times faster than all where others use the
    machine.
    """
    # PyTorch comes with the extra "opacus".
    import opacus.utils.fast_gradient_clipping_utils as fast_clipping  # pyright: ignore[reportMissingImports]
    import torch  # pyright: ignore[reportMissingImports]
    from opacus import grad_sample, optimizers  # pyright: ignore[reportMissingImports]

    nn = torch.nn
    x = torch.from_numpy(np.array(inputs[:BATCH]).transpose(0, 3, 1, 2).copy())
    y = torch.from_numpy(np.array(labels[:BATCH], np.int64))

    def cnn():
        convolutions = nn.Conv2d(1, 16, 8, 2, padding=3), nn.Conv2d(16, 32, 4, 2)
        features = [layer for conv in convolutions for layer in (conv, nn.Tanh(), nn.MaxPool2d(2, 1))]
        return nn.Sequential(*features, nn.Flatten(), nn.Linear(512, 32), nn.Tanh(), nn.Linear(32, CLASSES))

    def stepper(wrap, optimizer, loss, threads: int):
        module = wrap(cnn())
        optimizer = optimizer(
            torch.optim.SGD(module.parameters(), STEP_SIZE),
            noise_multiplier=NOISE_MULTIPLIER,
            max_grad_norm=CLIP_NORM,
            expected_batch_size=BATCH,
        )
        criterion = loss(module, optimizer)

        def step():
            torch.set_num_threads(threads)
            optimizer.zero_grad()
            criterion(module(x), y).backward()
            optimizer.step()

        return step

    modes = {
        "hooks": (grad_sample.GradSampleModule, optimizers.DPOptimizer, lambda *_: nn.CrossEntropyLoss()),
        "ghost clipping": (
            partial(grad_sample.GradSampleModuleFastGradientClipping, max_grad_norm=CLIP_NORM),
            optimizers.DPOptimizerFastGradientClipping,
            lambda module, optimizer: fast_clipping.DPLossFastGradientClipping(
                module, optimizer, nn.CrossEntropyLoss()
            ),
        ),
    }
    return {
        f"Opacus, {name}, threads: {threads}": stepper(wrap, optimizer, loss, threads)
        for name, (wrap, optimizer, loss) in modes.items()
        for threads in sorted({1, torch.get_num_threads()})
    }


# ---- Reports ----


def step(dataset: str, model: str, shape: tuple[int, ...], dtype) -> Call:
    """Return a step with a batch of BATCH."""
    module, params, pool = _client(dataset, model, shape, dtype)
    rows = jnp.asarray(np.sort(np.random.default_rng(1).choice(POOL, BATCH, replace=False)), jnp.int32)
    return Call(jax.jit(partial(_step, _kernel, module)), (jax.random.key(1), params, pool, rows), "step")


def workload(dataset: str, model: str, shape: tuple[int, ...], dtype) -> Workload:
    """Return a step as a workload."""
    return workload_of_call(step(dataset, model, shape, dtype))


def _lines(what: str, timed: dict[str, StepTimes], memory: dict[str, float]) -> list[Measurement]:
    lines = []
    for name, times in timed.items():
        rates = [BATCH / seconds for seconds in times]
        remarks = "median {1:,.0f}; {2:,.0f} in a second of one core".format(*rates)
        lines.append(Measurement(f"{what}: {name}", rates[0], "examples/s", remarks=remarks))
    for name, megabytes in memory.items():
        remarks = "of one micro-batch" if name.startswith("here") else ""
        lines.append(Measurement(f"{what}: memory, {name}", megabytes, "MB", remarks=remarks))
    return lines


def clipping_cnn() -> list[Measurement]:
    """Time a step of DP-SGD with the CNN of 26,010 parameters, batch 256."""
    module, params, pool = _client(*CNN)
    steps, memory = _jax_steps(module, params, pool)
    what = "W2: DP-SGD, CNN"
    if importlib.util.find_spec("opacus") is None:
        missing = Measurement(f"{what}: Opacus", np.nan, "examples/s", remarks="not here: pip install '.[opacus]'")
        return [*_lines(what, _in_turn(steps), memory), missing]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about hooks, and about noise that is not for production
        opacus_steps = _opacus_steps(*pool)
        timed = _in_turn(steps | opacus_steps)
    fastest = min(opacus_steps, key=lambda name: timed[name].best)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("opacus", "torch"))
    ratio = timed[fastest].best / timed["here"].best
    return [
        *_lines(what, timed, memory),
        Measurement(f"{what}: here against {fastest}", ratio, "x", "1.2", versions),
    ]


def clipping_colour() -> list[Measurement]:
    """Time a step of DP-SGD with the networks for CIFAR-10, batch 256; plain vmap(grad) would need gigabytes."""
    lines = []
    for name, arguments in COLOUR.items():
        lines += _lines(f"DP-SGD on CIFAR-10, {name}", _in_turn({"here": workload(*arguments).run}), {})
    return lines


def clipping_scattering() -> list[Measurement]:
    """Time a step of DP-SGD with the linear classifier of MNIST's scattering features, 47,638 parameters, batch 256."""
    module, params, pool = _client(*SCATTERING)
    steps, memory = _jax_steps(module, params, pool)
    timed, what = _in_turn(steps), "W2: DP-SGD, scattering + linear"
    ratio = timed["plain vmap(grad)"].best / timed["here"].best
    return [*_lines(what, timed, memory), Measurement(f"{what}: here against plain", ratio, "x", "10")]
