"""XLA's flags for the tests, whose time is mostly that of compiling small programs for the CPU."""

import os
import subprocess
import sys

# The newer way to emit fused loops takes twice as long to compile, and small modules gain nothing from being cut up.
# Programs run about as fast: XLA's own result is the same to rounding.
QUICK = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
CHECKED = "BENCH_TESTS_XLA_FLAGS"  # set for the processes that this one starts


def compile_quickly() -> None:
    """Set XLA_FLAGS for this process and those it starts, before JAX is imported.

    Nothing is changed where the flags are set already, or where this jaxlib, which ends the process on a flag that it
    does not know, refuses them.
    """
    if "XLA_FLAGS" in os.environ or CHECKED in os.environ:
        return
    os.environ[CHECKED] = "yes"
    words = [sys.executable, "-c", "import jax; jax.devices()"]
    if subprocess.run(words, env=os.environ | {"XLA_FLAGS": QUICK}, capture_output=True).returncode == 0:
        os.environ["XLA_FLAGS"] = QUICK
