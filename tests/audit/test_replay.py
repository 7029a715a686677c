"""Replay: a change is measured in the noise that hides it, right methods change what they declare, and no method passes
that lets a unit take part more often than declared.
"""

import math

import numpy as np
import pytest
from less_noise import with_less_noise
from mistaken_sums import METHOD
from slow_cases import rows

from bench.algorithms import ALGORITHMS
from bench.audit import audit
from bench.audit.replay import KEYS, TOLERANCE, Replay, Size, change_sizes, replay
from bench.audit.subject import Subject, calibrated_subject, count_releases, epsilon_spent, families_of, subject_of
from bench.audit.tasks import FAMILIES, SHAPES
from bench.audit.whole import ARGUMENTS
from bench.privacy.events import full_gaussian, laplace, poisson_gaussian

ONE = subject_of(METHOD, family="users", rounds=2, delta=1e-5, args={})
RNG = np.random.default_rng(0)


def sized(moved: np.ndarray, noise: np.ndarray, **how) -> Size | str:
    """What is found in one round, or in all, of changes [key, round, number]."""
    (found,) = change_sizes(ONE, moved, noise, how.pop("first", 1), 1.0, **how)
    return found


def test_a_change_is_counted_in_standard_deviations_of_noise_of_any_covariance():
    mix, move = RNG.normal(size=(6, 6)), RNG.normal(size=6)
    noise = (RNG.normal(size=(KEYS, 6)) @ mix).reshape(KEYS, 2, 3)
    moved = np.broadcast_to(move.reshape(2, 3), noise.shape)
    found = sized(moved, noise, first=0, all_rounds=True)
    assert found.l2 == pytest.approx(math.sqrt(move @ np.linalg.solve(mix.T @ mix, move)), rel=0.05)
    assert math.isnan(found.l1)


def test_numbers_that_some_runs_leave_out_count_where_they_are():
    """One of two numbers is sent, with noise for it alone."""
    sent = np.eye(2)[RNG.integers(2, size=KEYS)][:, None]
    found = sized(0.5 * sent, RNG.normal(size=(KEYS, 1, 2)) * sent)
    assert found.l2 == pytest.approx(0.5, rel=0.05)
    assert sized(0.5 * np.ones((KEYS, 1, 2)), RNG.normal(size=(KEYS, 1, 2)) * sent).l2 == math.inf


def test_a_change_that_follows_the_noise_grows_with_the_numbers_and_noise_of_changing_size_hides_as_much():
    noise = RNG.normal(size=(KEYS, 1, 9))
    assert sized(noise / 2, noise).l2 == pytest.approx(9**0.5 / 2, rel=0.05)
    size = np.exp(RNG.normal(size=(KEYS, 1, 1)) / 4)
    assert sized(0.5 * size * np.eye(9)[:1], size * noise).l2 == pytest.approx(0.5, rel=0.05)


def test_what_has_no_noise_is_named_and_what_has_none_of_its_own_is_left_to_the_whole_run():
    noise = RNG.normal(size=(KEYS, 2, 9)) * np.r_[np.ones(8), 0]
    moved = np.broadcast_to(np.eye(9)[8], noise.shape)
    found = sized(moved, noise, first=0, all_rounds=True)
    assert (found.l2, found.place) == (math.inf, "public before the first round has no noise")
    assert sized(moved[:, :1], noise[:, :1] + 3.0) == "round 1 draws no noise of its own"


def test_it_is_compared_with_what_is_declared():
    size = Size(l2=0.5, l1=1.0, share=1.0, place="here")

    def factor(release, share=1.0, distance=1):
        return Replay((size._replace(share=share),), "", {}, "").largest(release, 4, distance)[0]

    gaussian, laplacian = full_gaussian(4.0, delta=1e-5), laplace(4.0, delta=1e-5)
    assert factor(gaussian) == pytest.approx(0.5 / (4**0.5 / 4))
    assert factor(gaussian, share=0.25) == pytest.approx(0.5 / (1 / 4))
    assert factor(gaussian, distance=2) == pytest.approx(factor(gaussian) / 2)
    assert factor(laplacian) == pytest.approx(1.0 / (4 * 2 / (2**0.5 * 4)))  # a point is replaced
    assert math.isnan(factor(full_gaussian(0.0, delta=1e-5)))


@pytest.mark.parametrize(("often", "more"), [((0.75, 0.25), False), ((1.0, 0.0), True), ((0.5, 0.5), True)])
def test_samples_that_are_not_drawn_independently_are_seen(often, more):
    """Of two rounds at rate 1/2: independent draws, one batch of a shuffle, and draws that stay."""
    found = Replay((Size(0.5, 0.5, 1.0, "", often),), "", {}, "")
    assert found.more_often(poisson_gaussian(2.0, sampling_rate=0.5, delta=1e-5), 2) is more
    assert not found.more_often(full_gaussian(2.0, delta=1e-5), 2)


def test_what_takes_part_more_often_than_declared_does_not_pass():
    found = audit(METHOD, args={"mistake": "drawn once"}, family="users", runs=300)
    assert found.verdict == "inconclusive"
    assert "paper declares a sample, and the canary takes part in more rounds" in str(found).splitlines()[0]


QUICK = [("minibatch_sgd", "records"), ("coordinate_descent", "agents"), ("dp_fedsmp", "users")]
EVERY = [(name, family) for name, method in ALGORITHMS.items() if name != "admm" for family in families_of(method)]


def with_noise(name: str, family: str) -> tuple[Subject, int]:
    given = ARGUMENTS.get((name, family), {})
    one = subject_of(ALGORITHMS[name], family=family, rounds=4, delta=1e-5, args=given)
    most = count_releases(one)
    return calibrated_subject(one, 3.0, most)[0], most


@pytest.mark.parametrize(("name", "family"), rows(EVERY, slow=[one for one in EVERY if one not in QUICK]))
def test_no_built_in_method_changes_more_than_it_declares_on_any_task(name, family):
    one, most = with_noise(name, family)
    proven = {
        key: release for key, release in one.readings().items() if release.sound and epsilon_spent(release, most) > 0
    }
    for relation in {release.neighbors for release in proven.values()}:
        units = {release.privacy_unit for release in one.readings().values()}
        shapes = SHAPES[:1] if "coordinate" in units else FAMILIES[family].shapes
        found = replay(one, relation, shapes, most, 0)
        wrong = with_less_noise(one.method).readings(one.task, delta=one.delta, **one.args)
        for key, release in proven.items():
            if release.neighbors == relation and epsilon_spent(release, most) < math.inf:
                assert found.largest(release, most)[0] < TOLERANCE
                assert not found.more_often(release, most)
                assert found.largest(wrong[key], most)[0] == pytest.approx(
                    2 * found.largest(release, most)[0], rel=1e-3
                )
