"""A method whose `releases` has a word that nobody knows is refused in one line, before anything runs."""

import pytest
from tiny_sweeps import TASK, WALK, grid, sweep_of, walk

from bench import compare
from bench.algorithms.base import Method
from bench.errors import InputError
from bench.execution.run import run_sweep
from bench.privacy.events import Release, full_gaussian
from bench.sweeps.spec import Entry

MISSPELT = {
    "by a factory": lambda sigma, delta: full_gaussian(sigma, delta=delta, privacy_unit="usr"),
    "changed": lambda sigma, delta: full_gaussian(sigma, delta=delta)._replace(privacy_unit="usr"),
    "by hand": lambda sigma, delta: Release(**full_gaussian(sigma, delta=delta)._asdict() | {"privacy_unit": "usr"}),
    "in another reading": lambda sigma, delta: {
        "paper": full_gaussian(sigma, delta=delta),
        "tight": full_gaussian(sigma, delta=delta)._replace(privacy_unit="usr"),
    },
}
REFUSED = r"no privacy unit is called 'usr': did you mean user\?"


@pytest.fixture(params=MISSPELT)
def misspelt(request):
    make = MISSPELT[request.param]
    return Method(walk, lambda task, *, delta, noise_multiplier, **_: make(noise_multiplier, delta), version=1)


def test_a_run_is_refused_before_it_starts(misspelt, tmp_path):
    with pytest.raises(InputError, match=REFUSED) as error:
        run_sweep(sweep_of({"Walk": Entry(misspelt, grid(step_size=[0.1]))}), scale="smoke", out=tmp_path)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_comparison_is_refused(misspelt, tmp_path):
    with pytest.raises(InputError, match=REFUSED) as error:
        compare([misspelt], task="synthetic", epsilons=[1], seeds=1, rounds=2, num_settings=1, out=tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ({"neighbors": "replace"}, "no neighbouring relation is called 'replace'"),
        ({"accountant": "rpd"}, "no accountant is called 'rpd'"),
    ],
)
def test_so_are_a_relation_and_an_accountant(word, message):
    release = full_gaussian(1.0, delta=1e-4)._replace(**word)
    with pytest.raises(InputError, match=message):
        WALK._replace(releases=lambda task, *, delta, **_: release).readings(TASK(0), delta=1e-4)
