"""Notes beside the table of a comparison: what its reader must know, that on the requested methods first."""

from types import SimpleNamespace

import pandas as pd
import pytest

from bench.comparison.result import Comparison


def compared(space=(), **steps):
    """A comparison of methods with these numbers of local steps; the first is requested."""
    runs = pd.DataFrame({"algorithm": list(steps), "num_steps": list(steps.values())})
    first, *others = steps
    candidates = {first: SimpleNamespace(space=dict.fromkeys(space))}
    plan = SimpleNamespace(candidates=candidates)
    return SimpleNamespace(runs=runs, requested=[first], baselines=others, plan=plan)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ({"mine": 1, "a": 5, "b": 5}, ["mine takes 1 local step in a round, while a, b take 5"]),
        ({"mine": 2, "a": 5, "b": None}, ["mine takes 2 local steps in a round, while a takes 5"]),
        ({"mine": 5, "a": 5}, []),
        ({"mine": None, "a": 5}, []),
    ],
)
def test_another_number_of_local_steps_than_the_baselines_is_said(steps, said):
    whole = [f"{text}: --set num_steps=5 gives it as many" for text in said]
    assert Comparison.other_steps.fget(compared(**steps)) == whole
    assert Comparison.other_steps.fget(compared(space=["num_steps"], **steps)) == []


def test_notes_on_requested_methods_come_first(twin):
    requested = twin.requested
    about = [any(label in note for label in requested) for note in twin.notes]
    assert about == sorted(about, reverse=True)
    assert any(about)
