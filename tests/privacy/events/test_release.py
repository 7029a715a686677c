"""The words of a release: known ones are taken, others refused in one line; noise is that of a sum."""

import math
import subprocess
import sys

import pytest
from scipy import stats

from bench.errors import InputError
from bench.privacy import events
from bench.privacy.accounting import epsilon


def test_the_package_stays_on_the_host():
    code = "import sys, bench.privacy.sums; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_noise_on_a_mean_is_not_noise_on_a_sum():
    num_sampled, clip, sigma = 10, 0.5, 2.0
    released = epsilon(events.full_gaussian(sigma, delta=1e-5), 1)

    def delta_of(sensitivity, noise_std):  # of one release, Balle and Wang 2018, Theorem 8
        half, shift = sensitivity / (2 * noise_std), released * noise_std / sensitivity
        return stats.norm.cdf(half - shift) - math.exp(released) * stats.norm.cdf(-half - shift)

    assert delta_of(clip, sigma * clip) == pytest.approx(1e-5, rel=1e-6)
    assert delta_of(clip / num_sampled, sigma * clip / num_sampled) == pytest.approx(1e-5, rel=1e-6)
    assert delta_of(clip, sigma * clip / num_sampled) > 0.5  # the noise of a mean, put on a sum


SAMPLED = {"sampling_rate": 0.1}
BOUNDED = {"max_participations": 3}
FACTORIES = [
    (events.poisson_gaussian, (1.0,), SAMPLED),
    (events.fixed_size_gaussian, (1.0,), SAMPLED),
    (events.full_gaussian, (1.0,), {}),
    (events.bounded_participation_gaussian, (1.0,), BOUNDED),
    (events.correlated_gaussian, (1.0,), {"sensitivity": float}),
    (events.gaussian, (1.0,), {"sampling": "none"}),
    (events.laplace, (1.0,), {}),
    (events.nothing_released, (), {}),
]


@pytest.mark.parametrize(("factory", "noise", "args"), FACTORIES, ids=[one[0].__name__ for one in FACTORIES])
def test_every_factory_takes_the_known_units_of_privacy_and_refuses_others(factory, noise, args):
    for unit in events.PRIVACY_UNITS:
        assert factory(*noise, delta=1e-5, privacy_unit=unit, **args).privacy_unit == unit
    with pytest.raises(InputError) as error:
        factory(*noise, delta=1e-5, privacy_unit="usr", **args)
    assert str(error.value) == "no privacy unit is called 'usr': did you mean user?"


@pytest.mark.parametrize("factory", [events.full_gaussian, events.laplace])
@pytest.mark.parametrize(
    ("word", "message"),
    [
        ({"neighbors": "replace"}, "no neighbouring relation is called 'replace': did you mean replace one?"),
        ({"accountant": "compositon"}, "no accountant is called 'compositon': did you mean composition?"),
        ({"privacy_unit": "qqqq"}, "choose from coordinate, example, point, record, user."),
        ({"privacy_unit": None}, "no privacy unit is called 'None'"),
    ],
)
def test_a_word_that_an_accountant_reads_is_refused_if_it_is_misspelt(factory, word, message):
    for make in (factory, lambda sigma, **changes: events.checked(factory(sigma, delta=1e-5)._replace(**changes))):
        with pytest.raises(InputError) as error:
            make(1.0, **word | ({"delta": 1e-5} if make is factory else {}))
        assert message in str(error.value)


def test_replace_one_counts_the_noise_half():
    add = events.full_gaussian(2.0, delta=1e-5, neighbors="add-or-remove one").event(1).event
    replace = events.full_gaussian(2.0, delta=1e-5, neighbors="replace one").event(1).event
    assert (add.noise_multiplier, replace.noise_multiplier) == (2.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noise_multiplier": -1.0}, "noise_multiplier=-1.0: give a finite number, 0 or more."),
        ({"noise_multiplier": float("nan")}, "noise_multiplier=nan: give a finite number, 0 or more."),
        ({"sampling_rate": 1.5}, "sampling_rate=1.5: give a fraction above 0 and at most 1."),
        ({"sampling_rate": 0.0}, "sampling_rate=0.0: give a fraction above 0 and at most 1."),
        ({"delta": 1.0}, "delta=1.0: give a probability from 1e-20 to below 1."),
        ({"delta": 0.0}, "delta=0.0: give a probability from 1e-20 to below 1."),
        ({"sampling": "poison"}, "no sampling is called 'poison': did you mean poisson?"),
        ({"sampling": "none"}, "sampling_rate=0.1: leave it out with sampling none."),
        (
            {"sampling": "fixed", "accountant": "pld"},
            "accountant pld does not know sampling fixed: use rdp_wide or rdp.",
        ),
    ],
)
def test_bad_input_names_the_culprit_and_the_remedy_in_one_line(changes, message):
    good = {"noise_multiplier": 1.0, "sampling": "poisson", "sampling_rate": 0.1, "delta": 1e-5}
    with pytest.raises(InputError) as error:
        events.gaussian(**(good | changes))
    assert str(error.value) == message
