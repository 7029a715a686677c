"""A signal that reaches another thread than the waiting one, as after a suspension, stops a run all the same."""

import signal
import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from tiny_sweeps import walks

from bench.execution.pool import Pool
from bench.execution.run import run_sweep

WAIT_S = 20.0  # after which the computation would end by itself


@pytest.fixture
def interrupted():
    """SIGINT raises KeyboardInterrupt, also where a shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_wait_for_workers_notices_it_within_seconds(tmp_path, monkeypatch, interrupted):
    computing: Future = Future()

    def elsewhere():
        time.sleep(0.5)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        time.sleep(WAIT_S)

    def submit(unit, report):
        threading.Thread(target=elsewhere, daemon=True).start()
        end = threading.Timer(WAIT_S, computing.set_exception, [TimeoutError("no signal was noticed")])
        end.daemon = True
        end.start()
        return computing

    pool = Pool()
    monkeypatch.setattr(pool, "executor", lambda seconds: SimpleNamespace(num_workers=1, submit=submit))
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_sweep(walks(), scale="smoke", out=tmp_path, pool=pool)
    assert time.monotonic() - started < WAIT_S / 2
