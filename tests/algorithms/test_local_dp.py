"""Learning from perturbed inputs: the noise, once and of the right scale; the minimiser of what it leaves."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy import stats
from tiny_peers import MU, logistic_peers, play, with_nothing, with_padding

from bench.algorithms import ALGORITHMS, local_models
from bench.algorithms.local_dp import METHOD
from bench.data.task import Peers
from bench.kernels.graph import dense
from bench.privacy.accounting import epsilon
from bench.sweeps.spec import arguments

ROUNDS = 30
ARGS = {"mu": MU, "noise_multiplier": 4.0, "bound": 1.0}


def perturbed(task, **args):
    """The inputs that an agent learns from, before the first and after the last round."""
    played = play(METHOD, task, ROUNDS, **ARGS | args)
    return played, played.first.variables["inputs"], played.last.variables["inputs"]


def test_every_coordinate_of_every_example_gets_its_own_laplace_noise_and_only_once():
    task = logistic_peers(num_agents=60)
    played, first, last = perturbed(task, noise_multiplier=2.0, bound=3.0)
    np.testing.assert_array_equal(first, last)
    drawn = (first - np.asarray(task.train[0])).ravel() / (2.0 * 3.0)
    assert stats.kstest(drawn, stats.laplace.cdf).pvalue > 1e-3
    assert stats.kstest(1.2 * drawn, stats.laplace.cdf).pvalue < 1e-3
    assert stats.kstest(drawn, stats.norm(scale=np.sqrt(2)).cdf).pvalue < 1e-3
    assert len(np.unique(drawn)) == drawn.size
    assert played.info["released"].sum() == 0


def test_coordinates_beyond_the_bound_are_cut_off_so_that_the_noise_is_enough():
    task = logistic_peers(input_range=10.0)
    _, inputs, _ = perturbed(task, bound=2.0)
    _, double, _ = perturbed(replace(task, train=(2 * task.train[0], task.train[1])), bound=2.0)
    assert np.abs(inputs - double).max() <= 2 * 2.0
    beyond = np.abs(np.asarray(task.train[0])) > 2
    np.testing.assert_array_equal(inputs[beyond], double[beyond])
    _, within, _ = perturbed(task, bound=10.0, noise_multiplier=0.0)
    np.testing.assert_array_equal(within, task.train[0])


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_coordinate_that_is_not_finite_moves_no_other_one_and_itself_by_no_more_than_the_noise_hides(value):
    task = logistic_peers()
    inputs, targets = task.train
    moved = perturbed(replace(task, train=(inputs.at[1, 2, 0].set(value), targets)), bound=2.0)[1]
    change = np.abs(moved - perturbed(task, bound=2.0)[1])
    assert 0 < change[1, 2, 0] <= 2 * 2.0
    change[1, 2, 0] = 0
    assert not change.any()


@pytest.mark.parametrize("how", [{"solver": "newton"}, {"solver": "descent", "step_size": 0.3}])
def test_without_noise_it_is_local_learning_and_with_it_the_same_on_other_inputs(how):
    task = logistic_peers()
    exact, _, _ = perturbed(task, noise_multiplier=0.0, **how)
    local = play(local_models.METHOD, task, ROUNDS, mu=MU, **how)
    np.testing.assert_allclose(exact.models[-1], local.models[-1], atol=1e-5)
    noisy, inputs, _ = perturbed(task, **how)
    changed = replace(task, train=(jax.numpy.asarray(inputs), task.train[1]))
    other = play(local_models.METHOD, changed, ROUNDS, mu=MU, **how)
    np.testing.assert_allclose(noisy.models[-1], other.models[-1], rtol=1e-3, atol=1e-4)
    assert np.abs(noisy.models[-1] - exact.models[-1]).max() > 0.1


def test_padding_has_no_effect_and_an_agent_without_examples_stays_at_0():
    task = logistic_peers()
    models = play(METHOD, task, ROUNDS, **ARGS).models
    np.testing.assert_allclose(play(METHOD, with_padding(task, 7.0), ROUNDS, **ARGS).models, models, atol=1e-5)
    np.testing.assert_array_equal(play(METHOD, with_nothing(task, 2), ROUNDS, **ARGS).models[:, 2], 0)


TOGETHER = {"learning": "together", "num_ticks": 20}


def test_without_noise_learning_together_minimises_the_common_objective():
    """Coordinate descent by gradient steps goes to the same minimum, from another start and in many more updates."""
    task = logistic_peers()
    exact, _, _ = perturbed(task, noise_multiplier=0.0, bound=100.0, **TOGETHER)
    descent = play(ALGORITHMS["coordinate_descent"], task, 200, mu=MU, num_ticks=100)
    np.testing.assert_allclose(exact.models[-1], descent.models[-1], atol=2e-3)


def test_learning_together_is_that_of_the_perturbed_inputs_and_draws_them_once():
    task = logistic_peers()
    noisy, inputs, after = perturbed(task, **TOGETHER)
    np.testing.assert_array_equal(inputs, after)
    changed = replace(task, train=(jax.numpy.asarray(inputs), task.train[1]))
    other, _, _ = perturbed(changed, noise_multiplier=0.0, bound=1e6, **TOGETHER)
    np.testing.assert_allclose(noisy.models[-1], other.models[-1], rtol=1e-2, atol=1e-3)
    alone, same, _ = perturbed(task)
    np.testing.assert_array_equal(inputs, same)
    assert np.abs(noisy.models[-1] - alone.models[-1]).max() > 0.1
    start = local_models.METHOD
    local = play(start, changed, ROUNDS, mu=MU, solver="newton")
    np.testing.assert_allclose(noisy.models[0], local.models[-1], rtol=1e-2, atol=1e-3)


def test_an_agent_without_examples_has_the_mean_of_its_neighbours():
    task = with_nothing(logistic_peers(), 2)
    models = play(METHOD, task, 200, **ARGS | TOGETHER).models[-1]
    graph = task.need(Peers).graph
    weights = dense(graph)[2]
    np.testing.assert_allclose(models[2], weights @ models / weights.sum(), atol=1e-3)


def test_learning_together_releases_what_learning_alone_does():
    task, args = logistic_peers(), arguments(METHOD, ARGS)
    played, _, _ = perturbed(task, **TOGETHER)
    assert played.info["released"].sum() == 0
    together = METHOD.releases(task, delta=0.01, **args | TOGETHER)
    assert epsilon(together["paper"], 0) == pytest.approx(2 / ARGS["noise_multiplier"])
    assert epsilon(together["true"], 0) == np.inf
