"""Workers of a Ray cluster: every unit is a Ray task, and Ray chooses the node with room for it."""

import os
from concurrent.futures import Future
from functools import cache, partial
from typing import Any

from bench.errors import SUITE, InputError
from bench.execution import resources
from bench.execution.progress import Increment, Report
from bench.execution.shared import Sender, Settings, Wire, prepared, settings
from bench.execution.unit import Outcome, Unit
from bench.processes import ROOT, WorkerDied

_keep_to_a_core = cache(resources.keep_to_a_core)  # once in a process, which Ray keeps from unit to unit


def _task(worker_settings: Settings, wire: Wire, data: list[Any]) -> tuple[Outcome, list[Increment]]:
    """Train a unit, and return all that it reports at its end; runs on a node of the cluster."""
    import ray

    _keep_to_a_core()
    trainer, receiver = prepared(worker_settings)
    unit, steps = receiver.unit(wire, None if wire.data in receiver.data else ray.get(data[0])), []
    return trainer.run(unit, steps.append), steps


class RayTasks:
    """Units as tasks of a Ray cluster, one core or one GPU each.

    A worker keeps its compiled programs, because Ray keeps its process. A task is never retried by Ray: the driver does
    that, for all executors alike.

    Args:
        address: "ray": the cluster that RAY_ADDRESS names, or else one of this machine; or ray://HOST:PORT.
        workers: tasks at the same time; None: the number of the cluster's GPUs, or else of its cores.

    Raises:
        InputError: where Ray is not installed, or there is no cluster at the address.
    """

    def __init__(self, address: str, workers: int | None):
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
            import ray.exceptions
        except ImportError:
            raise InputError("Ray is not installed: pip install '.[ray]'") from None
        self.ray, self.sender = ray, Sender()
        failures = ray.exceptions
        self._failures = (
            failures.WorkerCrashedError,
            failures.NodeDiedError,
            failures.ObjectLostError,
            failures.OutOfMemoryError,
        )
        self._started_cluster = not ray.is_initialized()
        if self._started_cluster:
            local = address == "ray" and "RAY_ADDRESS" not in os.environ
            # A cluster elsewhere gets the source of the suite; the packages that it imports must be installed there.
            source = {"env_vars": {"PYTHONPATH": str(ROOT)}} if local else {"py_modules": [str(SUITE)]}
            try:
                ray.init(address=None if address == "ray" else address, runtime_env=source, log_to_driver=False)
            except (ConnectionError, RuntimeError, ValueError) as error:
                text = str(error).splitlines()[0]
                raise InputError(
                    f"no Ray cluster answers at {address} ({text}): start one, or give another address"
                ) from None
        self._asked = workers
        self._objects: dict[str, Any] = {}
        self._pending: set[Any] = set()

    @property
    def num_workers(self) -> int:
        """The number of tasks that the cluster has room for now; nodes may come and go."""
        if self._asked:
            return self._asked
        resources = self.ray.cluster_resources()
        return max(1, int(resources.get("GPU", 0) or resources.get("CPU", 0)))

    def submit(self, unit: Unit, report: Report) -> "Future[Outcome]":
        wire = self.sender.wire(unit)
        if wire.data not in self._objects:
            self._objects[wire.data] = self.ray.put(self.sender.data(unit))
        alive = max(1, sum(node["Alive"] and "CPU" in node["Resources"] for node in self.ray.nodes()))
        sharing = -(-self.num_workers // alive)
        gpus = int(self.ray.cluster_resources().get("GPU", 0) > 0)
        task = self.ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0, max_calls=0)(_task)
        # The data are in a list, or else Ray would fetch them.
        reference = task.remote(settings(sharing), wire, [self._objects[wire.data]])
        self._pending.add(reference)
        future: Future[Outcome] = Future()
        reference.future().add_done_callback(partial(self._finished, future, reference, report))
        return future

    def _finished(self, future: Future, reference: Any, report: Report, result: Future) -> None:
        """Pass on the result of a Ray task."""
        self._pending.discard(reference)
        try:
            outcome, steps = result.result()
        except self._failures as error:
            future.set_exception(WorkerDied(str(error)))
        except BaseException as error:
            future.set_exception(error)
        else:
            for step in steps:
                report(step)
            future.set_result(outcome)

    def close(self) -> None:
        """Cancel all tasks, and stop a cluster that was started here."""
        for reference in list(self._pending):
            self.ray.cancel(reference, force=True)
        if self._started_cluster:
            self.ray.shutdown()
