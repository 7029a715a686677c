"""A task has one name in every command."""

import pytest

from bench.comparison.problems import PROBLEMS, problem
from bench.data.tasks.registry import COMPARED, TASKS
from bench.errors import InputError
from bench.execution.chosen import chosen
from bench.upkeep.merge import sweep_named


def test_sweeps_run_on_what_methods_are_compared_on(monkeypatch):
    monkeypatch.delitem(PROBLEMS, "tiny", raising=False)  # of the tests of comparisons, while they last
    assert set(COMPARED) == set(PROBLEMS)
    for name in COMPARED:
        sweep = chosen("server_optimisers", "smoke", task=name).whole
        assert sweep.name == sweep_named(sweep.name, "smoke", None).name == f"server_optimisers_on_{name}"
        assert sweep.tasks == {name: TASKS.get(name, COMPARED[name])}


def test_a_task_of_sweeps_alone_is_refused_by_a_comparison_in_a_line_that_says_why():
    with pytest.raises(
        InputError, match=r"task made_up_schools says neither which data tune a method nor what is priv"
    ):
        problem("made_up_schools")
