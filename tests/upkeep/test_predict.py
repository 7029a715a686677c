"""Predictions: what was measured comes back, users and points scale it, and what nobody measured is said so."""

import json

import jax
import pytest
from tiny_sweeps import private_sgd, run

from bench.algorithms import ALGORITHMS
from bench.api import runs
from bench.cli import upkeep
from bench.data.files import DataFiles
from bench.errors import InputError
from bench.papers import SWEEPS
from bench.perf import users
from bench.store import part_files
from bench.sweeps import engine
from bench.sweeps.points import resolve
from bench.sweeps.spec import grid
from bench.upkeep import predict
from bench.upkeep.predict import static_of, user_bytes, with_users, written


def tiny(sizes=(2,)):
    points = grid(step_size=[0.1, 0.2], personalization=1.0, clip_norm=1.0, noise_multiplier=1.0, batch_size=sizes)
    return private_sgd(points=points.assign(num_sampled=4, sampler="fixed"))


@pytest.fixture(autouse=True)
def sweep(monkeypatch):
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: tiny())


def predicted(out, **options):
    (one,) = predict.predict(["tiny"], "smoke", out, DataFiles(), **options)
    return one


def test_nothing_measured_is_said_and_bytes_are_counted(tmp_path):
    one = predicted(tmp_path)
    assert one.seconds == {"cpu": None, "gpu": None}
    assert set(one.hours.values()) == {None}
    assert one.user_bytes > 0
    assert "unmeasured" in written([one])


def test_a_measured_program_costs_what_it_cost(tmp_path):
    run(tiny(), tmp_path)
    one = predicted(tmp_path)
    rows = part_files.read(tmp_path / "smoke" / "tiny").drop_duplicates(part_files.IDENTITY)
    seconds = rows["wall_s"].quantile(0.25) / rows["num_rounds"].iloc[0]
    assert one.runs == len(rows)
    assert one.seconds["cpu"] == pytest.approx(seconds)
    assert one.hours["core"] == pytest.approx(len(rows) * rows["num_rounds"].iloc[0] * seconds / 3600)
    assert one.hours["1000 nodes"] < one.hours["core"]
    assert one.hours["gpu"] is None
    json.dumps(one.as_dict())


def test_points_and_users_make_it_dearer(tmp_path):
    run(tiny(), tmp_path)
    one, many, large = predicted(tmp_path), predicted(tmp_path, points=200), predicted(tmp_path, users=10**7)
    assert many.hours["core"] == pytest.approx(100 * one.hours["core"])
    assert (many.points, large.users) == (200, 10**7)
    assert large.memory == pytest.approx(10**7 * (large.user_bytes + large.state_bytes))
    with pytest.raises(InputError, match="--users is 0"):
        predicted(tmp_path, users=0)


def test_no_number_of_machines_shortens_a_single_run(tmp_path):
    run(tiny(), tmp_path)
    few = predicted(tmp_path, points=1)
    assert few.hours["1000 nodes"] * few.runs <= few.hours["core"] * 2
    assert few.hours["1000 nodes"] > few.hours["core"] / 1000


def test_shapes_of_more_users_are_those_of_a_task_that_has_them():
    many, shapes = users.generated(70), with_users(users.generated(20), 70)
    assert [leaf.shape for leaf in jax.tree.leaves(shapes)] == [leaf.shape for leaf in jax.tree.leaves(many)]
    assert shapes.num_clients == 70
    task = users.generated(20)
    assert dict(static_of((("num_sampled", 20),), task, 70)) == {"num_sampled": 70}
    assert dict(static_of((("num_sampled", 5),), task, 70)) == {"num_sampled": 5}
    assert dict(static_of((("num_sampled", 5),), task, 3)) == {"num_sampled": 3}


@pytest.mark.slow
@pytest.mark.parametrize("name", users.ARGS)
def test_bytes_of_a_user_are_those_of_compiled_programs(name, monkeypatch):
    monkeypatch.setattr(users, "MOST", 500)
    less, more = (users.round_of(name, users.generated(number)).bytes for number in (20_000, 40_000))
    static = (("batch_size", users.EXAMPLES), ("num_sampled", 500), ("sampler", "fixed"))
    program = engine.Program(ALGORITHMS[name].make, static, users.ROUNDS)
    found = sum(user_bytes(program, users.generated(50), users.ARGS[name], 20_000))
    assert found == pytest.approx((more - less) / 20_000, rel=0.25)


def test_groups_are_those_of_the_points(tmp_path):
    sweep = tiny(sizes=(2, 3))
    (name,) = sweep.tasks
    tasks = {name: sweep.task(name, 0)}
    (entry,) = sweep.entries.values()
    groups = predict._groups(sweep, entry, tasks)
    points = resolve(sweep, tasks)[name]
    assert {(group.static, group.num_rounds, group.eval_every) for group in groups} == {
        (point.static, point.num_rounds, point.eval_every) for point in points
    }
    assert sum(group.count for group in groups) == len(points)


def test_the_command_prints_them_and_writes_json(tmp_path, capsys):
    run(tiny(), tmp_path)
    upkeep.status(["tiny"], out=tmp_path, as_json=True, predict=True, points=6)
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["there"], one["predictions"][0]["points"]) == (4, 6)
    upkeep.status(["tiny"], out=tmp_path, predict=True)
    assert "core-s a point and round" in capsys.readouterr().out
    with pytest.raises(InputError, match="add --predict"):
        upkeep.status(["tiny"], out=tmp_path, users=5)
    with pytest.raises(InputError, match="name the sweeps"):
        upkeep.status([], out=tmp_path, predict=True)


def test_from_python_it_is_a_table(tmp_path):
    run(tiny(), tmp_path)
    there = runs.status("tiny", out=tmp_path)
    assert there[["wanted", "there", "missing"]].values.tolist() == [[4, 4, 0]]
    table = runs.status("tiny", predict=True, users=1000, points=3, out=tmp_path)
    assert table["users"].tolist() == [1000]
    assert table["hours.core"].iloc[0] > 0
