"""What a Gaussian release says, in words, in events and in epsilon: the mistakes of this field would show here."""

import math

import dp_accounting as dp
import pytest
from scipy import stats

from bench.errors import InputError
from bench.privacy import events
from bench.privacy.accounting import epsilon, epsilons, noise_multiplier
from bench.privacy.events import REPLACE


def readings(noise_multiplier=1.0, num_clients=1000, num_sampled=10, max_participations=5, sampler="poisson"):
    return events.gaussian_readings(
        noise_multiplier=noise_multiplier,
        num_clients=num_clients,
        num_sampled=num_sampled,
        sampler=sampler,
        delta=1e-4,
        max_participations=max_participations,
        privacy_unit="user",
        protects_against="the other users",
    )


def test_the_four_readings_hold_the_multipliers_rates_and_counts_of_the_mechanism():
    # Written out: a noise scaled by Q, a rate by the batch size, a lost factor 2 or count would each show here.
    events_of = {name: release.event(300) for name, release in readings(noise_multiplier=3.0).items()}
    poisson = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(3.0)), 300)
    assert events_of == {
        "paper": poisson,
        "sampler": dp.SelfComposedDpEvent(dp.SampledWithoutReplacementDpEvent(100, 1, dp.GaussianDpEvent(1.5)), 300),
        "tight": poisson,
        "worst_case": dp.SelfComposedDpEvent(dp.GaussianDpEvent(1.5), 5),
    }


@pytest.mark.parametrize(
    ("sampler", "num_sampled", "sound"),
    [
        ("poisson", 10, {"paper", "tight", "worst_case"}),
        ("fixed", 10, {"sampler", "worst_case"}),
        ("queue", 10, {"worst_case"}),
        ("all", 1000, {"paper", "sampler", "tight", "worst_case"}),
    ],
)
def test_a_reading_is_sound_only_for_the_sampler_that_it_describes(sampler, num_sampled, sound):
    said = readings(sampler=sampler, num_sampled=num_sampled)
    assert {name for name, release in said.items() if release.sound} == sound


def test_with_everybody_in_each_round_the_tight_reading_is_the_closed_form():
    full = readings(num_sampled=1000)
    assert full["tight"].event(7) == dp.SelfComposedDpEvent(dp.GaussianDpEvent(1.0), 7)
    assert full["tight"].accountant == "gdp"
    assert full["paper"].event(7) == dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(1.0, dp.GaussianDpEvent(1.0)), 7)


def test_each_reading_says_relation_sampler_and_accountant():
    said = {name: (r.neighbors, r.sampler, r.accountant) for name, r in readings().items()}
    assert said == {
        "paper": ("add-or-remove one", "poisson", "rdp"),
        "sampler": ("replace one", "fixed size without replacement", "rdp"),
        "tight": ("add-or-remove one", "poisson", "pld"),
        "worst_case": ("replace one", "any schedule", "gdp"),
    }
    assert {(r.privacy_unit, r.protects_against, r.delta) for r in readings().values()} == {
        ("user", "the other users", 1e-4)
    }


@pytest.mark.parametrize(
    ("max_participations", "rounds", "count"),
    [(5, 300, 5), (5, 3, 3), (0, 300, 0), (lambda rounds: rounds // 10, 300, 30), (lambda rounds: 7, 4, 4)],
)
def test_participations_are_a_number_or_a_function_and_never_more_than_the_rounds(max_participations, rounds, count):
    release = readings(max_participations=max_participations)["worst_case"]
    assert release.event(rounds).count == count


@pytest.mark.parametrize("rate", [0.01, 1 / 94, 1 / 3, 1e-12, 0.9999999, 1.0])
def test_the_fixed_size_event_keeps_the_rate_exactly(rate):
    event = events.fixed_size_gaussian(1.0, sampling_rate=rate, delta=1e-5).event(1).event
    assert event.sample_size / event.source_dataset_size == rate


def test_no_noise_is_described_as_not_private_and_local_learning_as_nothing():
    for release in readings(noise_multiplier=0.0).values():
        assert isinstance(release.event(3).event, dp.NonPrivateDpEvent)
    assert events.nothing_released(delta=1e-4).event(1000) == dp.NoOpDpEvent()


@pytest.mark.parametrize(
    ("sampling", "accountant", "same_as"),
    [
        ("poisson", "rdp", events.poisson_gaussian(2.0, sampling_rate=0.1, delta=1e-5)),
        ("poisson", "pld", events.poisson_gaussian(2.0, sampling_rate=0.1, delta=1e-5, accountant="pld")),
        ("fixed", "rdp", events.fixed_size_gaussian(2.0, sampling_rate=0.1, delta=1e-5)),
        ("none", "rdp", events.full_gaussian(2.0, delta=1e-5, accountant="rdp")),
        ("none", "pld", events.full_gaussian(2.0, delta=1e-5, accountant="gdp")),
    ],
)
def test_a_release_by_name_is_the_one_by_factory(sampling, accountant, same_as):
    rate = 1.0 if sampling == "none" else 0.1
    named = events.gaussian(2.0, sampling=sampling, sampling_rate=rate, accountant=accountant, delta=1e-5)
    assert named._replace(event=None) == same_as._replace(event=None)
    assert named.event(4) == same_as.event(4)


@pytest.mark.parametrize("num_sampled", [0, 1001])
def test_a_sample_must_fit_among_the_clients(num_sampled):
    with pytest.raises(InputError, match=r"num_sampled=\d+"):
        readings(num_sampled=num_sampled)


def test_fixed_size_samples_are_not_poisson_samples():
    for sigma, rounds in ((1.0, 2000), (3.0, 20000), (10.0, 20000)):
        found = readings(noise_multiplier=sigma)
        assert epsilon(found["sampler"], rounds) > 1.5 * epsilon(found["paper"], rounds)


def test_the_rate_is_units_in_a_round_over_units():
    assert epsilon(readings(num_sampled=10)["paper"], 20000) == pytest.approx(8.942, rel=0.01)  # Opacus 1.5.3
    assert epsilon(readings(num_sampled=1)["paper"], 20000) < 1.2


def test_composition_is_not_forgotten():
    for name in ("paper", "sampler", "tight"):
        one, many = epsilons(readings()[name], [1, 20000])
        assert many > 5 * one
    reading = readings(noise_multiplier=5.0, max_participations=lambda rounds: rounds // 10)["worst_case"]
    assert epsilon(reading, 4000) > 2.5 * epsilon(reading, 1000)


def test_a_bounded_participation_of_everybody_is_replace_one_without_sampling():
    bounded = events.bounded_participation_gaussian(3.0, max_participations=40, delta=1e-5)
    full = events.full_gaussian(3.0, delta=1e-5, neighbors=events.REPLACE)
    half_the_noise = events.full_gaussian(1.5, delta=1e-5, neighbors=events.ADD_OR_REMOVE)
    assert epsilon(bounded, 40) == epsilon(full, 40) == epsilon(half_the_noise, 40)
    assert epsilon(bounded, 4000) == epsilon(bounded, 40)


def test_noise_for_bounded_participation_is_the_closed_form():
    sigma = noise_multiplier(
        2.0, lambda s: events.bounded_participation_gaussian(s, max_participations=16, delta=1e-5), 1000
    )
    assert sigma == pytest.approx(2 * 4 * dp.get_sigma_gaussian(2.0, 1e-5), rel=1e-3)


def test_gaussian_noise_on_the_mean_of_m_terms_is_the_full_gaussian_under_replace_one():
    sigma, clip, m, delta = 3.0, 0.4, 7, 1e-5
    released = epsilon(events.full_gaussian(sigma, delta=delta, neighbors=REPLACE), 1)
    std, movement = sigma * clip / m, 2 * clip / m
    half, shift = movement / (2 * std), released * std / movement
    assert stats.norm.cdf(half - shift) - math.exp(released) * stats.norm.cdf(-half - shift) == pytest.approx(delta)
