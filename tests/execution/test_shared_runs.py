"""A run that another sweep has as well is copied, and no other."""

import pytest
from made_up_parts import put
from tiny_sweeps import assert_same_rows, run, table, walks

from bench.papers import SWEEPS
from bench.sweeps.condition import condition

NOTE = "runs copied from"


def twin(**fields):
    """A sweep that has two of the four step sizes of "tiny", and one of its own."""
    return walks(steps=(0.2, 0.4, 0.5), name="twin", shares=("tiny", "twin", "absent"), **fields)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The rows of `twin` where no other sweep has any."""
    return run(twin(), tmp_path_factory.mktemp("alone"))


def test_shared_runs_are_copied_and_the_others_computed(tmp_path, alone, calls, capsys):
    run(walks(), tmp_path)
    calls.clear()
    found = run(twin(), tmp_path)
    assert calls == [(1, 1), (1, 1)]
    assert_same_rows(found, alone)
    assert set(found["sweep"]) == {"twin"}
    assert set(table(tmp_path / "smoke" / "tiny")["sweep"]) == {"tiny"}
    assert f"{NOTE} {tmp_path / 'smoke' / 'tiny'}, since tiny has the same: 4" in capsys.readouterr().err
    calls.clear()
    assert_same_rows(run(twin(), tmp_path), alone)
    assert calls == []
    assert NOTE not in capsys.readouterr().err


def test_only_the_repetitions_that_are_asked_for_are_copied(tmp_path):
    run(walks(), tmp_path)
    assert set(run(twin(seeds=1), tmp_path)["seed"]) == {0}


def test_fresh_computes_all(tmp_path, alone, calls, capsys):
    run(walks(), tmp_path)
    calls.clear()
    assert_same_rows(run(twin(), tmp_path, fresh=True), alone)
    assert calls == [(3, 1), (3, 1)]
    assert NOTE not in capsys.readouterr().err


def test_runs_with_rows_missing_and_damaged_parts_are_not_copied(tmp_path, alone, calls):
    rows = run(walks(), tmp_path)
    folder = tmp_path / "smoke" / "tiny"
    for path in folder.glob("part-*"):
        path.unlink()
    put(folder, rows[rows["rounds"] > 0])
    damaged = put(folder, rows, number=1)
    damaged.write_bytes(damaged.read_bytes()[:100])
    calls.clear()
    assert_same_rows(run(twin(), tmp_path), alone)
    assert calls == [(3, 1), (3, 1)]
    assert damaged.exists()


def test_a_run_at_another_setting_is_not_copied(tmp_path, calls):
    run(walks(), tmp_path)
    calls.clear()
    run(twin(delta=1e-3), tmp_path)
    assert calls == [(3, 1), (3, 1)]


def cells(name, where):
    points = SWEEPS[name]("paper").entries["SN+CNN"].points
    return points[condition(where, points)].drop(columns="noise_multiplier", errors="ignore")


def test_tables_of_bhaskar_have_cells_in_common():
    here = "num_epochs == 1 and num_clients == 10 and target_epsilon in (2.93, 2.7, 7.53)"
    splits, clients = (cells(name, here) for name in ("pfl_splits", "pfl_clients"))
    columns = sorted(splits)
    assert len(splits) == 3
    assert splits[columns].sort_values("task").to_dict("records") == (
        clients[columns].sort_values("task").to_dict("records")
    )
    assert "pfl_splits" in SWEEPS["pfl_clients"]("paper").shares
