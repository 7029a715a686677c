"""How tests compile: without optimisation, and once, since four fifths of the time of many is that of the compiler."""

import os
from pathlib import Path

MOST = 1e9  # bytes of programs that are kept; all tests have some 150 MB, and every change of a kernel adds to them


def compile_quickly() -> None:
    """Leave out most optimisations in this process and those that it starts. Call it before JAX is imported."""
    if "XLA_FLAGS" not in os.environ:
        os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "true"


def keep_programs(folder: Path) -> None:
    """Keep compiled programs in a folder, for this process, those that it starts, and the next run of the tests.

    Nothing is changed where JAX_COMPILATION_CACHE_DIR is set already.
    """
    import jax

    if os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder)) == str(folder):
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def forget_old_programs(folder: Path) -> None:
    """Remove the least recently used programs beyond `MOST` bytes."""
    from bench.execution.compile_cache import tidy

    tidy(folder, MOST)
