"""What the messages of a silo cost: each method's releases, phases in parallel, and the published closed forms."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from tiny_silos import random_records

from bench.algorithms import ALGORITHMS
from bench.algorithms.parts import silos
from bench.errors import InputError
from bench.papers.isrl import theory
from bench.privacy import accounting, events

DELTA = 1e-6
TASK = random_records(0, records=64)
COMMON = {
    "num_sampled": 4,
    "batch_size": 1,
    "phase_rounds": 6,
    "sampler": "all",
    "clip_norm": 1.0,
    "noise_multiplier": 8.0,
}
PHASES = {"num_phases": 3, "share": 0.5, "rounds_ratio": 1.0}


def claims(**args):
    return silos.releases(TASK, delta=DELTA, **(COMMON | args))


def full(sigma, rounds):
    return accounting.epsilon(events.full_gaussian(sigma, delta=DELTA, neighbors=events.REPLACE), rounds)


def test_every_claim_says_what_is_protected_against_whom():
    for release in claims().values():
        assert release.privacy_unit == "record"
        assert release.protects_against == "the server and the other silos"
        assert release.neighbors == "replace one"
    assert set(claims()) == {"paper", "theorem", "exact"}


@pytest.mark.parametrize("rounds", [0, 1, 4, 6])
def test_full_batches_cost_composed_gaussians(rounds):
    assert accounting.epsilon(claims()["exact"], rounds) == full(8.0, rounds)


def test_phases_on_other_records_cost_nothing_more():
    """The cost grows through the first phase and stays; a shorter phase is as dear as the first, being less noisy."""
    release = claims(**PHASES)["exact"]
    spent = accounting.epsilons(release, range(20))
    assert (np.diff(spent[:7]) > 0).all()
    assert (spent[6:] == spent[6]).all()
    assert spent[6] == full(8.0, 6)
    shorter = claims(**(PHASES | {"rounds_ratio": 0.5}))["exact"]
    np.testing.assert_allclose(accounting.epsilons(shorter, [6, 9, 11]), full(8.0, 6), rtol=1e-9)
    in_one = claims(phase_rounds=18)["exact"]
    assert accounting.epsilon(in_one, 18) > 1.5 * spent[-1]


def test_a_mechanism_of_several_phases_names_each_noise_and_poisson_its_samples():
    shorter = claims(**(PHASES | {"rounds_ratio": 0.5}))["exact"].mechanism
    assert shorter.startswith("3 phases on disjoint records: Gaussian noise of standard deviation 8 C")
    assert shorter.count("; then Gaussian noise") == 2
    assert "everybody in every round (or fewer: a Poisson sample, not amplified)" in (
        claims(sampler="poisson", batch_size=4)["exact"].mechanism
    )


def test_one_pass_uses_a_record_once():
    release = claims(sampler="once")["exact"]
    assert accounting.epsilons(release, [0, 1, 6]).tolist() == [0.0, full(8.0, 1), full(8.0, 1)]


def test_samples_of_fixed_size_are_amplified_and_poisson_claims_nothing():
    fixed = claims(sampler="fixed", batch_size=4)["exact"]
    assert fixed.accountant == "rdp"
    expected = events.fixed_size_gaussian(8.0, sampling_rate=4 / 64, delta=DELTA)
    assert accounting.epsilon(fixed, 6) == accounting.epsilon(expected, 6) < 0.5 * full(8.0, 6)
    assert accounting.epsilon(claims(sampler="poisson", batch_size=4)["exact"], 6) == full(8.0, 6)


def test_with_samples_the_smallest_phase_is_the_dearest():
    """K of n_i records: the rate grows from phase to phase, and with it the cost, which is the largest of them."""
    spent = accounting.epsilons(claims(sampler="fixed", batch_size=4, **PHASES)["exact"], [6, 12, 18])
    assert spent[0] < spent[1] < spent[2]
    last = events.fixed_size_gaussian(8.0, sampling_rate=4 / 8, delta=DELTA)
    assert spent[2] == accounting.epsilon(last, 6)


def test_a_random_subset_of_silos_amplifies_nothing():
    names = COMMON | {"num_sampled": 2, "step_size": 1.0}
    for name in ("minibatch_sgd", "accelerated", "subgradient"):
        release = ALGORITHMS[name].releases(TASK, delta=DELTA, **names)["exact"]
        assert accounting.epsilon(release, 6) == full(8.0, 6)


def test_without_noise_nothing_is_private():
    for release in claims(noise_multiplier=0.0, **PHASES).values():
        assert accounting.epsilon(release, 6) == math.inf


@pytest.mark.parametrize("epsilon", [0.75, 6.0, 18.0])
def test_published_forms_give_back_what_they_were_calibrated_for(epsilon):
    sigma = theory.zcdp_noise_multiplier(epsilon, DELTA, rounds=6)
    release = claims(noise_multiplier=sigma, **PHASES)["paper"]
    np.testing.assert_allclose(accounting.epsilon(release, 18), epsilon, rtol=1e-9)
    once = claims(noise_multiplier=sigma / math.sqrt(6), sampler="once")["paper"]
    np.testing.assert_allclose(accounting.epsilon(once, 6), epsilon, rtol=1e-9)
    for sampler, rate in (("all", 1.0), ("fixed", 0.75)):
        sigma = theory.moments_noise_multiplier(epsilon, DELTA, rounds=6, rate=rate)
        release = claims(noise_multiplier=sigma, sampler=sampler, batch_size=48)
        np.testing.assert_allclose(accounting.epsilon(release["theorem"], 6), epsilon, rtol=1e-9)
        assert accounting.epsilon(release["exact"], 6) < epsilon


def test_the_form_with_256_says_nothing_outside_its_range():
    assert math.isnan(accounting.epsilon(claims(noise_multiplier=1.0)["theorem"], 6))


def test_published_forms_do_not_know_other_noise():
    laplace = events.laplace(1.0, delta=DELTA)._replace(accountant="zcdp_as_published")
    with pytest.raises(InputError, match="do not know"):
        accounting.epsilon(laplace, 1)


# Parallel composition itself.


def gaussian(sigma):
    return events.full_gaussian(sigma, delta=DELTA, neighbors=events.REPLACE)


def test_parts_in_parallel_cost_the_dearest_of_them_in_any_order():
    cheap, dear = (gaussian(9.0), 2), (gaussian(3.0), 2)
    for parts in ([cheap, dear], [dear, cheap]):
        release = events.in_parallel(parts)
        assert accounting.epsilon(release, 4) == full(3.0, 2)
        assert accounting.epsilon(release, 100) == full(3.0, 2)  # nothing is left to do
    assert accounting.epsilon(events.in_parallel([cheap, dear]), 2) == full(9.0, 2)
    assert accounting.epsilon(events.in_parallel([cheap, dear]), 3) == full(3.0, 1)
    assert accounting.epsilon(events.in_parallel([cheap]), 2) == full(9.0, 2)


def test_a_part_that_is_not_computed_or_not_private_decides():
    release = events.in_parallel([(gaussian(3.0), 1), (gaussian(0.0), 1)])
    assert accounting.epsilon(release, 1) < accounting.epsilon(release, 2) == math.inf
    unknown = events.in_parallel([(gaussian(0.05), 1), (gaussian(300.0), 1)])._replace(
        accountant="moments_as_published"
    )
    assert math.isnan(accounting.epsilon(unknown, 2))


def test_clients_that_release_at_once_cost_the_dearest_of_them():
    often, dear = gaussian(9.0), gaussian(4.0)
    both = events.at_once([(often, 3), (dear, 1)])
    assert accounting.epsilon(both, 5) == max(full(9.0, 15), full(4.0, 5)) == full(4.0, 5)
    assert accounting.epsilon(events.at_once([(often, 6), (dear, 1)]), 5) == full(9.0, 30) > full(4.0, 5)
    assert accounting.epsilon(events.at_once([(often, 3), (often, 3)]), 5) == full(9.0, 15)
    assert accounting.epsilon(both, 0) == 0
    assert both.mechanism.startswith("2 kinds of clients, such as: ")
    assert not events.at_once([(often, 1), (dear._replace(sound=False), 1)]).sound
    with pytest.raises(InputError, match="clients must be accounted alike"):
        events.at_once([(often, 1), (dear._replace(delta=0.3), 1)])


def test_only_what_is_accounted_alike_goes_in_parallel():
    other = gaussian(1.0)._replace(delta=1e-3)
    with pytest.raises(InputError, match="accounted alike"):
        events.in_parallel([(gaussian(1.0), 1), (other, 1)])


def test_events_of_parallel_parts_can_be_keys():
    one, two = (claims(**PHASES)["exact"].event(12) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert isinstance(claims(**PHASES)["exact"].event(7), (events.ParallelDpEvent, dp.DpEvent))
