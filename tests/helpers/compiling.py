"""How tests compile, which is four fifths of the time of many of them."""

import contextlib
import importlib.metadata
import os
import platform
import zlib
from itertools import count
from pathlib import Path

# Of XLA. Loops are emitted in the older way, which takes half as long to compile, and small programs are not cut up.
# Later versions of jaxlib end the process on the first of these flags.
QUICK = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
WITH_FLAGS = "0.10."  # versions of jaxlib


def compile_quickly() -> None:
    """Leave out most optimisations in this process and those that it starts. Call it before JAX is imported.

    Nothing is changed where XLA_FLAGS is set already.
    """
    if "XLA_FLAGS" in os.environ:
        return
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "true"
    if importlib.metadata.version("jaxlib").startswith(WITH_FLAGS):
        os.environ["XLA_FLAGS"] = QUICK


def processor() -> str:
    """Return a name of what this processor can do; on systems that do not say it, that of the machine."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return f"{zlib.crc32(line.encode()):08x}"
    return platform.node()


def keep_programs(folder: Path) -> None:
    """Keep compiled programs in a folder, for later tests and for processes that tests start. Call it as above.

    JAX finds a program by its text, its options and the version of XLA, so one that has changed is compiled again; but
    not by the processor, so the folder must be of one. The folder is in the names of the entries.
    """
    with contextlib.suppress(OSError):  # a checkout that cannot be written: JAX does without
        folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")  # thousands of small ones add up


def share_contexts(uses: int = 200) -> None:
    """Let so many programs be lowered in one MLIR context after another: making one takes 2 ms of every small program.

    A context keeps all types and constants that were used in it, so it is given up after these uses.
    """
    from jax._src.interpreters import mlir

    make, number, context = mlir.make_ir_context, count(), None

    def shared():
        nonlocal context
        if next(number) % uses == 0:
            context = make()
        return context

    mlir.make_ir_context = shared


def stage_without_programs() -> None:
    """Let `jnp.asarray` of numbers and of NumPy arrays copy them without a program.

    Some versions of JAX compile the identity for every shape, which is a sixth of the programs of all tests.
    """
    import jax
    from jax._src.lax import lax

    if hasattr(lax, "stage_p"):
        lax.stage_p.def_impl(lambda x: x if isinstance(x, jax.Array) else jax.device_put(x, may_alias=False))
