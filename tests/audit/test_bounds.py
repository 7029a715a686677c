"""Lower bounds from scores: right as often as they say where the truth is known, and near to it."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from jax_privacy import auditing
from scipy import stats

from bench.audit import bounds
from bench.audit.tasks import FAMILIES, LEAVES, SHAPES, SIZE, canary

DELTAS = (1e-5, 1e-3, 1e-2, 0.1)
SIGNIFICANCE = 0.05


def exact(mu: float) -> dict[float, float]:
    """Epsilon of Gaussians mu apart, by delta."""
    return {delta: dp.get_epsilon_gaussian(1 / mu, delta) for delta in DELTAS}


def scores(seed: int, mu: float, runs: int):
    """Pilot scores and others, of runs that are unit Gaussians mu apart."""
    rng = np.random.default_rng(seed)
    ins, outs = rng.normal(size=runs) + mu, rng.normal(size=runs)
    return (ins[: runs // 3], outs[: runs // 3]), (ins[runs // 3 :], outs[runs // 3 :])


def with_scores(pilot, others):
    return bounds.Test(pilot, lambda: others)


def rate_bound(tests, declared, significance):
    """The chosen delta, and the epsilon that error rates prove there."""
    choice, found = bounds.lower_bound(tests, declared, significance)
    return choice.delta, found


def gaussian_bound(tests, delta, significance):
    return bounds.lower_bound(tests, {delta: 1.0}, significance, gaussian=True)[1]


@pytest.mark.parametrize("mu", [0.0, 0.7, 2.0])
def test_bounds_exceed_the_truth_no_oftener_than_they_may(mu):
    truth, tries = exact(mu or 1e-9), 200
    too_large = np.zeros(2)
    for seed in range(tries):
        pilot, others = scores(seed, mu, 1500)
        delta, found = rate_bound([with_scores(pilot, others)], truth, SIGNIFICANCE)
        too_large += (
            found > truth[delta] + 1e-9,
            gaussian_bound([with_scores(pilot, others)], 1e-5, SIGNIFICANCE) > truth[1e-5],
        )
    assert (too_large <= stats.binom.isf(1e-4, tries, SIGNIFICANCE)).all()


def test_a_tenth_too_little_noise_is_seen():
    """Which shows that the check above can fail: the same scores against less than the truth."""
    wrong = exact(2.0 / 1.1)
    for seed in range(5):
        pilot, others = scores(seed, 2.0, 60_000)
        delta, found = rate_bound([with_scores(pilot, others)], wrong, SIGNIFICANCE)
        assert found > wrong[delta]
        assert gaussian_bound([with_scores(pilot, others)], 1e-5, SIGNIFICANCE) > wrong[1e-5]


def test_the_estimator_of_the_library_for_gaussians_is_not_used_because_it_sees_what_is_not_there():
    auditor = auditing.CanaryScoreAuditor(*(np.random.default_rng(s).normal(size=2000) for s in (0, 1)))
    assert auditor.epsilon_from_gdp(1e-3, 1e-5) > 1
    assert gaussian_bound([with_scores(*scores(0, 0.0, 3000))], 1e-5, 1e-3) < 0.2


def test_scores_that_tell_nothing_or_everything():
    same = np.zeros(1000), np.zeros(1000)
    assert rate_bound([with_scores(same, same)], {1e-5: 1.0}, 1e-3) == (1e-5, 0.0)
    assert gaussian_bound([with_scores(same, same)], 1e-5, 1e-3) == 0
    apart = np.ones(1000), np.zeros(1000)
    _, found = rate_bound([with_scores(apart, apart)], {1e-5: 1.0}, 1e-3)
    # No false alarm in 1000 runs: a rate of log(2000) / 1000 at most.
    assert found == pytest.approx(math.log(1000 / math.log(2000)), rel=0.01)


def test_of_several_tests_the_best_is_taken():
    truth = exact(2.0)
    blind, sharp = (with_scores(*scores(0, mu, 9000)) for mu in (0.0, 2.0))
    assert rate_bound([blind, sharp], truth, 1e-3) == rate_bound([sharp], truth, 1e-3)
    assert gaussian_bound([blind, sharp], 1e-5, 1e-3) == gaussian_bound([sharp], 1e-5, 1e-3) > 6


def test_both_directions_count():
    """Runs without the canary that are more telling than runs with it."""
    rng = np.random.default_rng(0)
    seldom = np.where(rng.random(9000) < 0.1, -5.0, 0.0) + rng.normal(size=9000) / 10
    never = rng.normal(size=9000) / 10
    pair = (never, seldom)
    assert rate_bound([with_scores(pair, pair)], {1e-5: 1.0}, 1e-3)[1] > 3


def separation(score, ins, outs) -> float:
    """How far apart the mean scores are, in standard deviations."""
    u, v = score(ins), score(outs)
    return float((u.mean() - v.mean()) / v.std())


def test_correlated_noise_is_taken_apart_and_constants_are_ignored():
    """A move of what is public under noise of any covariance is seen as well as it can be."""
    rng = np.random.default_rng(0)
    mix, move = rng.normal(size=(4, 4)), np.array([0.3, 0, 0.5, 0])
    noise = rng.normal(size=(3, 20_000, 4)) @ mix
    seen = np.concatenate([noise, np.broadcast_to([1e9, 0, 3], (3, 20_000, 3))], axis=2)
    moves = np.append(move, np.zeros(3))[None]
    score, _ = bounds.likelihoods(seen[0], (moves, 0 * moves))
    possible = math.sqrt(move @ np.linalg.solve(mix.T @ mix, move))
    assert separation(score, seen[1] + moves, seen[2]) == pytest.approx(possible, rel=0.03)


def test_numbers_that_follow_from_others_change_nothing():
    """Sums of what is public, public too: the covariance then has no inverse."""
    rng = np.random.default_rng(0)
    known, seen = rng.normal(size=(2, 5000, 3))
    moves = np.array([[0.31234, 0.41234, 0.22345], [0.0, 0.81234, 0.0], [0.0, 0.0, 0.0]])
    parts, _ = bounds.likelihoods(known, (moves, 0 * moves))
    known, more, moves = (np.c_[one, one.cumsum(1)] for one in (known, seen, moves))
    whole, _ = bounds.likelihoods(known, (moves, 0 * moves))
    np.testing.assert_allclose(whole(more), parts(seen), atol=1e-3)


def test_a_canary_that_moves_another_number_in_every_run_is_weighed_by_its_likelihood():
    rng = np.random.default_rng(0)
    moves = 2 * np.eye(4)
    score, _ = bounds.likelihoods(rng.normal(size=(40_000, 4)), (np.repeat(moves, 5, axis=0), np.zeros((20, 4))))
    seen = rng.normal(size=(1000, 4)) + moves[rng.integers(4, size=1000)]
    np.testing.assert_allclose(score(seen), np.log(np.exp(2 * seen - 2).mean(1)), atol=0.2)


def test_laplace_noise_has_a_likelihood_of_its_own():
    rng = np.random.default_rng(0)
    move = np.array([[1.0, 0.0]])
    _, score = bounds.likelihoods(rng.laplace(size=(100_000, 2)), (move, 0 * move))
    seen = rng.laplace(size=(1000, 2))
    np.testing.assert_allclose(score(seen), np.abs(seen[:, 0]) - np.abs(seen[:, 0] - 1), atol=0.05)


def test_the_two_worlds_may_both_move():
    """Where the canary is turned round instead of removed."""
    rng = np.random.default_rng(0)
    score, _ = bounds.likelihoods(rng.normal(size=(20_000, 2)), (np.array([[0.5, 0.0]]), np.array([[-0.5, 0.0]])))
    ins, outs = (rng.normal(size=(20_000, 2)) + np.array([move, 0]) for move in (0.5, -0.5))
    assert separation(score, ins, outs) == pytest.approx(1, rel=0.03)


def test_what_has_no_noise_decides():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(3, 3000, 2)) * [1, 0] + [0.0, 2e-3]
    move = np.array([[0.1, -1e-3]])
    score, _ = bounds.likelihoods(noise[0], (move, 0 * move))
    assert score(noise[1] + move).min() > score(noise[2]).max()


def test_runs_with_nothing_to_see_have_a_score():
    nothing = np.zeros((10, 0))
    for score in bounds.likelihoods(nothing, (nothing, nothing)):
        assert (score(nothing) == 0).all()


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in ("convolutions", "copies")])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sign", [1.0, 0.0, -1.0])
def test_a_task_has_one_canary_and_silence(family, shape, sign):
    """Gradients at the start: S along the canary, against it when turned round, else nothing."""
    import jax

    unit = canary(shape, FAMILIES[family].features)
    task = FAMILIES[family].task(sign * unit, np.array(sign != 0))
    if family == "images":
        examples = jax.tree.map(lambda leaf: leaf[task.train[0]], task.network.pool)
        grads = jax.vmap(lambda one: jax.grad(task.loss)(task.init_params, None, one))(examples)
        along = np.asarray(grads["Dense_0"]["kernel"])[:, :, 0]  # of the score of class 0
        assert (np.abs(np.asarray(grads["Dense_0"]["bias"])[1:]) < 1e-20).all()
    else:
        w = task.init_params
        nothing = jax.tree.map(lambda leaf: 0 * leaf, w)
        grads = jax.vmap(jax.vmap(lambda one: jax.grad(task.loss)(w, nothing, one)))(task.train)
        named = {"layers": tuple(LEAVES), "heads": ("body",)}.get(
            family
        )  # both parts of `heads` have the same gradient
        leaves = [np.asarray(grads[name]) for name in named] if named else [np.asarray(grads)]
        places = leaves[0].shape[0] * leaves[0].shape[1]
        along = np.concatenate([leaf.reshape(places, -1) for leaf in leaves], axis=1)
    present = 4 if family in ("users", "heads", "pair", "layers") else 1  # a user's examples are all its canary
    np.testing.assert_allclose(along[:present], np.broadcast_to(sign * SIZE * unit, along[:present].shape))
    assert np.abs(along[present:]).max() < 1e-20
    if family == "images":  # a network has no Lipschitz bound; the canary's gradient has the length S
        assert np.linalg.norm(along, axis=1).max() <= SIZE * (1 + 1e-6)
    elif family not in ("layers", "heads"):  # whose loss is none of a linear score
        assert np.linalg.norm(along, axis=1).max() <= task.linear.lipschitz[1] * (1 + 1e-6)
        assert np.abs(along).sum(1).max() <= task.linear.lipschitz[0] * (1 + 1e-6)
