"""The search for the noise: the bisection's own float, from few evaluations, and kept on disk."""

import json
import math
from functools import partial

import pytest
from slow_cases import rows

from bench import files
from bench.errors import InputError
from bench.privacy import accounting, events
from bench.privacy.accounting import disk, search

DELTA = 1e-5
RELEASES = {
    "rdp, Poisson": partial(events.poisson_gaussian, sampling_rate=0.02, delta=DELTA),
    "rdp, fixed size": partial(events.fixed_size_gaussian, sampling_rate=0.02, delta=DELTA),
    "rdp, everybody": partial(events.full_gaussian, delta=DELTA, accountant="rdp"),
    "gdp": partial(events.full_gaussian, delta=DELTA),
    "pld": partial(events.poisson_gaussian, sampling_rate=0.02, delta=DELTA, accountant="pld"),
    "Laplace": partial(events.laplace, delta=DELTA),
    "Laplace, pld": partial(events.laplace, delta=DELTA, accountant="pld"),
    "phases": lambda sigma: events.in_parallel([(events.full_gaussian(c * sigma, delta=DELTA), 20) for c in (1, 2)]),
    "after a start": lambda sigma: events.preceded_by(
        events.full_gaussian(sigma, delta=DELTA), events.full_gaussian(40.0, delta=DELTA)
    ),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    return tmp_path / disk.FOLDER


@pytest.fixture
def asked(monkeypatch):
    """How often an accountant is asked, as a list that grows."""
    calls, real = [], accounting.epsilon

    def counted(release, rounds):
        calls.append(rounds)
        return real(release, rounds)

    monkeypatch.setattr(accounting, "epsilon", counted)
    return calls


@pytest.mark.parametrize(
    ("name", "target"),
    rows([(name, target) for name in RELEASES for target in (0.5, 3, 20.0)], slow={("pld", 0.5), ("pld", 20.0)}),
)
def test_it_is_the_float_of_the_bisection_from_few_evaluations(name, target, asked):
    release, rounds = RELEASES[name], 100
    found = accounting.noise_multiplier(target, release, rounds)
    assert len(asked) <= 8
    low, high = search.bisect(target, lambda sigma: accounting.epsilon(release(sigma), rounds) <= target)
    assert found == accounting.safe(high) > high
    assert accounting.epsilon(release(found * (1 - 0.9 * accounting.MARGIN)), rounds) <= target
    assert not accounting.epsilon(release(low), rounds) <= target


@pytest.mark.parametrize(
    "spent",
    [
        lambda sigma: 2 / sigma if sigma > 0.9 else math.nan,  # not computed
        lambda sigma: 2 / sigma if sigma > 0.9 else math.inf,
        lambda sigma: 5.0 if sigma < 1.7 else 0.5,  # a step
        lambda sigma: 2 / sigma if sigma < 3 else 0.0,
        lambda sigma: 0.9 + 1e-3 / sigma,  # a floor just below the target
    ],
)
def test_an_accountant_that_no_line_fits_gets_the_bisection_all_the_same(spent):
    _, high = search.bisect(1.0, lambda sigma: spent(sigma) <= 1.0)
    for model in (lambda sigma: 1 / sigma, lambda sigma: 1e-3 / sigma**2):
        assert search.smallest(1.0, spent, model) == high


def test_what_no_noise_attains_and_what_holds_without_is_refused():
    for value, message in ((2.0, "no noise attains it"), (0.5, "it holds without noise")):
        with pytest.raises(InputError, match=message):
            search.smallest(1.0, lambda sigma, value=value: value, lambda sigma: 1 / sigma)


# ---- Kept on disk ----


def release(sigma, delta=DELTA):
    return events.full_gaussian(sigma, delta=delta)


def test_the_second_time_nothing_is_searched(folder, asked):
    found = accounting.noise_multiplier(2.0, release, 10)
    assert len(list(folder.iterdir())) == 1
    asked.clear()
    assert accounting.noise_multiplier(2.0, release, 10) == found
    assert asked == [10]  # it is checked


@pytest.mark.parametrize(
    ("target", "other", "rounds"),
    [
        (2.5, release, 10),
        (2.0, release, 11),
        (2.0, partial(release, delta=1e-6), 10),
        (2.0, partial(events.full_gaussian, delta=DELTA, accountant="rdp"), 10),
        (2.0, partial(events.full_gaussian, delta=DELTA, neighbors=events.REPLACE), 10),
        (2.0, lambda sigma: release(sigma if sigma < 2 else 2 * sigma), 10),
    ],
)
def test_anything_else_is_computed(target, other, rounds, asked):
    accounting.noise_multiplier(2.0, release, 10)
    asked.clear()
    accounting.noise_multiplier(target, other, rounds)
    assert asked


def test_other_accountants_do_not_read_it(asked, monkeypatch):
    accounting.noise_multiplier(2.0, release, 10)
    asked.clear()
    monkeypatch.setattr(disk, "_computed_by", lambda: ["another version"])
    accounting.noise_multiplier(2.0, release, 10)
    assert asked


def _of_another(content):
    return json.dumps(content | {"noise_multiplier": (1.5).hex()})


@pytest.mark.parametrize(
    "broken",
    [
        lambda content: "",
        lambda content: json.dumps(content)[:-20],
        lambda content: "[1]",
        lambda content: json.dumps({"noise_multiplier": 3}),
        lambda content: json.dumps(content | {"noise_multiplier": "nan"}),
        _of_another,
    ],
)
def test_a_damaged_file_is_made_anew(broken, folder, asked):
    found = accounting.noise_multiplier(2.0, release, 10)
    (path,) = folder.iterdir()
    whole = path.read_text()
    path.write_text(broken(json.loads(whole)))
    asked.clear()
    assert accounting.noise_multiplier(2.0, release, 10) == found
    assert asked
    assert path.read_text() == whole


@pytest.mark.parametrize("factor", [0.01, 0.999, 1.01, 100.0])
@pytest.mark.parametrize("name", ["gdp", "rdp, Poisson", "pld", "after a start"])
def test_a_number_that_somebody_else_put_there_is_not_believed(name, factor, folder):
    """The file is as if it had been written, but for its noise: with a hundredth of it, epsilon would be 200,000."""
    found = accounting.noise_multiplier(3.0, RELEASES[name], 100)
    (path,) = folder.iterdir()
    whole, noise = path.read_text(), found / (1 + accounting.MARGIN) * factor
    foreign = {"noise_multiplier": noise.hex(), "released": disk._described(RELEASES[name](noise), 100)}
    path.write_text(json.dumps(foreign))
    assert accounting.noise_multiplier(3.0, RELEASES[name], 100) == found
    assert path.read_text() == whole


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    found = accounting.noise_multiplier(2.0, release, 10)
    (tmp_path / "file").touch()
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "file"))
    assert accounting.noise_multiplier(2.0, release, 10) == found
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "full"))
    monkeypatch.setattr(files.os, "replace", _no_space)
    assert accounting.noise_multiplier(2.0, release, 10) == found
    assert list((tmp_path / "full" / disk.FOLDER).iterdir()) == []


def _no_space(*_):
    raise OSError(28, "No space left on device")
