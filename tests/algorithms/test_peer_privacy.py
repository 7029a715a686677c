"""What peers reveal: how far one example moves a message, how much noise lies on it, and what is charged for that."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from slow_cases import rows
from tiny_peers import (
    ALIKE,
    MU,
    STRONG,
    N,
    P,
    constants,
    draws,
    listed,
    logistic_peers,
    play,
    play_many,
    squared_peers,
    step_sizes,
    with_budget,
)

from bench.algorithms import ALGORITHMS
from bench.algorithms.coordinate_descent import METHOD
from bench.papers.p2p import reference, theory
from bench.privacy.accounting import epsilon
from bench.sweeps.spec import arguments

SIGMA, L0, DELTA = 3.0, 0.5, float(np.exp(-5))
BASE = {"mu": MU, "start": "constant"}
NORMS = {"laplace": 1, "gaussian": 2}


def claims(task, method=METHOD, **args):
    return method.releases(task, delta=DELTA, **arguments(method, {"mu": MU} | args))


def spent(task, rounds, method=METHOD, **args):
    """Epsilon after so many releases, by way of accounting."""
    return {name: epsilon(claim, rounds) for name, claim in claims(task, method, **args).items()}


def one_laplace(pure):
    """Epsilon at DELTA of one Laplace release of that pure epsilon, from delta(eps) = 1 - exp((eps - pure) / 2)."""
    return pure + 2 * np.log1p(-DELTA)


def woken(task, seed):
    """Who moves in the first tick of a run."""
    return int(draws(task, play(METHOD, task, 1, seed, **BASE))[0][0, 0])


def with_example(task, agent, place, x, y):
    inputs, targets = task.train
    return replace(task, train=(inputs.at[agent, place].set(x), targets.at[agent, place].set(y)))


def moves(task, other, seed, **args):
    """The two messages' difference, in units of what the step multiplies a gradient with; and whose they are."""
    who = woken(task, seed)
    ours, theirs = (play(METHOD, one, 1, seed, **BASE | args).models[1].astype(float) for one in (task, other))
    np.testing.assert_array_equal(np.delete(ours, who, 0), np.delete(theirs, who, 0))
    return (ours - theirs)[who] / step_sizes(task)[who], who


# ---- Sensitivity ----


@pytest.mark.parametrize(("problem", "mechanism"), [(logistic_peers, "gaussian"), (squared_peers, "laplace")])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 50),
    place=st.integers(0, 2),
    x=st.lists(st.floats(-1000, 1000, width=32), min_size=P, max_size=P),
    y=st.sampled_from([-1.0, 1.0]),
    start=st.floats(-3, 3),
    clip_norm=st.floats(0.05, 20),
)
def test_one_example_moves_a_clipped_message_by_at_most_what_the_noise_is_for(
    mechanism, problem, seed, place, x, y, start, clip_norm
):
    """Every agent has three examples at least; whatever takes the place of one of them."""
    task = problem()
    who = woken(task, seed)
    other = with_example(task, who, place, jnp.array(x), y)
    args = {"mechanism": mechanism, "clip_norm": clip_norm, "start_value": start}
    difference, _ = moves(task, other, seed, **args)
    bound = 2 * clip_norm / int(task.num_examples[who])
    assert np.linalg.norm(difference, NORMS[mechanism]) <= bound * (1 + 1e-4) + 1e-5


@pytest.mark.parametrize("mechanism", NORMS)
def test_that_much_is_reached_by_a_flipped_label(mechanism):
    task = logistic_peers()
    who = woken(task, 4)
    x = 100 * jnp.ones(P)
    pair = [with_example(task, who, 0, x, y) for y in (1.0, -1.0)]
    difference, _ = moves(*pair, 4, mechanism=mechanism, clip_norm=0.7)
    assert np.linalg.norm(difference, NORMS[mechanism]) == pytest.approx(1.4 / int(task.num_examples[who]), rel=1e-3)


def test_the_published_noise_is_for_less_than_one_example_moves_and_epsilon_true_says_by_how_much():
    """Inputs in [-10, 10], no clipping, L0 = 1."""
    task = logistic_peers(input_range=10.0)
    said = spent(task, 1, noise_multiplier=SIGMA)
    assert said["paper"] == pytest.approx(2 / SIGMA)
    assert said["tight"] == pytest.approx(one_laplace(2 / SIGMA), rel=3e-3)
    assert said["true"] == pytest.approx(one_laplace(2 * 10 * P / SIGMA), rel=3e-3)
    largest = 0.0
    rng = np.random.default_rng(0)
    for seed in range(30):
        who = woken(task, seed)
        corners = rng.choice([-10.0, 10.0], (2, P))
        pair = [
            with_example(task, who, 0, jnp.asarray(x, jnp.float32), y) for x, y in zip(corners, (1, -1), strict=True)
        ]
        difference, _ = moves(*pair, seed, start_value=float(rng.normal()))
        largest = max(largest, np.abs(difference).sum() * int(task.num_examples[who]))
        # The log of the two densities' ratio is at most the message's movement over the noise's scale.
        assert np.abs(difference).sum() / (SIGMA / int(task.num_examples[who])) <= 2 * 10 * P / SIGMA * (1 + 1e-4)
    assert largest > 10 * 2  # ten times what L0 = 1 allows


def test_the_calibrated_variants_cost_what_they_say():
    """Where L0 is the clipping norm, or the bound that short inputs keep, nothing is hidden."""
    clipped = spent(logistic_peers(input_range=10.0), 3, noise_multiplier=SIGMA, clip_norm=4.0, lipschitz=4.0)
    short = spent(logistic_peers(input_range=1 / P), 3, noise_multiplier=SIGMA)
    for said in (clipped, short):
        assert said["true"] == pytest.approx(said["tight"], rel=1e-5)
        assert said["tight"] < said["paper"]
    unbounded = spent(squared_peers(), 1, noise_multiplier=SIGMA)
    assert unbounded["true"] == np.inf
    assert spent(squared_peers(), 0, noise_multiplier=SIGMA)["true"] == 0


def test_the_gaussian_variant_counts_the_other_norm():
    task = logistic_peers(input_range=10.0)
    args = {"mechanism": "gaussian", "noise_multiplier": SIGMA}
    beyond = 10 * np.sqrt(P)
    assert spent(task, 1, **args)["true"] == pytest.approx(
        spent(task, 1, clip_norm=beyond, lipschitz=beyond, **args | {"noise_multiplier": SIGMA / beyond})["paper"]
    )
    said = spent(task, 4, clip_norm=1.0, **args)
    assert said["true"] == pytest.approx(said["paper"])
    alone = spent(task, 1, **args | {"noise_multiplier": SIGMA / 2})["paper"]
    assert said["paper"] == pytest.approx(alone)  # four Gaussians are one of half the deviation


# ---- Noise ----


@pytest.mark.parametrize("mechanism", NORMS)
def test_the_noise_has_the_scale_and_the_distribution_that_are_charged(mechanism):
    task = with_budget(logistic_peers(), agent_0=0.5, agent_1=0.25)
    args = BASE | {"mechanism": mechanism, "lipschitz": L0}
    noisy, _ = play_many(METHOD, task, 1, 600, noise_multiplier=SIGMA, **args)
    silent, _ = play_many(METHOD, task, 1, 600, noise_multiplier=0.0, **args)
    difference = (noisy - silent)[:, 1].astype(float) / step_sizes(task)[:, None]
    moved = np.any(difference != 0, axis=-1)
    assert (moved.sum(1) == 1).all()
    scale = SIGMA * L0 / np.asarray(task.num_examples) / np.asarray(task.peers.budget)
    drawn = (difference / scale[:, None])[moved].ravel()
    own, other = (stats.laplace, stats.norm) if mechanism == "laplace" else (stats.norm, stats.laplace)
    assert stats.kstest(drawn, own.cdf).pvalue > 1e-3
    assert stats.kstest(drawn, other(scale=own.std() / other.std()).cdf).pvalue < 1e-3
    assert stats.kstest(1.1 * drawn, own.cdf).pvalue < 0.05  # a tenth too much would be seen
    small = np.isin(np.argwhere(moved)[:, 1], [0, 1])
    assert small.sum() > 50
    assert stats.ks_2samp(drawn.reshape(-1, P)[small].ravel(), drawn.reshape(-1, P)[~small].ravel()).pvalue > 1e-3


def used_scales(task, played, order, noise, mu):
    """The scale of the noise in every tick: what is left of a step when the plain step is taken off."""
    one, steps, found = listed(task), step_sizes(task, mu), []
    for t, (who, z) in enumerate(zip(order[:, 0], noise[:, 0], strict=True)):
        before, after = (played.models[at].astype(float) for at in (t, t + 1))
        silent = reference.coordinate_descent(
            before, one.inputs, one.targets, one.weights, one.smoothness, mu, [who], np.zeros((1, P))
        )
        largest = np.argmax(np.abs(z))
        found.append(-(after - silent)[who, largest] / steps[who] / z[largest])
    return np.array(found)


WAYS = [(allocation, num_updates) for allocation in ("equal", *theory.WEIGHTS) for num_updates in (5, 3)]


@pytest.mark.parametrize(("allocation", "num_updates"), rows(WAYS, slow=WAYS[1::2]))
def test_an_allocation_is_that_of_the_theory_and_spends_the_same(allocation, num_updates):
    task, most = logistic_peers(**ALIKE), 5
    args = {"mu": STRONG, "noise_multiplier": 30.0, "max_updates": most, "allocation": allocation, "start": "constant"}
    played = play(METHOD, task, N * most, num_updates=float(num_updates), **args)
    order, noise = draws(task, played)
    scales = used_scales(task, played, order, noise, STRONG)
    *_, rate = constants(task)
    assert rate ** (N * most / 3) < 0.6  # so that the weights differ
    budget = num_updates * 2 / 30.0
    for i in range(N):
        ticks = np.flatnonzero(order[:, 0] == i)
        used, silent = np.split(ticks, [num_updates])
        np.testing.assert_array_equal(played.models[silent + 1], played.models[silent])
        each = 2 / scales[used] / int(task.num_examples[i])
        if allocation == "equal":
            expected = np.full(num_updates, budget / num_updates)
        else:
            expected = theory.allocation(budget, used, rate, allocation)
        np.testing.assert_allclose(each, expected, rtol=2e-3)
        assert each.sum() == pytest.approx(budget, rel=2e-3)


@pytest.mark.parametrize("allocation", theory.WEIGHTS)
def test_an_uneven_allocation_is_charged_in_full_with_the_first_update(allocation):
    task = logistic_peers()
    args = {"noise_multiplier": 30.0, "max_updates": 4, "num_updates": 3.0, "allocation": allocation}
    for rounds, expected in ((0, 0), (1, 0.2), (2, 0.2), (3, 0.2)):
        assert spent(task, rounds, **args)["paper"] == pytest.approx(expected)
    warm = args | {"start": "propagation", "start_noise_multiplier": 40.0}
    assert spent(task, 0, **warm)["paper"] == pytest.approx(0.05)
    assert spent(task, 3, **warm)["paper"] == pytest.approx(0.25)


# ---- Where runs start, and the other methods ----


def test_a_warm_start_is_charged_from_the_first_round_on():
    task = logistic_peers()
    args = {"start": "propagation", "start_noise_multiplier": 40.0, "noise_multiplier": 20.0}
    for rounds in range(4):
        said = spent(task, rounds, **args)
        assert said["paper"] == pytest.approx(0.05 + 0.1 * rounds)
        assert 0 < said["tight"] <= said["paper"] + 1e-9
        assert said["true"] == pytest.approx(spent(task, rounds, clip_norm=1.0 * P, lipschitz=1.0, **args)["true"])
    assert spent(task, 2, **args | {"start": "zero"})["paper"] == pytest.approx(0.2)
    assert spent(task, 0, **args | {"start": "constant"})["paper"] == 0


@pytest.mark.parametrize("start", ["local", "descent"])
def test_a_start_from_bare_local_models_has_no_privacy_at_all(start):
    for rounds in (0, 1, 5):
        said = spent(logistic_peers(), rounds, start=start, noise_multiplier=SIGMA)
        assert set(said.values()) == {np.inf}


def test_noise_of_0_costs_everything_from_the_first_update_on():
    assert set(spent(logistic_peers(), 0).values()) == {0.0}
    assert set(spent(logistic_peers(), 1).values()) == {np.inf}


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("local_models", {}, 0.0),
        ("admm", {"penalty": 0.1}, np.inf),
        ("model_propagation", {}, np.inf),
        ("model_propagation", {"local": "noisy_step", "noise_multiplier": 40.0}, 0.05),
        ("local_dp", {"noise_multiplier": 40.0, "bound": 1.0}, 0.05),
    ],
)
def test_the_other_methods_are_charged_once_or_never_or_everything(name, args, expected):
    for rounds in (0, 1, 9):
        said = spent(
            logistic_peers(), 0 if name in ("model_propagation", "local_dp") else rounds, ALGORITHMS[name], **args
        )
        assert said["paper"] == pytest.approx(expected)
        assert expected < np.inf or set(said.values()) == {np.inf}
    claim = claims(logistic_peers(), ALGORITHMS[name], **args)["paper"]
    assert claim.neighbors == "replace one"
    assert claim.privacy_unit == ("coordinate" if name == "local_dp" else "point")


def test_perturbed_inputs_do_not_protect_the_label():
    args = {"noise_multiplier": 40.0, "bound": 1.0}
    assert spent(logistic_peers(), 0, ALGORITHMS["local_dp"], **args)["true"] == np.inf
