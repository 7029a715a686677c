"""What a GPU would do, by the programs that XLA compiles for it on a machine without one.

The compiler needs the two wheels of `pip install '.[aot]'`, and no driver. Its text has every kernel in order, the
lengths of loops and an estimate of each kernel's time, which overrates kernels that read with gaps and knows nothing of
the gaps between kernels. So the ratio of two programs says more than the time of one.
"""

import datetime
import math
import os
import re
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from bench.errors import InputError, in_one_line
from bench.kernels.platforms import made_for
from bench.perf.accelerator import Probe, probes
from bench.perf.measure import Call, Grid, bytes_of, fitted
from bench.sweeps.rows import commit

LAUNCH_S = 2.2e-6  # the least time of a kernel
BYTES = {"pred": 1, "bf16": 2, "f16": 2, "c64": 8}  # of a number whose type does not end in its bits
FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier"}
READS_PART = {"gather", "dynamic-slice", "slice"}
WRITES_PART = {"scatter": 2, "dynamic-update-slice": 1}  # operation -> place of what is written
OPERANDS = re.compile(r"%([\w.\-]+)")
INSTRUCTION = re.compile(r"\s+(?:ROOT )?%([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*?)\)(.*)")


class Gpu(NamedTuple):
    """What the compiler must know of a GPU.

    cores, units: multiprocessors, and units for float32 in each.
    bandwidth, memory: bytes a second, and bytes.
    cache, shared: bytes of the second cache, and of a multiprocessor's shared memory.
    clock: GHz.
    capability: the compute capability.
    """

    cores: int
    units: int
    bandwidth: float
    memory: int
    cache: int
    shared: int
    clock: float
    capability: int


# By NVIDIA's data sheets.
GPUS = {
    "h100": Gpu(132, 128, 3.352e12, 84_942_979_072, 52_428_800, 233_472, 1.98, 9),
    "a100": Gpu(108, 64, 2.039e12, 85_017_493_504, 41_943_040, 167_936, 1.41, 8),
}


def device(name: str) -> Any:
    """Return the device of that name in GPUS, for which programs can be compiled but not run.

    Raises:
        InputError: where the compiler is not installed.
    """
    gpu = GPUS[name]
    facts = f"""gpu_device_info {{ threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
        shared_memory_per_core: {gpu.shared} shared_memory_per_block_optin: {gpu.shared - 1024}
        threads_per_core_limit: 2048 core_count: {gpu.cores} fpus_per_core: {gpu.units} clock_rate_ghz: {gpu.clock}
        block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
        memory_bandwidth: {gpu.bandwidth:.0f} l2_cache_size: {gpu.cache} device_memory_size: {gpu.memory}
        cuda_compute_capability {{ major: {gpu.capability} }}
        registers_per_core_limit: 65536 registers_per_block_limit: 65536 }}
        platform_name: "CUDA" dnn_version_info {{ major: 9 }} runtime_version {{ major: 13 }}
        device_description_str: "{name}" """
    jax.config.update("jax_platforms", "cpu")  # with the compiler installed JAX would look for a GPU
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_gpu_collect_cost_model_stats=true"
    from jax.experimental import topologies

    try:
        topology = topologies.get_topology_desc(platform="cuda", topology="1x1x1", target_config=facts)
    except Exception as error:
        raise InputError("XLA's compiler for NVIDIA GPUs is not here: pip install '.[aot]'") from error
    return topology.devices[0]


class Compiled(NamedTuple):
    """A compiled program, the number of its points, its rounds (1 for a step), and those between two questions to the
    host whether there are more.
    """

    program: Any
    points: int
    rounds: int
    stride: int


def compiled_for(gpu: Any, made: Grid | Call) -> Compiled:
    """Return a program compiled for a device that need not be here, with as many points as fit into its memory."""
    place = jax.sharding.SingleDeviceSharding(gpu)

    def placed(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place), tree)

    with made_for("cuda"):
        if isinstance(made, Call):
            return Compiled(made.function.lower(*placed(made.arguments)).compile(), 1, 1, 1)
        _, chunk = fitted(made._replace(task=placed(made.task)), 0.8 * GPUS[gpu.device_kind].memory)
    return Compiled(chunk.step.compiled, chunk.chunk, made.eval_every, chunk.step.stride)


class Cost(NamedTuple):
    """What a program does, or a kernel: kernels launched, times that the host is asked, bytes, and seconds of all."""

    launches: float = 0.0
    waits: float = 0.0
    bytes: float = 0.0
    seconds: float = 0.0


WAIT = np.array(Cost(waits=1, seconds=12e-6))  # the host is asked how a loop goes on


class Instruction(NamedTuple):
    """One line of a compiled program."""

    name: str
    type: str
    operation: str
    arguments: str
    attributes: str

    @property
    def operands(self) -> list[str]:
        """The names of what it takes."""
        return OPERANDS.findall(self.arguments)


def instructions(text: str) -> dict[str, list[Instruction]]:
    """Return the instructions of each computation in the text of a program, which itself is "ENTRY"."""
    computations: dict[str, list[Instruction]] = {}
    for line in text.splitlines():
        if match := re.match(r"(ENTRY )?%([\w.\-]+) \(.*\{$", line):
            computations["ENTRY" if match[1] else match[2]] = current = []
        elif match := INSTRUCTION.match(line):
            current.append(Instruction(*match.groups()))
    return computations


def size_of(kind: str) -> float:
    """Return the bytes of a type as XLA writes it, such as f32[2,3]."""
    return sum(
        math.prod(map(int, filter(None, shape.split(",")))) * (BYTES.get(name) or int(re.sub(r"\D", "", name)) / 8)
        for name, shape in re.findall(r"\b([a-z]+\d*)\[([\d,]*)\]", kind)
        if name != "token"
    )


def cost(text: str, bandwidth: float, *, unknown: int = 1) -> Cost:
    """Return what the program of this text does in a call; of several branches the longest counts.

    Args:
        text: of a compiled program.
        bandwidth: bytes a second, for kernels of which XLA estimates no time.
        unknown: the rounds of a loop whose length is not known to the compiler.
    """
    computations = instructions(text)

    def of_computation(name: str) -> np.ndarray:
        total, types = np.zeros(len(Cost._fields)), {one.name: one.type for one in computations[name]}
        for one in computations[name]:
            called = dict(re.findall(r"(\w+)=%([\w.\-]+)", one.attributes))
            if one.operation == "while":
                length = re.search(r'"known_trip_count":\{"n":"(\d+)"', one.attributes)
                once = of_computation(called["body"])
                if not length:
                    once += WAIT + of_computation(called["condition"])
                total += (int(length[1]) if length else unknown) * once
            elif one.operation == "conditional":
                branches = OPERANDS.findall(one.attributes.split("metadata")[0])
                total += WAIT + max(map(of_computation, branches), key=lambda branch: branch[-1])
            elif one.operation in ("call", "async-start"):
                total += of_computation(called.get("to_apply") or called["calls"])
            elif one.operation not in FREE and not one.operation.endswith("-done"):
                moved = _moved(one, types, computations.get(called.get("calls", ""), []))
                estimate = re.search(r'"exec_time_us":([\d.e+\-]+),[^}]*"name":""', one.attributes)
                seconds = 1e-6 * float(estimate[1]) if estimate else moved / bandwidth
                total += Cost(1, 0, moved, max(LAUNCH_S, seconds))
        return total

    return Cost(*of_computation("ENTRY").tolist())


def _moved(instruction: Instruction, types: Mapping[str, str], body: list[Instruction]) -> float:
    """Return the bytes that a kernel reads and writes; `body` has the instructions of a fusion."""
    sizes = [size_of(types[operand]) for operand in instruction.operands if operand in types]
    inner = {one.name: one.type for one in body} if body else types
    last = body[-1] if body else instruction
    if last.operation in WRITES_PART:  # in place, where the operand is not used again
        whole, part = size_of(instruction.type), size_of(inner[last.operands[WRITES_PART[last.operation]]])
        return sum(size for size in sizes if size != whole) + 2 * part
    return size_of(instruction.type) + sum(_read(body, place, size) for place, size in enumerate(sizes))


def _read(body: list[Instruction], place: int, size: float) -> float:
    """Return the bytes that a fusion reads of its operand at a place, whose size is given."""
    names = [one.name for one in body if one.operation == "parameter" and one.arguments == str(place)]
    readers = [one for one in body if {*names} & {*one.operands}]
    if readers and all(one.operation in READS_PART and one.operands[0] in names for one in readers):
        return min(size, sum(size_of(one.type) for one in readers))
    return size


def row(gpu: Any, probe: Probe) -> dict[str, Any]:
    """Return what one program does by XLA's account: of a round of all its points, or of a step.

    Raises:
        InputError: where data are missing.
    """
    began = time.perf_counter()
    compiled = compiled_for(gpu, probe.make())
    whole = cost(
        compiled.program.as_text(), GPUS[gpu.device_kind].bandwidth, unknown=compiled.rounds // compiled.stride
    )
    return {
        "what": probe.what,
        "points": compiled.points,
        **{name: number / compiled.rounds for name, number in whole._asdict().items()},
        "memory": bytes_of(compiled.program),
        "compile_s": time.perf_counter() - began,
    }


def measure(name: str) -> dict[str, Any]:
    """Compile all probes for a GPU, and print a line for each.

    Returns:
        What can be written as JSON: the GPU, the version of jax, a row for each program, and what was left out.
    """
    gpu, rows, left_out = device(name), [], {}
    for probe in probes():
        try:
            rows.append(row(gpu, probe))
        except (InputError, jax.errors.JaxRuntimeError) as error:
            left_out[probe.what] = in_one_line(error)
        print(f"{probe.what}: {left_out.get(probe.what) or _in_words(rows[-1])}", flush=True)
    about = {"device": name, "jax": jax.__version__, "date": datetime.date.today().isoformat(), "commit": commit()}
    return about | {"compiled": rows, "left_out": left_out}


def _in_words(row: dict[str, Any]) -> str:
    return (
        f"{row['launches']:,.0f} launches, {row['waits']:.0f} waits, {row['bytes'] / 1e6:,.3g} MB, "
        f"{1e3 * row['seconds']:,.3g} ms"
    )
