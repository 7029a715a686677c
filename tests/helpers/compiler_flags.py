"""XLA's flags for the tests, whose time is mostly that of compiling small programs for the CPU."""

import os
import subprocess
import sys

# Programs of tests are compiled once and run briefly, so they are not optimised. The newer way to emit fused loops
# takes twice as long to compile, and small modules gain nothing from being cut up.
QUICK = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
CHECKED = "BENCH_TESTS_XLA_FLAGS"  # set for the processes that this one starts


def compile_quickly() -> None:
    """Set the flags for this process and those it starts, before JAX is imported.

    Nothing is changed where XLA_FLAGS is set already; and this jaxlib may not know these flags, on which it would end
    the process: then only optimisations are off.
    """
    if "XLA_FLAGS" in os.environ or CHECKED in os.environ:
        return
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "true"
    os.environ[CHECKED] = "yes"
    words = [sys.executable, "-c", "import jax; jax.devices()"]
    if subprocess.run(words, env=os.environ | {"XLA_FLAGS": QUICK}, capture_output=True).returncode == 0:
        os.environ["XLA_FLAGS"] = QUICK
