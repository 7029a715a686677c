"""Silos: whose records are in a message, how far one record moves it, and what noise it carries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tiny_silos import ask, counting, random_records, task_of

from bench.algorithms.parts import silos
from bench.errors import InputError
from bench.models import linear


def used(messages, rounds):
    """Weights of the records in each round, [round, silo, record]."""
    return np.stack([messages(t) for t in range(rounds)])


def test_phases_use_disjoint_records_of_the_sizes_that_the_paper_says():
    phases, messages, _ = ask(counting(), num_phases=3, share=0.5, phase_rounds=2)
    assert phases == ((8, 4, 2), (2, 2, 2), (8, 4, 2))
    weights = used(messages, phases.total)
    assert np.array_equal(weights[::2] > 0, weights[1::2] > 0)  # the same records in both rounds of a phase
    for phase, size in enumerate(phases.sizes):
        np.testing.assert_allclose(np.sort(weights[2 * phase], -1)[:, -size:], 1 / size)
        assert np.count_nonzero(weights[2 * phase]) == 3 * size
    assert ((weights[::2] > 0).sum(0) <= 1).all()


def test_silos_shuffle_their_records_in_different_orders():
    _, messages, _ = ask(counting(), num_phases=1, share=0.5)
    chosen = messages(0) > 0
    assert not (chosen == chosen[0]).all()


@pytest.mark.parametrize("num_phases", [1, 3])
def test_one_pass_uses_every_record_in_one_round(num_phases):
    phases, messages, _ = ask(
        counting(records=32), sampler="once", num_phases=num_phases, share=1 / num_phases, phase_rounds=2
    )
    weights = used(messages, phases.total)
    times = (weights > 0).sum(0)
    assert times.max() == 1
    assert (times.sum(-1) == sum(R * K for R, K in zip(phases.rounds, phases.batches, strict=True))).all()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)  # each message is a mean


def test_batches_may_grow_from_phase_to_phase():
    """Few rounds in the later phases: their batches are larger than those of the first."""
    phases, messages, _ = ask(
        counting(records=32), sampler="once", num_phases=2, share=0.5, phase_rounds=16, rounds_ratio=0.1
    )
    assert phases.batches == (1, 4)
    weights = used(messages, phases.total)
    assert ((weights > 0).sum(0) <= 1).all()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)


def test_fixed_samples_are_fresh_and_within_the_phase():
    phases, messages, _ = ask(counting(), sampler="fixed", batch_size=3, num_phases=2, share=0.5)
    _, all_of_it, _ = ask(counting(), num_phases=2, share=0.5)
    seen = np.zeros((3, 16), bool)
    for key in range(20):
        weights = messages(1, key=key)
        assert ((weights > 0).sum(-1) == 3).all()
        np.testing.assert_allclose(weights.max(-1), 1 / 3, rtol=1e-6)
        seen |= weights > 0
    assert np.array_equal(seen, all_of_it(1) > 0)
    assert phases.batches == (3, 3)


def test_poisson_samples_have_the_right_rate():
    _, messages, _ = ask(counting(), sampler="poisson", batch_size=4, share=0.5, num_phases=1)
    counts = np.array([(messages(0, key=key) > 0).sum(-1) for key in range(200)])
    assert abs(counts.mean() - 4) < 4 * np.sqrt(8 * 0.25 / counts.size)
    assert counts.std() > 0.5
    assert np.isclose(messages(0).max(), 1 / 4)


def test_a_random_subset_of_silos_answers():
    task = task_of(np.eye(5)[:, None, :] * np.ones((5, 4, 1)), np.zeros((5, 4)), lambda s, y: s)
    _, messages, _ = ask(task, num_sampled=2)
    answering = np.array([messages(0, key=key).sum(0) > 0 for key in range(200)])  # silo l says e_l
    assert (answering.sum(-1) == 2).all()
    assert (np.abs(answering.mean(0) - 0.4) < 4 * np.sqrt(0.24 / 200)).all()


@pytest.mark.parametrize("args", [{}, {"smoothing": "moreau"}, {"smoothing": "convolution", "smoothing_radius": 0.3}])
def test_one_record_moves_one_silo_by_at_most_2_C_over_K(args):
    clip_norm, moved = 0.7, []
    for seed in range(3):
        task = random_records(seed)
        x, y = (np.array(leaf) for leaf in task.train)
        x[2, 5], y[2, 5] = 50.0 * np.random.default_rng(seed).standard_normal(3), -y[2, 5]
        w = np.random.default_rng(seed + 50).standard_normal(3)
        sides = [ask(one, clip_norm=clip_norm, **args)[1](0, w) for one in (task, task_of(x, y))]
        difference = np.linalg.norm(sides[0] - sides[1], axis=-1)
        assert (difference[[0, 1, 3]] == 0).all()
        moved.append(difference[2])
    assert 0 < max(moved) <= 2 * clip_norm / 16 * (1 + 1e-5)


def test_the_bound_on_the_movement_is_attained_and_needs_the_clipping():
    """Two records with opposite gradients of length C, and the same without clipping."""
    far = np.zeros((1, 4, 2))
    far[0, :, 0] = 100.0
    ends = [task_of(far, np.full((1, 4), sign)) for sign in (1.0, -1.0)]
    both = task_of(far, np.array([[1.0, 1, 1, -1]]))
    w = np.zeros(2)
    messages = [ask(task, clip_norm=1.0)[1](0, w) for task in (ends[0], both)]
    assert np.isclose(np.linalg.norm(messages[0] - messages[1]), 2 / 4)
    loose = [ask(task, clip_norm=np.inf)[1](0, w) for task in (ends[0], both)]
    assert np.linalg.norm(loose[0] - loose[1]) > 20


@pytest.mark.parametrize("args", [{"sampler": "all"}, {"sampler": "once"}, {"sampler": "fixed", "batch_size": 4}])
def test_every_silo_adds_its_own_gaussian_noise(args):
    """std sigma C / K on every coordinate, independent between silos, coordinates and rounds."""
    sigma, clip_norm = 3.0, 0.5
    task = task_of(np.zeros((3, 16, 20)), np.zeros((3, 16)))
    phases, messages, _ = ask(task, noise_multiplier=sigma, clip_norm=clip_norm, **args)
    noise = np.array([[messages(t, key=2 * key + t) for t in range(2)] for key in range(60)])  # [key, round, silo, d]
    scaled = noise / (sigma * clip_norm / phases.batches[0])
    assert stats.kstest(scaled.ravel(), "norm").pvalue > 1e-3
    assert stats.kstest(1.1 * scaled.ravel(), "norm").pvalue < 1e-3
    flat = scaled.reshape(60, -1, 3, 20)
    correlations = [
        np.corrcoef(flat[:, :, a].ravel(), flat[:, :, b].ravel())[0, 1] for a, b in ((0, 1), (1, 2), (0, 2))
    ]
    assert max(np.abs(correlations)) < 4 / np.sqrt(flat[:, :, 0].size)


def test_shorter_phases_are_less_noisy_so_that_all_cost_the_same():
    task = task_of(np.zeros((1, 32, 400)), np.zeros((1, 32)))
    args = {"num_phases": 2, "share": 0.5, "phase_rounds": 8, "rounds_ratio": 0.25}
    phases, messages, _ = ask(task, noise_multiplier=2.0, **args)
    assert phases.rounds == (8, 2)
    stds = [np.std(messages(t)) * size for t, size in ((0, 16), (8, 8))]
    np.testing.assert_allclose(stds, [2.0, 1.0], rtol=0.15)


@pytest.mark.slow
def test_both_ways_to_differentiate_agree():
    task = random_records(3)
    any_model = task_of(*task.train, link=None, loss=linear.logistic_loss)
    w = np.array([0.3, -1.0, 2.0])
    for clip_norm in (0.5, np.inf):
        messages = [ask(one, clip_norm=clip_norm)[1](0, w) for one in (task, any_model)]
        np.testing.assert_allclose(*messages, rtol=1e-5, atol=1e-7)
    smoothed = [ask(one, smoothing="convolution", smoothing_radius=0.5)[1](0, w, key=4) for one in (task, any_model)]
    np.testing.assert_allclose(*smoothed, rtol=1e-5, atol=1e-7)


def test_a_clipped_gradient_is_the_mean_over_the_records():
    task = random_records(5)
    w = np.array([0.3, -1.0, 2.0])
    messages = ask(task, clip_norm=np.inf)[1](0, w)

    def loss(w, x, y):
        return jnp.mean(linear.logistic(x @ w, y))

    for silo, (x, y) in enumerate(zip(*task.train, strict=True)):
        np.testing.assert_allclose(messages[silo], jax.grad(loss)(jnp.asarray(w, jnp.float32), x, y), rtol=1e-5)


ARGS = dict(
    num_sampled=3, clip_norm=1.0, noise_multiplier=1.0, smoothing="none", phase_rounds=2, sampler="all", batch_size=1
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_phases": 5}, "num_phases is 5, but halving 16 records a silo gives at most 4: take 1 to 4"),
        ({"sampler": "fixed", "batch_size": 17}, "batch_size is 17, but the last phase has 16 records"),
        ({"num_sampled": 4}, "num_sampled is 4, but task count has 3 silos"),
        ({"sampler": "al"}, "no sampler is called 'al': did you mean all?"),
        ({"sampler": "once", "phase_rounds": 17}, "a phase of 16 records cannot fill 17 rounds once"),
        ({"num_phases": 2, "share": 1.0}, "take a share of at most 1/2"),
        ({"clip_norm": np.inf}, "noise has no scale without clipping"),
    ],
)
def test_values_that_do_not_fit_are_refused_in_one_line(change, message):
    with pytest.raises(InputError, match=r"^[^\n]*$") as error:
        silos.check(counting(), **(ARGS | change))
    assert message in str(error.value)


def test_tasks_that_do_not_fit_are_refused():
    task = counting()
    silos.check(task, **ARGS)
    uneven = task.__class__(**{**task.__dict__, "num_examples": jnp.array([16, 15, 16])})
    with pytest.raises(InputError, match="as many in every silo"):
        silos.check(uneven, **ARGS)
    with pytest.raises(InputError, match="smooth it by convolution"):
        silos.check(task_of(*task.train, link=None, loss=linear.hinge_loss), **(ARGS | {"smoothing": "moreau"}))
