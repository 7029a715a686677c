"""Units trained by processes of this machine, each with its own cores or its own GPU."""

from collections.abc import Sequence
from concurrent.futures import Future

from bench.execution.progress import Report
from bench.execution.shared import KEPT, Sender, Settings, settings, train
from bench.execution.unit import Outcome, Unit
from bench.processes import Worker, Workers, shares


class Processes:
    """Workers of this machine, started when there is work for them.

    Args:
        workers: the number of workers.
        gpus: of the machine, as `resources.gpus` names them.
    """

    def __init__(self, workers: int, gpus: Sequence[str] = ()):
        self.num_workers, self.sender = workers, Sender()
        sharing = -(-workers // len(gpus)) if gpus else workers
        self.settings: Settings = settings(sharing)
        memory = {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{0.75 / sharing:.3f}"} if sharing > 1 else {}
        places = [(share, {}) for share in shares(workers)]
        if gpus:
            places = [((), {"CUDA_VISIBLE_DEVICES": gpus[number % len(gpus)]} | memory) for number in range(workers)]
        self._workers = Workers(places)

    def submit(self, unit: Unit, report: Report) -> "Future[Outcome]":
        wire = self.sender.wire(unit)

        def train_on(worker: Worker) -> Outcome:
            data = None
            if wire.data not in worker.sent:
                data = self.sender.data(unit)
                worker.sent = [*worker.sent, wire.data][-KEPT:]
            return worker.call(train, self.settings, wire, data, report=report)

        return self._workers.use(train_on)

    def close(self) -> None:
        """End all workers at once."""
        self._workers.close()
