"""The methods on silos against theory, against special cases that must coincide, and against plain NumPy."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from slow_cases import cases
from tiny_silos import random_records, run, task_of

from bench.algorithms.accelerated import accelerated, stage_rounds
from bench.algorithms.localized import localized
from bench.algorithms.minibatch_sgd import minibatch_sgd
from bench.algorithms.parts import silos
from bench.algorithms.subgradient import subgradient
from bench.models import linear
from bench.papers.isrl import reference

QUIET = {"clip_norm": float("inf"), "noise_multiplier": 0.0}
CURVATURE = 1.0 / np.arange(1, 41) ** 2


def bowl(w, _, target):
    """(w - target) diag(CURVATURE) (w - target) / 2: 1-smooth, badly conditioned, no linear model."""
    return 0.5 * jnp.square(w - target) @ jnp.asarray(CURVATURE, jnp.float32)


def bowls():
    """Four silos with bowls of their own, whose mean has its minimum at 1."""
    targets = 1 + np.random.default_rng(0).standard_normal((4, 2, 40))
    targets += 1 - targets.mean((0, 1))
    return task_of(targets, np.zeros((4, 2)), link=None, loss=lambda w, local, one: bowl(w, local, one[0]))


def risks(models):
    return 0.5 * np.square(np.asarray(models) - 1) @ CURVATURE


def slope(rounds, values):
    return np.polyfit(np.log(rounds), np.log(values), 1)[0]


def test_algorithm_2_falls_at_the_accelerated_rate_on_a_quadratic():
    """At most 4 v |w_0 - w*|^2 / (R (R + 1)), v = 2 beta (Ghadimi and Lan 2012, Corollary 1); plain SGD exceeds it."""
    rounds = np.array([5, 10, 20, 40, 80, 160])
    task = bowls()
    fast = risks([run(accelerated(task, num_sampled=4, phase_rounds=R, step_size=0.5, **QUIET), R)[-1] for R in rounds])
    plain = risks(run(minibatch_sgd(task, num_sampled=4, phase_rounds=160, sampler="all", step_size=0.5, **QUIET), 160))
    bound = 4 * 2 * 40 / (rounds * (rounds + 1))
    assert (fast <= bound).all()
    assert slope(rounds[2:], fast[2:]) < -2
    assert slope(rounds[2:], plain[rounds[2:]]) > -1.3
    assert fast[-1] < plain[-1] / 20


@pytest.mark.slow
def test_algorithm_3_falls_at_its_own_rate():
    """2 L^2 / (lambda (R + 1)) on a hinge loss with a regulariser (Bubeck 2015, Theorem 6.2)."""
    rng, strength = np.random.default_rng(2), 0.05
    x = rng.standard_normal((3, 30, 5))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    y = np.where(rng.uniform(size=(3, 30)) < 0.8, np.sign(x @ np.ones(5)), 1.0)
    task = task_of(x, y, linear.hinge)

    def objective(w):
        return np.maximum(0, 1 - y * (x @ w)).mean() + strength / 2 * w @ w

    args = {"num_sampled": 3, "step_size": 1e6, "regularization": strength, **QUIET}
    models = {R: run(subgradient(task, phase_rounds=R, **args), R)[-1] for R in (10, 30, 100, 300, 1000)}
    best = min(map(objective, models.values()))
    gaps = {R: objective(w) - best for R, w in models.items() if R < 1000}
    lipschitz = 1 + strength * max(np.linalg.norm(w) for w in models.values())
    assert all(gap <= 2 * lipschitz**2 / (strength * (R + 1)) for R, gap in gaps.items())
    assert slope(list(gaps), list(gaps.values())) < -0.7


SAMPLERS = [{"sampler": "all"}, {"sampler": "once"}, {"sampler": "fixed", "batch_size": 3}]


@pytest.mark.parametrize(
    "sampling", [SAMPLERS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in SAMPLERS[1:])]
)
def test_one_phase_without_regulariser_and_constraint_is_minibatch_sgd(sampling):
    task = random_records(1)
    same = dict(num_sampled=3, phase_rounds=10, step_size=0.7, clip_norm=0.5, noise_multiplier=2.0, **sampling)
    plain = run(minibatch_sgd(task, **same), 10)
    one_phase = dict(num_phases=1, regularization=0.0, growth=3.0)
    np.testing.assert_allclose(run(localized(task, share=1.0, **one_phase, **same), 10), plain, rtol=1e-5, atol=1e-6)
    half = {"share": 0.5, "phase_rounds": 8}
    for change in (half, {"regularization": 0.3}, {"regularization": 1e-3, "constraint": 1e-6}):
        other = run(localized(task, **({"share": 1.0} | one_phase | same | change)), 10)
        assert not np.allclose(other, plain, rtol=1e-2)


@pytest.mark.parametrize(
    "solver", cases(["minibatch_sgd", "accelerated", "subgradient"], slow={"minibatch_sgd", "subgradient"})
)
def test_the_ball_constraint_binds_and_holds(solver):
    """Phase by phase |w_i - w_{i-1}| <= D_i = constraint 2 C / lambda_i, with equality where the gradient is large."""
    far = task_of(np.ones((2, 16, 1)), np.full((2, 16), 1000.0), lambda s, y: jnp.abs(s - y))
    args = dict(num_sampled=2, num_phases=3, phase_rounds=30, step_size=100.0, regularization=0.1, clip_norm=1.0)
    method = localized(far, noise_multiplier=0.0, constraint=0.05, growth=1.0, solver=solver, **args)
    w = run(method, 90)[[0, 30, 60, 90], 0]
    moved, radii = np.diff(w), 0.05 * 2 / (0.1 * 2.0 ** np.arange(3))
    assert (moved <= radii * (1 + 1e-5)).all()
    np.testing.assert_allclose(moved[0], radii[0], rtol=0.15)
    free = run(localized(far, noise_multiplier=0.0, constraint=np.inf, growth=1.0, solver=solver, **args), 90)
    assert free[30, 0] > 5 * radii[0]


@pytest.mark.parametrize("constraint", [np.inf, 0.02])
def test_localized_sgd_is_the_plain_loop(constraint):
    """Two implementations, the same records: all silos answer, without noise."""
    task = random_records(4, num_clients=3, records=20)
    args = dict(num_sampled=3, num_phases=2, phase_rounds=12, sampler="all", clip_norm=0.6, noise_multiplier=0.0)
    numbers = dict(step_size=3.0, regularization=0.05, growth=1.0, constraint=constraint)
    ours = run(localized(task, **args, **numbers), 24, seed=3)
    x, y = (np.asarray(leaf) for leaf in localized(task, **args, **numbers).init(jax.random.key(3)).schedule["records"])
    phases = [[(x[l, a:b], y[l, a:b]) for l in range(3)] for a, b in ((0, 10), (10, 15))]
    draws = [(range(3), np.zeros((3, 3)))] * 24
    theirs = reference.localized_sgd(
        np.zeros(3),
        phases,
        draws,
        rounds=12,
        slopes=reference.logistic_slopes,
        clip_norm=0.6,
        noise_multiplier=0.0,
        **numbers,
    )
    np.testing.assert_allclose(ours[-1], theirs, rtol=1e-4)


@pytest.mark.parametrize(("mu", "radius"), [(0.0, np.inf), (0.1, np.inf), (0.1, 0.3)])
def test_accelerated_is_the_plain_loop(mu, radius):
    task, rounds = random_records(6), 13
    x, y = (np.asarray(leaf).reshape(64, -1).squeeze() for leaf in task.train)

    def gradient(w):
        return (reference.logistic_slopes(x @ w, y)[:, None] * x).mean(0) + mu * w

    method = accelerated(
        task,
        num_sampled=4,
        phase_rounds=rounds,
        step_size=0.8,
        regularization=mu,
        radius=radius,
        num_stages=3,
        **QUIET,
    )
    stages = stage_rounds(rounds, 3)
    assert stages == [2, 4, 7]
    # The plain loop's ball is around the start of everything, as is the method's in its one phase.
    theirs = reference.ac_sa(np.zeros(3), gradient, stages=stages, mu=mu, v=1 / 0.8 + 2 * mu, radius=radius)
    np.testing.assert_allclose(run(method, rounds)[-1], theirs, rtol=1e-4, atol=1e-6)


def test_more_noise_makes_the_accelerated_method_more_careful():
    """v_k grows with the variance of a message: steps are shorter."""
    task, args = random_records(6), dict(num_sampled=4, phase_rounds=3, step_size=5.0, regularization=0.5, **QUIET)
    lengths = [np.linalg.norm(run(accelerated(task, variance=v, gap=0.1, **args), 3)[1]) for v in (0.0, 1e3, 1e5)]
    assert lengths[0] > 1.5 * lengths[1] > 3 * lengths[2]


@pytest.mark.parametrize("rounds", [1, 2, 5, 16, 31])
@pytest.mark.parametrize("num_stages", [1, 2, 4])
def test_stages_fill_the_rounds(rounds, num_stages):
    stages = stage_rounds(rounds, num_stages)
    assert sum(stages) == rounds
    assert min(stages) >= 1
    assert len(stages) == min(num_stages, rounds)
    fitting = stage_rounds(rounds, None)
    assert sum(fitting) == rounds
    assert fitting[0] in (1, 2)
    assert all(b >= a for a, b in itertools.pairwise(fitting))
    assert len(fitting) == int(np.log2(rounds + 1))


def test_answers_average_what_they_say():
    """SGD: the last eight iterates, or as many as asked for, or all of fewer; subgradients: weights 1, 2, 3, ..."""
    slope_one = task_of(np.ones((1, 4, 1)), np.zeros((1, 4)), lambda s, y: s)  # w falls by the step every round
    ten = {"num_sampled": 1, "phase_rounds": 10, "sampler": "all", "step_size": 1.0, **QUIET}
    sgd = run(minibatch_sgd(slope_one, **ten), 10)
    whole = run(minibatch_sgd(slope_one, num_averaged=10, **ten), 10)
    np.testing.assert_allclose(-whole[:, 0], [0, *(np.arange(2, 12) / 2)])
    np.testing.assert_allclose(-sgd[:6, 0], [0, 1, 2, 3, 3.5, 4])  # the last eight begin with the third
    np.testing.assert_allclose(sgd[-1, 0], -np.mean(range(3, 11)))
    short = run(minibatch_sgd(slope_one, num_sampled=1, phase_rounds=3, sampler="all", step_size=1.0, **QUIET), 3)
    np.testing.assert_allclose(short[:, 0], [0, -1, -1.5, -2])
    steps = np.cumsum([0] + [2 / (r + 1) for r in range(1, 6)])
    sub = run(subgradient(slope_one, num_sampled=1, phase_rounds=5, step_size=1.0, **QUIET), 5)
    np.testing.assert_allclose(sub[-1, 0], -np.average(steps[:5], weights=range(1, 6)), rtol=1e-5)


def test_nothing_moves_and_nothing_is_released_after_the_last_round():
    task = random_records(1)
    method = localized(
        task, num_sampled=2, num_phases=2, phase_rounds=2, step_size=1.0, regularization=0.1, clip_norm=1.0,
        noise_multiplier=1.0,
    )  # fmt: skip
    state, released = method.init(jax.random.key(0)), []
    models = []
    for t in range(6):
        state, info = jax.jit(method.round)(jax.random.key(t), state)
        released.append(float(info["released"]))
        models.append(np.asarray(method.params(state)))
    assert released == [1, 1, 1, 1, 0, 0]
    assert np.array_equal(models[3], models[5])
    assert not np.array_equal(models[2], models[3])
    phases = {"num_phases": 2, "phase_rounds": 2, "share": 0.5}
    assert silos.total_rounds(task, {"num_sampled": 2, "clip_norm": 1.0, "noise_multiplier": 1.0, **phases}) == 4


PAIRS = [("minibatch_sgd", "moreau"), ("accelerated", "convolution"), ("multistage", "none"), ("subgradient", "moreau")]


@pytest.mark.parametrize(("solver", "smoothing"), PAIRS)
def test_every_solver_and_every_smoothing_learns(solver, smoothing):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 64, 3)) / 2
    task = task_of(x, np.sign(x @ np.array([1.0, -2.0, 0.5])), linear.hinge)
    method = localized(
        task,
        num_sampled=3,
        num_phases=2,
        phase_rounds=10,
        step_size=2.0,
        regularization=1e-3,
        clip_norm=1.0,
        noise_multiplier=0.5,
        solver=solver,
        smoothing=smoothing,
        smoothing_radius=0.2,
        moreau_smoothness=5.0,
    )
    models = run(method, 20)
    losses = np.maximum(0, 1 - np.asarray(task.train[1]) * np.einsum("lnd,td->tln", x, models)).mean((1, 2))
    assert losses[-1] < 0.6 * losses[0]
