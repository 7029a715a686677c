"""A signal that reaches another thread than the waiting one, as after a suspension, stops a run all the same."""

import signal
import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from bench.execution import run

WAIT_S = 20.0  # after which the computation would end by itself


class OneBlock:
    """A queue of one block."""

    def __init__(self, blocks, **_):
        self.left = list(blocks)

    def __bool__(self):
        return bool(self.left)

    def total(self):
        return 1

    def pop(self):
        return self.left.pop()


@pytest.fixture
def interrupted():
    """SIGINT raises KeyboardInterrupt, also where a shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_wait_for_workers_notices_it_within_seconds(monkeypatch, interrupted):
    monkeypatch.setattr(run, "Queue", OneBlock)
    monkeypatch.setattr(run, "_works", lambda *_: [])
    monkeypatch.setattr(run, "_kind", lambda block: None)
    computing: Future = Future()

    def elsewhere():
        time.sleep(0.5)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        time.sleep(WAIT_S)

    def submit(unit, on_block):
        threading.Thread(target=elsewhere, daemon=True).start()
        end = threading.Timer(WAIT_S, computing.set_exception, [TimeoutError("no signal was noticed")])
        end.daemon = True
        end.start()
        return computing

    pool = SimpleNamespace(executor=lambda total: SimpleNamespace(num_workers=1, submit=submit))
    meter = run.Meter("x", 1)
    block = SimpleNamespace(task=None, points=[], runs=[], chunk=None, run_rounds=1)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run._work([block], None, lambda key: None, None, meter, pool, None, shared_sizes=False)
    assert time.monotonic() - started < WAIT_S / 2
