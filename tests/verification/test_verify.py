"""Verification: what is as it was passes, and any change by hand is found and named."""

import shutil
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import bench
from bench.cli.app import app
from bench.errors import InputError
from bench.kernels import draws
from bench.papers.correlated_noise import sweeps as correlated_noise
from bench.store import part_files
from bench.sweeps import rows
from bench.sweeps.spec import Sweep
from bench.verification.drawn import Folder, draw

SWEEP, SCALE = "correlated_noise_sums", "smoke"


@pytest.fixture(scope="module", autouse=True)
def seldom_evaluated():
    """The sweep with four evaluations in place of 200, each of which has its epsilons, too."""
    sums = correlated_noise.SWEEPS[SWEEP]

    def seldom(scale):
        return sums(scale)._replace(eval_every=50) if scale == SCALE else sums(scale)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(bench.papers.SWEEPS, SWEEP, seldom)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory, seldom_evaluated) -> Path:
    """Results of a sweep that takes a second."""
    out = tmp_path_factory.mktemp("results")
    bench.run(SWEEP, SCALE, seeds=2, out=out, workers=1)
    return out


@pytest.fixture
def results(made, tmp_path) -> Path:
    """A copy, to be changed."""
    shutil.copytree(made, tmp_path / "results")
    return tmp_path / "results"


def verified(results, points=2) -> pd.DataFrame:
    return bench.verify(scale=SCALE, out=results, points=points, workers=1)


def rewritten(results: Path, change) -> None:
    """Change the rows of every part, under a name that fits its new content."""
    for path in part_files.parts_in(results / SCALE / SWEEP):
        table = part_files.read_part(path).to_pandas()
        path.unlink()
        table = pa.Table.from_pandas(change(table), preserve_index=False).replace_schema_metadata(None)
        content = part_files.as_file(table)
        part_files.write(part_files.part_path(path.parent, table, content), content)


def test_results_that_were_made_here_come_out_again_and_are_not_changed(results):
    before = {path: path.read_bytes() for path in results.rglob("*.parquet")}
    found = verified(results, points=3)
    assert set(found["outcome"]) <= {"equal", "equal up to rounding"}
    assert found["largest"].max() < 1e-5
    assert len(found[["point", "trial", "seed"]].drop_duplicates()) == 3
    assert {path: path.read_bytes() for path in results.rglob("*.parquet")} == before


def test_quiet_runs_and_checks_print_nothing(results, capsys):
    for work in (
        lambda quiet: bench.run(SWEEP, SCALE, seeds=2, out=results, workers=1, quiet=quiet),
        lambda quiet: bench.verify(scale=SCALE, out=results, points=1, workers=1, quiet=quiet),
    ):
        for quiet in (False, True):
            work(quiet)
            assert (capsys.readouterr().err == "") == quiet


def test_runs_whose_data_cannot_be_had_are_left_out(results, monkeypatch):
    def refuse(sweep, name, trial):
        raise InputError("digits: not in BENCH_DATA or cache")

    monkeypatch.setattr(Sweep, "task", refuse)
    found = verified(results)
    assert set(found["outcome"]) == {"left out"}
    assert set(found["what"]) == {"digits: not in BENCH_DATA or cache"}


def test_a_score_that_was_changed_by_hand_is_found_and_named(results):
    rewritten(results, lambda table: table.assign(mean_square=table["mean_square"] * 1.01))
    found = verified(results, points=1).iloc[0]
    assert found["outcome"] == "different"
    assert found["what"].startswith("mean_square after ")
    assert found["largest"] == pytest.approx(0.01, rel=0.1)


def test_a_file_that_was_changed_is_damaged(results):
    (path,) = part_files.parts_in(results / SCALE / SWEEP)[:1]
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    found = verified(results, points=20)
    assert "damaged" in set(found["outcome"])
    assert path.name in found.loc[found["outcome"] == "damaged", "what"].iloc[0]


@pytest.mark.slow
def test_another_constant_of_a_method_is_found(results, monkeypatch):
    normal = draws.normal
    monkeypatch.setattr(draws, "normal", lambda *args, **kwargs: 1.02 * normal(*args, **kwargs))
    jax.clear_caches()  # programs that were traced before, in this process
    assert set(verified(results)["outcome"]) == {"different"}
    jax.clear_caches()


@pytest.mark.slow
def test_another_accountant_is_found(results, monkeypatch):
    monkeypatch.setattr(rows, "_accounted", {})
    accounted = rows.epsilons
    monkeypatch.setattr(rows, "epsilons", lambda release, counts: accounted(release, counts) * 1.001)
    found = verified(results)
    assert set(found["outcome"]) == {"different"}
    assert found["what"].str.contains("epsilon").all()


def test_another_version_of_a_method_is_outdated(results, monkeypatch):
    sums = bench.papers.SWEEPS[SWEEP]

    def newer(scale):
        sweep = sums(scale)
        newer = {
            name: replace(entry, method=entry.method._replace(version=99)) for name, entry in sweep.entries.items()
        }
        return sweep._replace(entries=newer)

    monkeypatch.setitem(bench.papers.SWEEPS, SWEEP, newer)
    found = verified(results)
    assert set(found["outcome"]) == {"outdated"}
    assert found["what"].str.contains("another version").all()


def test_the_command_ends_with_status_1_and_names_the_run(results):
    rewritten(results, lambda table: table.assign(mean_square=table["mean_square"] * 1.01))
    command = ["verify", "--scale", SCALE, "--out", str(results), "--points", "1", "--workers", "1"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    assert done.stdout.startswith(f"different: {SWEEP}, DP-FedAvg, point ")
    assert "1 NOT as they were" in done.stdout


def test_a_draw_follows_from_its_seed_and_takes_all_sweeps_in_turn(results):
    shutil.copytree(results / SCALE / SWEEP, results / SCALE / "another")
    folders = [Folder(results / SCALE / name) for name in (SWEEP, "another")]
    first, again, other = (draw(folders, 4, 1e6, seed).runs for seed in (5, 5, 6))
    assert [run[:5] for run in first] == [run[:5] for run in again] != [run[:5] for run in other]
    assert [run.sweep for run in first].count(SWEEP) == 2


def test_runs_that_would_take_too_long_are_not_drawn(results):
    rewritten(results, lambda table: table.assign(compile_s=np.where(table["seed"] == 0, 1e4, 1.0)))
    found = draw([Folder(results / SCALE / SWEEP)], 20, 3000.0, 1)
    assert {run.seed for run in found.runs} == {1}
    assert found.too_long > 0
    assert found.seconds < 3000.0


def test_runs_of_a_gpu_are_not_run_again_and_counted(results):
    rewritten(results, lambda table: table.assign(device=np.where(table["seed"] == 0, "1 x NVIDIA H100", "1 x cpu")))
    found = draw([Folder(results / SCALE / SWEEP)], 20, 1e6, 1)
    assert {run.seed for run in found.runs} == {1}
    assert found.accelerated > 0
    rewritten(results, lambda table: table.assign(device="1 x NVIDIA H100"))
    done = CliRunner().invoke(app, ["verify", "--scale", SCALE, "--out", str(results), "--points", "2"])
    assert done.exit_code == 0
    assert "further draws were of runs of a GPU or TPU" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sweeps": "correlated_noise_sum"}, "did you mean correlated_noise_sums?"),
        ({"points": 0}, "it must be at least 1"),
        ({"sweeps": "ppsgd_synthetic"}, "there are no results of ppsgd_synthetic at scale smoke"),
        ({"out": "nowhere"}, "there are no results at scale smoke in nowhere"),
    ],
)
def test_bad_input_is_refused_in_a_line(results, arguments, words):
    with pytest.raises(InputError, match=words) as refused:
        bench.verify(**{"scale": SCALE, "out": results} | arguments)
    assert "\n" not in str(refused.value)
