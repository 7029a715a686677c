"""Noise of the server over rounds: what is drawn, what a user can move, what it costs, and what is refused."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism
from less_noise import with_less_noise

from bench.algorithms import ALGORITHMS
from bench.algorithms.parts.noise import NOISES, noise_of, strategy
from bench.audit import audit
from bench.audit.tasks import users
from bench.audit.text import text_of
from bench.errors import InputError
from bench.kernels.gradient import gaussian_like
from bench.privacy.accounting import epsilon
from bench.sweeps.spec import arguments

ROUNDS, LONGER, SEPARATION = 200, 300, 16
CORRELATED = [name for name in NOISES if name != "independent"]


@cache
def drawn(name: str) -> np.ndarray:
    """The noise of LONGER rounds by the code that methods use, for a plan of ROUNDS, [round, number]."""
    model = {"a": jnp.zeros((1480, 1)), "b": jnp.zeros(20)}
    noise = noise_of(name, SEPARATION, 0, ROUNDS)

    def step(memory, key):
        one, memory = noise.draw(key, memory, model)
        return memory, jnp.concatenate([one["a"][:, 0], one["b"]])

    keys = jax.random.split(jax.random.key(3), LONGER)
    return np.asarray(jax.jit(lambda: jax.lax.scan(step, noise.init(model), keys)[1])(), float)


@pytest.fixture(params=CORRELATED)
def name(request) -> str:
    return request.param


def test_it_solves_the_strategy_for_independent_noise(name):
    """A second way to it: NumPy's solution of C x = z in float64. So C X + Z is what a run releases."""
    matrix = strategy(name, SEPARATION, 0, ROUNDS).matrix(ROUNDS)
    expected = np.linalg.solve(matrix, drawn("independent")[:ROUNDS])
    np.testing.assert_allclose(drawn(name)[:ROUNDS], expected, atol=2e-5)


def test_independent_noise_is_a_draw_of_the_rounds_key_and_so_is_one_band():
    model = {"a": jnp.zeros((3, 2)), "b": jnp.zeros(4)}
    key = jax.random.key(1)
    every = noise_of("independent"), noise_of("banded_sqrt", 5, 1), noise_of("banded", 5, 1, 9)
    draws = jax.jit(lambda: [noise.draw(key, noise.init(model), model)[0] for noise in every])()
    plain = jax.jit(gaussian_like)(key, model)
    for draw in draws:
        jax.tree.map(np.testing.assert_array_equal, draw, plain)


@pytest.mark.parametrize(
    ("name", "ratio"),
    [("banded_sqrt", 0.348), ("banded", 0.332), ("blt", 0.352), ("bisr", 0.364), ("lambda_cgd", 0.363)],
)
def test_prefix_sums_of_what_is_drawn_have_so_much_less_noise_at_equal_privacy(name, ratio):
    """200 rounds, each user in 13 of them, 16 apart."""
    sizes = [np.sqrt(np.mean(np.square(np.cumsum(drawn(one)[:ROUNDS], axis=0)))) for one in (name, "independent")]
    cost = strategy(name, SEPARATION, 0, ROUNDS).sensitivity(ROUNDS) / np.ceil(ROUNDS / SEPARATION) ** 0.5
    assert sizes[0] / sizes[1] * cost == pytest.approx(ratio, rel=0.01)


def test_a_run_longer_than_planned_goes_on(name):
    matrix = strategy(name, SEPARATION, 0, ROUNDS).matrix(LONGER)
    np.testing.assert_allclose(drawn(name), np.linalg.solve(matrix, drawn("independent")), atol=5e-5)


# ---- What it costs ----

USERS = users(jnp.eye(1, 9)[0], jnp.ones((), bool))  # four
ARGS = {"num_sampled": 1, "batch_size": 2, "sampler": "cyclic", "step_size": 1.0, "clip_norm": 1.0, "planned_rounds": 8}
FEDAVG = ALGORITHMS["dp_fedavg"]


def readings(**changes) -> dict:
    args = arguments(FEDAVG, ARGS | {"noise_multiplier": 2.0, "server_step_size": 1.0} | changes)
    FEDAVG.fits(USERS, **args)
    return FEDAVG.readings(USERS, delta=1e-5, **args)


@pytest.mark.parametrize("rounds", [1, 4, 5, 8, 30])
@pytest.mark.parametrize("noise", NOISES)
def test_epsilon_is_that_of_one_gaussian_by_dp_accounting(noise, rounds):
    moved = (-(-rounds // 4)) ** 0.5 if noise == "independent" else strategy(noise, 4, 0, 8).sensitivity(rounds)
    found = readings(noise=noise)
    for reading, of_two in (("worst_case", 2), ("removed", 1)):
        expected = gaussian_mechanism.get_epsilon_gaussian(2.0 / (of_two * moved), 1e-5)
        assert epsilon(found[reading], rounds) == pytest.approx(expected, rel=1e-6)
    assert found["paper"] == found["worst_case"]
    assert all(one.sound for one in found.values())
    assert epsilon(found["paper"], 0) == 0


def test_bands_cost_what_independent_noise_does():
    for rounds in (3, 8, 21):
        alone, banded = (epsilon(readings(noise=noise)["paper"], rounds) for noise in ("independent", "banded"))
        assert alone == banded


def test_no_noise_has_no_epsilon(name):
    assert epsilon(readings(noise=name, noise_multiplier=0.0)["removed"], 3) == np.inf


@pytest.mark.parametrize(
    ("method", "name"),
    [("dp_fedavg", name) for name in CORRELATED]
    + [pytest.param("ppsgd", name, marks=() if name == "banded" else pytest.mark.slow) for name in CORRELATED],
)
def test_one_user_moves_what_was_released_by_the_sensitivity_and_no_more(method, name):
    """Two runs with the same noise differ by one user alone: solved for C, by so many units of z."""
    rounds, sigma = 8, 3.0
    args = ARGS | {"noise": name, "noise_multiplier": sigma, "sampler": "cyclic", "num_sampled": 1}
    args |= {"server_step_size": 1.0} if method == "dp_fedavg" else {"personalization": np.inf}
    args = arguments(ALGORITHMS[method], args)

    def path(sign, key):
        algorithm = ALGORITHMS[method].make(users(sign * jnp.eye(1, 9)[0], jnp.ones((), bool)), **args)

        def step(state, key):
            state, _ = algorithm.round(key, state)
            return state, algorithm.public(state)

        keys = jax.random.split(key, rounds + 1)
        return jax.lax.scan(step, algorithm.init(keys[0]), keys[1:])[1]

    keys = jax.random.split(jax.random.key(0), 9)
    paths = jax.jit(jax.vmap(jax.vmap(path, (None, 0)), (0, None)))(jnp.array([1.0, -1.0]), keys)
    sums = np.diff(np.asarray(paths, float), axis=2, prepend=0)  # of one user a round, the step being 1
    moved = np.einsum("ts,rsd->rtd", strategy(name, 4, 0, 8).matrix(rounds), sums[0] - sums[1])
    far = np.linalg.norm(moved, axis=(1, 2)).max()
    assert far == pytest.approx(2 * strategy(name, 4, 0, 8).sensitivity(rounds), rel=1e-4)


# ---- What is refused ----

REFUSED = {
    "noise 'banded' is not proven with sampler 'poisson'": {"sampler": "poisson", "noise": "banded"},
    "adaptive clipping is not accounted for with noise 'bisr'": {"clipping": "adaptive", "noise": "bisr"},
    "num_bands is 5, but a user takes part every 4 rounds": {"noise": "banded_sqrt", "num_bands": 5},
    "num_bands is -1": {"noise": "blt", "num_bands": -1},
    "needs users that pause between rounds": {"noise": "banded", "sampler": "all", "num_sampled": 4},
    "give planned_rounds": {"noise": "tree", "planned_rounds": 0},
    "no noise is called 'bands'": {"noise": "bands"},
}


@pytest.mark.parametrize(("said", "changes"), REFUSED.items())
def test_what_is_not_proven_is_refused(said, changes):
    with pytest.raises(InputError) as error:
        readings(**changes)
    assert said in str(error.value)


# ---- The audit ----


@pytest.mark.parametrize(
    ("method", "noise"),
    [
        pytest.param("dp_fedavg", "banded_sqrt", marks=pytest.mark.slow),
        pytest.param("ppsgd", "independent", marks=pytest.mark.slow),
        pytest.param("dp_fedavg", "blt", marks=pytest.mark.slow),
        pytest.param("ppsgd", "banded", marks=pytest.mark.slow),
        pytest.param("ppsgd", "tree", marks=pytest.mark.slow),
        pytest.param("dp_fedavg", "bisr", marks=pytest.mark.slow),
        pytest.param("ppsgd", "lambda_cgd", marks=pytest.mark.slow),
    ],
)
def test_the_audit_refutes_none_of_them_and_each_with_half_of_its_noise(method, noise):
    args = {"sampler": "cyclic", "num_sampled": 2, "noise": noise, "planned_rounds": 6}
    given = {"args": args, "rounds": 6, "runs": 6000}
    found = audit(method, **given)
    assert not found.refuted, text_of(found)
    finding = next(one for one in found.findings if one.reading == "removed")  # on the first of the audit's tasks
    assert max(bound.lower_bound for bound in finding.bounds) > 0.3 * finding.epsilon
    assert audit(with_less_noise(ALGORITHMS[method]), **given).refuted
