"""Results from before a method got an argument stay valid, since its default changes nothing."""

from tiny_sweeps import WALK, run, sweep_of, walks

from bench.algorithms.base import Algorithm, Scalar
from bench.execution.run import run_sweep
from bench.store import part_files
from bench.sweeps.spec import Entry, grid
from bench.upkeep.status import status, verify

BEFORE = WALK.make


def walk(task, *, step_size: Scalar, noise_multiplier: Scalar = 1.0, drift: Scalar = 0.5, word: str = "a") -> Algorithm:
    return BEFORE(task, step_size=step_size, noise_multiplier=noise_multiplier)


LATER = WALK._replace(make=walk)


def later(**columns):
    return sweep_of({"Walk": Entry(LATER, grid(step_size=[0.1, 0.2, 0.3, 0.4], **columns))})


def test_earlier_results_count_and_are_neither_redone_nor_set_aside(tmp_path, capfd):
    before = run(walks(), tmp_path)
    folder = tmp_path / "smoke" / "tiny"
    assert "drift" not in before
    assert status(later(), "smoke", folder).total.missing == 0
    assert verify(later(), folder) == []
    capfd.readouterr()
    run_sweep(later(), scale="smoke", out=tmp_path)
    said = capfd.readouterr().err
    assert "0 runs to do, 8 in" in said
    assert "set aside" not in said


def test_another_value_of_the_argument_is_another_run(tmp_path):
    run(walks(), tmp_path)
    folder = tmp_path / "smoke" / "tiny"
    both = later(drift=[0.5, 1.0])
    assert status(both, "smoke", folder).total.missing == 8
    run_sweep(both, scale="smoke", out=tmp_path)
    assert status(both, "smoke", folder).total.missing == 0
    assert len(part_files.read(folder).drop_duplicates(part_files.IDENTITY)) == 16
    assert verify(both, folder) == []
