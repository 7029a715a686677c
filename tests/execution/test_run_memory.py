"""A run that is short of memory goes on in smaller chunks, with the same rows."""

import jax
import pytest
from tiny_sweeps import assert_same_rows, run, walks

from bench.errors import InputError
from bench.execution import memory
from bench.execution import run as running
from bench.sweeps import engine
from bench.sweeps.spec import Sweep


def out_of_memory(monkeypatch, error, fits, after=0):
    """Calls of more runs at once than fit fail, in the middle of their rounds; the first `after` calls do not."""
    original, left = engine.run_chunk, [after]

    def failing(program, step, task, keys, hypers, *, on_block, **options):
        left[0] -= 1
        if left[0] < 0 and len(hypers["step_size"]) * len(keys) > fits:
            on_block(program.num_rounds, None, [])
            raise error
        return original(program, step, task, keys, hypers, on_block=on_block, **options)

    monkeypatch.setattr(engine, "run_chunk", failing)


ERRORS = [
    MemoryError(),
    jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes."),
    jax.errors.JaxRuntimeError("INTERNAL: Generated function failed: CpuExecutable: Out of memory allocating 1 bytes."),
]


def sweep() -> Sweep:
    return walks(steps=(0.1, 0.2, 0.3, 0.4, 0.5), trials=2)


@pytest.fixture(scope="module")
def enough(tmp_path_factory):
    """The rows where there is enough memory."""
    return run(sweep(), tmp_path_factory.mktemp("enough"))


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("fits", [1, 3])
def test_out_of_memory_means_a_smaller_chunk_and_the_same_rows(
    tmp_path, monkeypatch, enough, calls, capsys, error, fits
):
    """Seeds one at a time first, then fewer points; what was learnt holds for the seeds and trials that follow."""
    done = []
    report = running.Meter.report
    monkeypatch.setattr(running.Meter, "report", lambda self, n: (report(self, n), done.append(self.done / self.total)))
    out_of_memory(monkeypatch, error, fits)
    assert_same_rows(run(sweep(), tmp_path), enough)
    assert sum(points * runs for points, runs in calls) == 5 * 2 * 2
    assert max(points * runs for points, runs in calls) <= fits
    said = capsys.readouterr().err
    assert "out of memory with 5 points x 2 seeds at a time: continuing with fewer" in said
    assert said.count("out of memory with 5 points x") == 2
    assert done[-1] == max(done) == 1.0


def test_memory_that_runs_out_later_leaves_what_was_finished_as_it_is(tmp_path, monkeypatch, undisturbed, calls):
    out_of_memory(monkeypatch, MemoryError(), fits=1, after=3)
    assert_same_rows(run(walks(), tmp_path, most=2), undisturbed)
    assert calls == [(2, 1), (2, 1), (2, 1), (1, 1), (1, 1)]


def test_not_even_one_point_fits(tmp_path, monkeypatch):
    out_of_memory(monkeypatch, MemoryError(), fits=0)
    with pytest.raises(InputError, match=r"synthetic needs more memory than is available, even for one point"):
        run(walks(), tmp_path)


def test_other_errors_of_the_device_are_not_taken_for_lack_of_memory(tmp_path, monkeypatch):
    out_of_memory(monkeypatch, jax.errors.JaxRuntimeError("INTERNAL: something else"), fits=0)
    with pytest.raises(jax.errors.JaxRuntimeError, match="something else"):
        run(walks(), tmp_path)


def test_the_budget_decides_the_chunk(tmp_path, monkeypatch, undisturbed, calls):
    monkeypatch.setattr(memory, "budget", lambda sharing: 1.0)
    assert_same_rows(run(walks(), tmp_path), undisturbed)
    assert calls == [(1, 1)] * 8
