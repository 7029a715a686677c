"""The file of `python -m bench perf --out`: its lines, and that the numbers of other benchmarks stay."""

import json
import math

import pytest

from bench import perf
from bench.errors import InputError
from bench.perf import commands
from bench.perf.measure import Measurement


@pytest.fixture
def two(monkeypatch):
    made = {
        "first": lambda: [Measurement("speed", 2.5, "x"), Measurement("not here", math.nan, "s")],
        "second": lambda: [Measurement("size", 3.0, "GB")],
    }
    monkeypatch.setattr(perf, "BENCHMARKS", made)


def lines(found: dict, name: str) -> dict[str, float]:
    return {line["what"]: line["value"] for line in found[name]["lines"]}


def test_the_file_keeps_the_numbers_of_other_benchmarks(two, tmp_path, capsys):
    path = tmp_path / "perf.json"
    perf.report(["first"], out=path)
    first = json.loads(path.read_text())
    assert set(first) == {"first"}
    assert lines(first, "first").items() >= {("speed", 2.5)}
    assert "not here" not in lines(first, "first")
    assert "not here" in capsys.readouterr().out
    assert first["first"]["shares_of_limit"] == {}
    assert {"date", "device", "processor", "jax", "commit", "load_before"} <= set(first["first"])
    perf.report(["second"], out=path)
    both = json.loads(path.read_text())
    assert both["first"] == first["first"]
    assert lines(both, "second")["size"] == 3.0


@pytest.mark.parametrize("content", ["no json", "[1]", '{"another": {}}'])
def test_another_file_is_not_overwritten(two, tmp_path, content):
    path = tmp_path / "mine.json"
    path.write_text(content)
    with pytest.raises(InputError, match="name another file"):
        perf.report(["first"], out=path)
    assert path.read_text() == content


def test_commands_are_timed_on_the_wall_and_on_the_processor():
    waits, works = "import time; time.sleep(0.5)", "sum(range(3 * 10**6))"
    given = [f"python -S -c '{text}'" for text in (waits, works)]
    wall, used, _, worked = (line.value for line in commands.commands(given))
    assert wall >= 0.5 > used
    assert worked > 0.01
