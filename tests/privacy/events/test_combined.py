"""Runs made of several releases: what they cost together, and what cannot be put together."""

import math

import numpy as np
import pytest
from small_events import DELTA, laplace

from bench.errors import InputError
from bench.privacy import events
from bench.privacy.accounting import epsilon, epsilons
from bench.privacy.events import ADD_OR_REMOVE, REPLACE


def test_a_run_of_several_parts_is_sound_if_all_of_them_are():
    good = events.laplace(1.0, delta=1e-4)
    doubtful = good._replace(sound=False)
    for first, then, sound in ((good, good, True), (good, doubtful, False), (doubtful, good, False)):
        assert events.preceded_by(then, first).sound is sound
        assert events.in_parallel([(first, 1), (then, 2)]).sound is sound


def test_nothing_released_costs_nothing():
    assert epsilons(events.nothing_released(delta=1e-4), [0, 1, 10**6]).tolist() == [0, 0, 0]


def test_a_start_costs_what_it_costs_before_the_first_round():
    for accountant in ("composition", "pld"):
        both = events.preceded_by(laplace(0.5, accountant), laplace(0.05, accountant))
        alone = epsilon(laplace(0.05, accountant), 1)
        assert alone > 0
        assert epsilons(both, [0, 1, 2])[0] == alone
    pure = events.preceded_by(laplace(0.5, "composition"), laplace(0.05, "composition"))
    np.testing.assert_allclose(epsilons(pure, [0, 1, 2]), [0.05, 0.55, 1.05])
    # A start with the same noise is one round more, and no start is no round more.
    same = events.preceded_by(laplace(0.5), laplace(0.5))
    assert [epsilon(same, n) for n in (0, 1, 5)] == [epsilon(laplace(0.5), n) for n in (1, 2, 6)]
    assert epsilon(laplace(0.5), 0) == 0


def test_no_noise_anywhere_costs_everything_from_where_it_is_missing():
    bare, noisy = events.laplace(0.0, delta=DELTA), laplace(1.0)
    assert epsilons(bare, [0, 1]).tolist() == [0, math.inf]
    assert epsilons(events.preceded_by(noisy, bare), [0, 3]).tolist() == [math.inf, math.inf]
    assert epsilon(events.preceded_by(bare, noisy), 0) < math.inf == epsilon(events.preceded_by(bare, noisy), 1)


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ({"privacy_unit": "user"}, "privacy_unit=user: what comes first must protect as what follows, point."),
        ({"neighbors": ADD_OR_REMOVE}, f"neighbors={ADD_OR_REMOVE}: what comes first must protect as what follows"),
        ({"protects_against": "nobody"}, "protects_against=nobody: "),
    ],
)
def test_a_start_that_protects_something_else_is_refused(first, message):
    with pytest.raises(InputError, match=message):
        events.preceded_by(laplace(1.0), laplace(1.0, **first))


def test_laplace_and_gaussian_releases_compose_by_pld():
    gaussian = events.full_gaussian(4.0, delta=DELTA, neighbors=REPLACE, accountant="pld", privacy_unit="point")
    alone = events.full_gaussian(4.0, delta=DELTA, neighbors=REPLACE)
    assert epsilon(gaussian, 9) == pytest.approx(epsilon(alone, 9), rel=2e-3)
    mixed = epsilon(events.preceded_by(gaussian, laplace(0.3)), 9)
    assert epsilon(gaussian, 9) < mixed < epsilon(gaussian, 9) + 0.3
    for accountant in ("composition", "gdp"):
        with pytest.raises(InputError, match=f"accountant {accountant} knows"):
            epsilon(events.preceded_by(gaussian._replace(accountant=accountant), laplace(0.3)), 9)
