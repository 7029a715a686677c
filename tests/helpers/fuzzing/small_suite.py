"""A suite of small sweeps and tasks, in which nothing long is begun."""

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import jax
from tiny_comparison import problem
from tiny_sweeps import TASK, walks

from fuzzing.outcomes import Reached


def _reached(*_: Any, **__: Any) -> Any:
    raise Reached


@contextlib.contextmanager
def small_suite() -> Iterator[None]:
    """Sweeps and tasks that are run in a moment; what is long, or asks the network, is not begun."""
    import bench.audit.report
    import bench.audit.subject
    import bench.comparison.stages
    import bench.perf
    from bench.comparison.problems import KINDS
    from bench.data.dataset import Unreachable
    from bench.data.fetch import packages
    from bench.data.tasks.registry import TASKS, Listed
    from bench.papers import SWEEPS

    def offline(*_: Any, **__: Any) -> Any:
        raise Unreachable("no network")

    with contextlib.ExitStack() as stack:
        for table, small in (
            (SWEEPS, {"tiny": lambda scale: walks(), "other": lambda scale: walks()._replace(name="other")}),
            (TASKS, {"small": Listed(TASK, "small")} | {name: TASKS[name] for name in ("synthetic", "linear_p2p")}),
            (KINDS, {**KINDS, "small": lambda name, make: problem()}),
        ):
            stack.enter_context(mock.patch.dict(table, small, clear=True))
        for owner, name, instead in (
            (bench.comparison.stages, "run_sweep", _reached),
            (bench.audit.subject, "run", _reached),
            (bench.perf, "report", _reached),
            (packages, "watch", offline),
        ):
            stack.enter_context(mock.patch.object(owner, name, instead))
        yield


@contextlib.contextmanager
def traced_only() -> Iterator[None]:
    """Methods are traced, and compiled no more."""
    import bench.comparison.stages
    from bench.execution.run import run_sweep
    from bench.sweeps import engine

    def lowered(program: Any, task: Any, *shapes: Any) -> Any:
        first_round = jax.ShapeDtypeStruct((), jax.numpy.int32)
        engine.advance.lower(task, *shapes, first_round, program=program)
        raise Reached

    with (
        mock.patch.object(bench.comparison.stages, "run_sweep", run_sweep),
        mock.patch.object(engine, "_step", lowered),
    ):
        yield
