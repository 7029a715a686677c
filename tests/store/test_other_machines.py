"""What a run is does not depend on the machine: numbers that are computed differ in their last digits, and that is all.

The committed results were made on other machines than this one. Every one of them must be recognised here, without the
data where these are missing, so that nothing of them is run again or set aside.
"""

import os
import platform
import subprocess
import sys
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_sweeps import made
from slow_cases import cases
from stand_in_tasks import stand_in
from tiny_sweeps import ROOT, TASK, WALK, private_sgd, resolved, run, sweep_of, table, walks

from bench.algorithms.base import Algorithm, Scalar
from bench.errors import InputError
from bench.execution.run import run_sweep
from bench.papers import SWEEPS
from bench.privacy.accounting import epsilon
from bench.store import part_files
from bench.store.complete_runs import TOLERANCE, Points, Shape, as_text, rounded, settings_in
from bench.sweeps.points import Point, resolve
from bench.sweeps.spec import Entry, Sweep, defaults_of, grid, select, with_computed
from bench.upkeep import merge
from bench.upkeep.status import status, verify

RESULTS = ROOT / "results" / "sweeps"
COMMITTED = [name for name in SWEEPS if part_files.parts_in(RESULTS / name)]
# Sweeps of which some runs have not been made yet.
UNFINISHED = {"pfl_clients", "pfl_epsilon", "pfl_one_client"}
# Sweeps with so many runs that reading them takes more than ten seconds.
LARGE = {"isrl_odd_even", "isrl_rounds", "isrl_heterogeneity", "p2p_dimensions", "pfl_clients"}
# Sweeps whose noise takes seconds to calibrate; pfl_epsilon and pfl_splits calibrate theirs in the same way.
CALIBRATED = {"pfl_one_client"}
ELSEWHERE = [1 + 1e-9, 1 - 1e-9]  # what another machine computes, in units of what this one does


def perturbed(entry: Entry, factor: float) -> Entry:
    """An entry as a machine has it whose computed numbers are so much larger."""
    points = with_computed(entry.points)
    for column in sorted({*entry.computed} & {*map(str, points)}):
        if points[column].dtype.kind == "f":
            points = points.assign(**{column: points[column] * factor})
    return entry.with_points(points)


def by_what_was_asked(entry: Entry, label: str, tasks: set[str]) -> dict[str, Shape]:
    """The points of an entry, as far as they are known without data; `tasks`: names that tasks have in results."""
    names = [str(name) for name in entry.points if name not in entry.computed]
    if "task" in names and tasks != {*entry.points["task"]}:
        names.remove("task")
    shapes = {}
    for number, row in enumerate(entry.points.to_dict("records")):
        asked = {name: row[name] for name in names} | {"algorithm": label, "version": entry.method.version}
        computed = {name: row[name] for name in entry.computed if name in row}
        shapes[str(number)] = Shape(0, asked=asked, computed=computed, defaults=defaults_of(entry.method))
    return shapes


@cache
def settings_there(folder: Path) -> pd.DataFrame:
    """The settings of the runs in a folder of committed results."""
    return pd.concat([settings_in(part_files.read_part(path)) for path in part_files.parts_in(folder)])


def unrecognised(sweep: Sweep, folder: Path, factor: float = 1.0) -> list[str]:
    """Runs in a folder that are not recognised as runs of the sweep, a sentence each."""
    found, settings = [], settings_there(folder)
    for label, entry in sweep.entries.items():
        of_entry = settings[settings["algorithm"] == label]
        shapes = by_what_was_asked(perturbed(entry, factor), label, {*of_entry["task"]})
        with_computed = Points(shapes).recognised(of_entry)
        found += [f"{label}: {id}" for id in of_entry["point"] if id not in with_computed]
    others = settings[~settings["algorithm"].isin(list(sweep.entries))]
    return found + [f"{name}: no such entry" for name in others["algorithm"].unique()]


def unrecognised_at_any_scale(name: str, factor: float = 1.0) -> set[str]:
    """What is `unrecognised` at scale laptop, and at scale paper too."""
    found = set(unrecognised(made(name, "laptop"), RESULTS / name, factor))
    return found and found & set(unrecognised(made(name, "paper"), RESULTS / name, factor))


@pytest.mark.parametrize("name", cases(COMMITTED, slow=LARGE | CALIBRATED))
def test_the_committed_results_are_those_of_their_sweeps(name, monkeypatch):
    """Else the next run would set them aside."""
    sweep = made(name, "laptop")
    if name not in LARGE:  # whose parts would take too much memory
        monkeypatch.setattr(part_files, "read_part", cache(part_files.read_part))  # each part is read twice
    assert unrecognised_at_any_scale(name) == set()
    if name == "isrl_odd_even":
        return  # a million runs, which take half a minute to count
    found = status(sweep, "laptop", RESULTS / name)
    assert found.problems == []
    assert (found.total.missing == 0) == (name not in UNFINISHED)


GENERATED = [
    *("ppsgd_synthetic", "ppsgd_longer", "ppsgd_theory", "ppsgd_sampled_theory", "ppsgd_sampling", "p2p_private"),
    *("p2p_perturbed", "p2p_convergence", "correlated_noise_sums", "decor_noise", "scaffold_steps"),
    *("server_optimisers", "server_clipping", "proximal_steps"),
]


@pytest.mark.parametrize("name", GENERATED)
def test_their_ids_are_recognised_where_their_data_are_generated(name):
    assert verify(made(name, "laptop"), RESULTS / name, [made(name, "paper")]) == []


@pytest.mark.parametrize("factor", cases(ELSEWHERE, slow=ELSEWHERE[:1]))
@pytest.mark.parametrize("name", cases(COMMITTED, slow=LARGE | CALIBRATED))
def test_another_machine_s_last_digits_are_the_same_runs(name, factor):
    sweep = made(name, "laptop")
    if not any(entry.computed for entry in sweep.entries.values()):
        pytest.skip("nothing is computed")
    if name in ("isrl_odd_even", "isrl_rounds", "isrl_heterogeneity") and factor > 1:
        pytest.skip("a million runs, once")
    assert unrecognised_at_any_scale(name, factor) == set()


def test_a_calibration_that_changed_is_not_the_same(monkeypatch):
    sweep = made("decor_noise", "laptop")
    missing = unrecognised(sweep, RESULTS / "decor_noise", 1 + 2 * TOLERANCE)
    assert len(missing) == sum(len(entry.points) for entry in sweep.entries.values())


# ---- No epsilon exceeds its target for the last digits ----


def spent(sweep: Sweep, monkeypatch) -> dict[tuple, float]:
    """(Point, way of accounting) -> epsilon of a whole run, for one point of each kind of noise."""
    with monkeypatch.context() as patch:
        tasks = {name: replace(stand_in(make, patch), name=name) for name, make in sweep.tasks.items()}
    found = {}
    rounds = sweep.num_rounds
    few = (lambda task, args: max(rounds(task, args), 1)) if callable(rounds) else rounds  # of so few users
    for name, points in resolve(sweep._replace(num_rounds=few, eval_every=None), tasks).items():
        kinds = {tuple(sorted(point.computed.items())): point for point in points}
        for point in kinds.values():
            readings = point.method.readings(tasks[name], delta=sweep.delta, **point.args)
            found |= {(point.id, way): epsilon(release, point.num_rounds) for way, release in readings.items()}
    return found


@pytest.mark.parametrize("name", cases([name for name in SWEEPS if not name.startswith("pfl_")], slow={"mrmtl_school"}))
def test_no_epsilon_goes_above_its_target(name, monkeypatch):
    """What keeps within a target here keeps within it elsewhere; the noise of pfl's sweeps is that of
    `accounting.noise_multiplier` as it is, whose own tests have this."""
    whole = made(name, "smoke")
    labels = {"target_epsilon", "budget"}
    entries = {k: e for k, e in whole.entries.items() if e.computed and labels & {*e.points}}
    if not entries:
        pytest.skip("nothing is calibrated")
    here, there = (
        whole._replace(entries={label: perturbed(entry, factor) for label, entry in entries.items()})
        for factor in (1.0, ELSEWHERE[1])
    )
    targets = {}
    for entry in here.entries.values():
        for column in labels & {*entry.points}:
            targets |= dict.fromkeys(entry.points[column], None)
    before, after = spent(here, monkeypatch), spent(there, monkeypatch)
    assert before.keys() == after.keys()
    for key, value in before.items():
        for target in targets:
            assert not (value <= target < after[key]), (key, target)


# ---- Other ids ----


def doubled(points: pd.DataFrame, off: float) -> pd.DataFrame:
    return points.assign(noise_multiplier=off * 2.0 / points["budget"])


def calibrated(budgets=(1.0, 3.0), off: float = 1.0, seeds: int = 2) -> Sweep:
    """Walks whose noise is computed from a label."""
    free = grid(step_size=[0.1, 0.2], budget=list(budgets))
    entry = Entry(WALK, free, complete=partial(doubled, off=off), computed=("noise_multiplier",))
    return sweep_of({"Walk": entry}, seeds=seeds)


def with_other_ids(folder: Path) -> None:
    """Give the runs in a folder ids that say nothing, and leave out their method, as in committed results."""
    for path in part_files.parts_in(folder):
        part = part_files.read_part(path)
        ids = {id: f"old{id}" for id in part["point"].unique().to_pylist()}
        old = part_files.renamed(part, ids).drop_columns(["method"])
        content = part_files.as_file(old)
        path.unlink()
        part_files.write(part_files.part_path(folder, old, content), content)


def test_runs_under_other_ids_are_recognised_continued_under_them_and_left_in_place(tmp_path, capfd):
    folder = tmp_path / "smoke" / "tiny"
    before = run(calibrated(), tmp_path)
    with_other_ids(folder)
    parts = {path: path.read_bytes() for path in part_files.parts_in(folder)}
    elsewhere = calibrated(off=1 + 1e-12)
    assert status(elsewhere, "smoke", folder).total.missing == 0
    assert verify(elsewhere, folder) == []
    capfd.readouterr()
    after = run(calibrated(off=1 + 1e-12, seeds=3), tmp_path)
    said = capfd.readouterr().err
    assert "4 runs to do, 8 in" in said
    assert "set aside" not in said
    assert {path: path.read_bytes() for path in parts} == parts
    assert after.groupby("point")["seed"].nunique().eq(3).all()
    assert after.groupby("point")["noise_multiplier"].nunique().eq(1).all()
    assert set(before["point"]).isdisjoint(after["point"])
    keys = ["step_size", "budget", "seed", "rounds"]
    there, still = (rows.set_index(keys)["excess_risk"].sort_index() for rows in (before, after[after["seed"] < 2]))
    pd.testing.assert_series_equal(there, still)


def test_runs_of_two_ids_become_one_point_when_they_are_merged(tmp_path, monkeypatch):
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: calibrated(seeds=3))
    run(calibrated(seeds=2), tmp_path / "old")
    with_other_ids(tmp_path / "old" / "smoke" / "tiny")
    run(calibrated(seeds=3), tmp_path / "new")
    (done,), left_out, notes = merge.merge(SWEEPS, [tmp_path / "old", tmp_path / "new"], tmp_path / "both")
    assert (done.runs, done.twice, left_out, notes) == (12, 8, [], [])
    whole = table(tmp_path / "both" / "smoke" / "tiny")
    assert whole["point"].nunique() == 4
    assert whole.groupby("point")["seed"].nunique().eq(3).all()
    assert verify(calibrated(seeds=3), tmp_path / "both" / "smoke" / "tiny") == []


def test_runs_with_other_computed_numbers_are_outdated_whatever_their_id(tmp_path, capfd):
    run(calibrated(), tmp_path)
    folder = tmp_path / "smoke" / "tiny"
    changed = calibrated(off=1.01)
    assert [point.id for point in points(changed)] == [point.id for point in points(calibrated())]
    assert "of other settings" in verify(changed, folder)[0]
    run_sweep(changed, scale="smoke", out=tmp_path)
    assert capfd.readouterr().err.count("4 runs of other settings, data or code versions") == 2  # two splits
    assert set(part_files.read(folder)["noise_multiplier"]) == {2.02, 2.02 / 3}


def points(sweep: Sweep) -> list[Point]:
    return [point for group in resolved(sweep).values() for point in group]


def test_the_id_is_the_same_for_the_last_digits_of_what_is_computed_and_of_what_is_given():
    third = 1 / 3
    (one,), (other,) = (points(walks(steps=(step,))) for step in (third, np.nextafter(third, 1)))
    assert one.id == other.id
    assert rounded(third) == 0.333333333
    assert as_text(1234567891) != as_text(1234567890)


@pytest.mark.parametrize("name", SWEEPS)
def test_what_is_not_computed_identifies_every_point(name):
    for label, entry in made(name, "laptop").entries.items():
        asked = [column for column in entry.points if column not in entry.computed]
        assert not entry.points.duplicated(asked).any(), label


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (
            lambda sweep: sweep._replace(
                tasks={"synthetic": partial(TASK.func, **TASK.keywords | {"num_clients": 13})}
            ),
            "data",
        ),
        (lambda sweep: sweep._replace(eval_every=10), "evaluations"),
        (lambda sweep: sweep._replace(num_rounds=40), "rounds"),
        (lambda sweep: sweep._replace(delta=1e-5), "delta"),
        (lambda sweep: sweep._replace(entries={"Walk": replace(sweep.entries["Walk"], method=OTHER)}), "a method"),
        (lambda sweep: sweep._replace(entries={"Walk": replace(sweep.entries["Walk"], method=LATER)}), "a version"),
    ],
)
def test_runs_that_were_asked_for_otherwise_are_outdated_whatever_their_id(tmp_path, changed, why):
    folder = tmp_path / "smoke" / "tiny"
    run(calibrated(), tmp_path)
    for own_ids in (True, False):
        if not own_ids:
            with_other_ids(folder)
        assert verify(calibrated(), folder) == []
        found = verify(changed(calibrated()), folder)
        if why == "a method" and not own_ids:  # rows that do not name theirs are told apart by its version
            assert found == []
            continue
        assert len(found) == 2, (why, own_ids)
        words = "duplicate or other rows" if why == "evaluations" else "of other settings"
        assert all(words in line for line in found), (why, own_ids)


def another_walk(task, *, step_size: Scalar, noise_multiplier: Scalar = 1.0) -> Algorithm:
    return WALK.make(task, step_size=step_size, noise_multiplier=noise_multiplier)


OTHER = WALK._replace(make=another_walk)
LATER = WALK._replace(version=WALK.version + 1)


def test_a_given_number_may_differ_in_its_last_digits_too(tmp_path):
    def sweep(step):
        return sweep_of({"Walk": Entry(WALK, grid(step_size=[step]))})

    run(sweep(0.09999999999999999), tmp_path)
    folder = tmp_path / "smoke" / "tiny"
    assert verify(sweep(0.1), folder) == []
    with_other_ids(folder)
    assert verify(sweep(0.1), folder) == []
    assert verify(sweep(0.1001), folder) != []


def test_a_number_that_the_rows_lack_is_not_taken_from_them(tmp_path):
    (point, *_) = points(calibrated())
    row = {"point": "older", "noise_multiplier": float("nan")}
    assert point.known_as(row).traced == point.traced
    assert point.known_as(row | {"noise_multiplier": 2.5}).traced["noise_multiplier"] == 2.5


def test_a_selection_has_the_ids_of_the_whole():
    whole = calibrated()
    ids = {point.id for point in points(whole)}
    assert {point.id for point in points(select(whole, "noise_multiplier > 1"))} < ids


def test_points_that_only_a_computed_column_tells_apart_are_refused():
    same = grid(step_size=[0.1], noise_multiplier=[1.0, 2.0])
    sweep = sweep_of({"Walk": Entry(WALK, same, computed=("noise_multiplier",))})
    with pytest.raises(InputError, match="has the same point twice"):
        points(sweep)


# ---- Other processors ----

RECOGNISE = """
import sys
sys.path[:0] = ["tests/helpers", "tests/store"]
from test_other_machines import RESULTS, unrecognised
from made_sweeps import made
for name in ("decor_noise", "correlated_noise_sums", "p2p_private", "isrl_nonsmooth", "mrmtl_school", "ppsgd_theory"):
    print(name, unrecognised(made(name, "laptop"), RESULTS / name))
"""
RUN = """
import sys
sys.path[:0] = ["tests/helpers"]
from tiny_sweeps import private_sgd, run
from pathlib import Path
run(private_sgd(), Path(sys.argv[1]))
"""


INTEL = platform.machine() in ("x86_64", "AMD64")


def of_another(program: str, *words: str, **variables: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, cwd=ROOT, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_with_the_linear_algebra_of_another_processor_the_results_are_recognised():
    """OpenBLAS takes the kernels of the processor that it is told, as it does on a machine that has it."""
    lines = of_another(RECOGNISE, OPENBLAS_CORETYPE="Nehalem" if INTEL else "ARMV8").splitlines()
    assert len(lines) == 6
    assert [line for line in lines if not line.endswith(" []")] == []


@pytest.mark.slow
@pytest.mark.skipif(not INTEL, reason="the instructions are named for these processors alone")
def test_with_the_instructions_of_an_older_processor_the_rows_are_those_of_this_one_up_to_rounding(tmp_path):
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa=SSE4_2".strip()
    of_another(RUN, str(tmp_path), XLA_FLAGS=flags)
    there = table(tmp_path / "smoke" / "tiny")
    assert status(private_sgd(), "smoke", tmp_path / "smoke" / "tiny").total.missing == 0
    here = run(private_sgd(), tmp_path / "here")
    pd.testing.assert_frame_equal(
        here[["point", "seed", "rounds", "excess_risk"]], there[["point", "seed", "rounds", "excess_risk"]], rtol=1e-4
    )
