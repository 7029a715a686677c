"""The bounds on personalised SGD: limits that must coincide, the lemma by brute force, and slips that show."""

import math

import numpy as np
import pytest
from scipy import optimize

from bench.papers.ppsgd import theory

INF = math.inf
SAID = {
    "num_rounds": 100,
    "smoothness": 2.0,
    "norm": 3.0,
    "variance_w": 0.5,
    "variance_local": 0.25,
    "dimension": 10,
    "noise_std": 0.01,
}


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0, 50.0])
def test_the_split_of_the_lemma_has_the_least_norm(alpha):
    found = optimize.minimize_scalar(lambda w: theory.norm(w, math.sqrt(20) * (1 - w), alpha))
    shared, local = theory.split(alpha, 20)
    assert shared + local == 1
    assert shared == pytest.approx(found.x, abs=1e-6)
    assert theory.minimal_norm(3.0, alpha, 20) == pytest.approx(3 * found.fun)
    assert theory.minimal_norm(3.0, alpha, 20) == pytest.approx(3 * math.sqrt(20 / (alpha * 20 + 1)))


def test_the_ends_are_local_and_global_learning():
    assert theory.minimal_norm(3.0, 0.0, 20) == pytest.approx(3 * math.sqrt(20))
    assert theory.minimal_norm(3.0, INF, 20) == 3
    assert theory.norm(1.0, 0.0, 0.0) == INF
    local = theory.everybody(0.0, num_clients=20, **SAID)
    assert local.step_w == 0
    assert local == theory.everybody(0.0, num_clients=20, **(SAID | {"noise_std": 9.0, "variance_w": 9.0}))
    shared = theory.everybody(INF, num_clients=20, **(SAID | {"norm": 2.0}))
    assert shared.step_local == 0
    nearly = theory.everybody(1e9, num_clients=20, **(SAID | {"norm": 2.0 / math.sqrt(1e9)}))
    assert shared.bound == pytest.approx(nearly.bound, rel=1e-6)
    assert shared.step_w == pytest.approx(nearly.step_w, rel=1e-6)


def test_the_bound_is_what_the_step_gives():
    """(23): |z|^2 / (eta n) + 2 eta s^2 at the step chosen is at most the bound, at other steps within 1/(4L) more."""
    for n in (1, 10, 10**4):
        said = SAID | {"num_rounds": n}
        got = theory.everybody(0.3, num_clients=20, **said)
        variance = (0.3 * 0.5 + 0.25) / 20 + 0.3 * 10 * 0.01**2

        def at(eta, n=n, variance=variance):
            return 3.0**2 / (eta * n) + 2 * eta * variance

        assert at(got.step_local) <= got.bound * (1 + 1e-12)
        assert got.step_local <= 1 / (4 * 2 * max(0.3, 1 / 20)) * (1 + 1e-12)
        assert got.step_w == pytest.approx(0.3 * got.step_local)


@pytest.mark.parametrize("alpha", [0.0, 0.2, 3.0, INF])
def test_the_sampled_theorems_are_the_first_where_nobody_is_left_out(alpha):
    """m_i = 1 and q = 1; their smoothness is larger by a factor of at most 1 + 1/N."""
    first = theory.everybody(alpha, num_clients=400, **SAID)
    for theorem in (theory.weighted, theory.averaged):
        for printed in (False, True):
            got = theorem(alpha, sizes=np.ones(400), rate=1.0, as_printed=printed, **SAID)
            assert first.bound <= got.bound * (1 + 1e-9)
            assert got.bound == pytest.approx(first.bound, rel=1 / 200)


def test_sampling_costs_what_the_theorems_say():
    sizes = np.array([1.0] * 9 + [11.0])
    said = SAID | {"num_rounds": 10**9, "noise_std": 0.0}  # only the variance is left
    full, some = (theory.weighted(0.5, sizes=sizes, rate=q, **said).bound for q in (1.0, 0.25))
    assert some == pytest.approx(2 * full, rel=1e-2)
    means = theory.averaged(0.5, sizes=sizes, rate=1.0, **said).bound
    inverse = np.mean(1 / sizes)
    assert means / full == pytest.approx(math.sqrt(inverse / 10 / (1 / 20)), rel=1e-2)
    gradients = theory.averaged(0.5, sizes=sizes, rate=0.25, gradient_norms=1.0, **said).bound
    assert gradients > theory.averaged(0.5, sizes=sizes, rate=0.25, **said).bound


def test_the_printed_smoothness_leaves_out_the_rate():
    said = {
        "sizes": np.ones(100),
        "rate": 0.01,
        **(SAID | {"variance_w": 0.0, "variance_local": 0.0, "noise_std": 0.0}),
    }
    for theorem in (theory.weighted, theory.averaged):
        proven, printed = (theorem(1.0, as_printed=p, **said).bound for p in (False, True))
        assert proven == pytest.approx(printed * 2 / 1.01)


@pytest.mark.parametrize("noise_std", [1e-4, 3e-3, 0.0158, 0.0159, 0.1])
def test_the_threshold_is_where_the_second_term_turns(noise_std):
    """By brute force: the term over a grid of alpha falls or does not, as the exact condition says."""
    N, variance, d = 1000, 0.25, 1000
    alphas = np.logspace(-6, 3, 50)
    term = [theory.minimal_norm(1.0, a, N) * math.sqrt((a + 1) * variance / N + a * d * noise_std**2) for a in alphas]
    grows = theory.local_is_better(N, variance, d, noise_std)
    assert np.all(np.diff(term) >= -1e-12) if grows else np.all(np.diff(term) <= 1e-12)


def turning_point(num_clients, dimension, epsilon) -> float:
    """The number of samples at which the second term of the bound is the same for nearly local and global learning,
    with the noise (4); found on the bound itself, without the lemma."""
    variance, delta = 0.25, 1e-4

    def second_term(alpha, n):
        noise_std = math.sqrt(n * math.log(1 / delta)) / (num_clients * epsilon)
        one, two = (
            theory.everybody(
                alpha,
                num_clients=num_clients,
                num_rounds=n,
                smoothness=smoothness,
                norm=theory.minimal_norm(1.0, alpha, num_clients),
                variance_w=variance,
                variance_local=variance,
                dimension=dimension,
                noise_std=noise_std,
            ).bound
            for smoothness in (1.0, 2.0)
        )
        return 2 * one - two  # the first term is proportional to the smoothness

    def rise(log_n):
        return second_term(1e3, math.exp(log_n)) / second_term(1e-6, math.exp(log_n)) - 1

    found = math.exp(optimize.brentq(rise, math.log(1e2), math.log(1e9), xtol=1e-9))
    assert found == pytest.approx(theory.threshold(num_clients, variance, dimension, 1.0, epsilon, delta), rel=1e-4)
    return found


@pytest.mark.parametrize(
    ("factors", "exponent"),
    [((2, 1, 1), 2), ((8, 1, 1), 2), ((1, 2, 1), -1), ((1, 8, 1), -1), ((1, 1, 2), 2), ((1, 1, 8), 2)],
)
def test_the_threshold_grows_with_the_square_of_the_users_and_falls_with_the_dimension(factors, exponent):
    """As the text after Lemma 4.6 says of N and d_w. Of epsilon it says linearly, where (10) and the bound have its
    square."""
    plain = (1000, 10, 1.0)
    grown = [factor * value for factor, value in zip(factors, plain, strict=True)]
    found = math.log(turning_point(*grown) / turning_point(*plain)) / math.log(max(factors))
    assert found == pytest.approx(exponent, abs=2e-3)


def test_the_threshold_in_samples_is_the_condition_with_the_papers_noise():
    N, variance, d, G, epsilon, delta, c = 50, 0.3, 20, 4.0, 2.0, 1e-5, 1.3
    n = theory.threshold(N, variance, d, G, epsilon, delta, c)
    for samples, expected in ((0.99 * n, False), (1.01 * n, True)):
        noise = c * G * math.sqrt(samples * math.log(1 / delta)) / (N * epsilon)
        assert theory.local_is_better(N, variance, d, noise) == expected
    assert theory.threshold(N, variance, d, G, 2 * epsilon, delta, c) == pytest.approx(4 * n)
