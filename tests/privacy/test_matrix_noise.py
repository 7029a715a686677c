"""Strategies of correlated noise: their coefficients, what they cost, and how much less noise prefix sums have."""

import numpy as np
import pytest
from scipy.linalg import toeplitz

from bench.privacy import matrix_noise
from bench.privacy.matrix_noise import Bands, Strategy, strategy

ROUNDS, SEPARATION = 200, 16
PLANNED = {"banded_sqrt": 16, "banded": 16, "blt": 4, "bisr": 16, "lambda_cgd": 0, "tree": 0}  # what each remembers


def planned(name: str, rounds: int = ROUNDS, separation: int = SEPARATION) -> Strategy:
    return strategy(name, separation, PLANNED[name], rounds)


def largest_move(matrix: np.ndarray, separation: int) -> float:
    """Of C X by the parts of one user, each 1 long, all in one direction."""
    return max(np.linalg.norm(matrix[:, first::separation].sum(axis=1)) for first in range(separation))


@pytest.fixture(params=matrix_noise.NAMES)
def name(request) -> str:
    return request.param


def test_the_square_root_is_one():
    matrix = toeplitz(matrix_noise.square_root(9), np.zeros(9))
    np.testing.assert_allclose(matrix @ matrix, np.tri(9), atol=1e-14)


def test_a_strategy_is_lower_triangular_and_not_negative_and_its_longest_column_has_length_1(name):
    matrix = planned(name).matrix(ROUNDS)
    np.testing.assert_array_equal(matrix, np.tril(matrix))
    assert matrix.min() >= 0
    assert np.linalg.norm(matrix, axis=0).max() == pytest.approx(1)


@pytest.mark.parametrize("rounds", [1, 5, 16, 17, 192, 200, 250])
def test_the_sensitivity_is_that_of_the_worst_user(name, rounds):
    """Of whole columns exactly; where the end cuts the last one off, of bands a little more than that."""
    one = planned(name)
    found, exact = one.sensitivity(rounds), largest_move(one.matrix(rounds), SEPARATION)
    assert found >= exact * (1 - 1e-12)
    if not one.orthogonal or rounds % SEPARATION == 0:
        assert found == pytest.approx(exact)
    if one.orthogonal:
        assert found == pytest.approx(np.ceil(rounds / SEPARATION) ** 0.5)
    assert one.sensitivity(0) == 0


def test_no_directions_and_signs_of_a_users_parts_move_it_further(name):
    rng, one = np.random.default_rng(0), planned(name, 40, 8)
    matrix = one.matrix(40)
    for _ in range(50):
        parts = rng.standard_normal((5, 3))
        parts /= np.linalg.norm(parts, axis=1, keepdims=True)
        user = np.zeros((40, 3))
        user[rng.integers(8) :: 8] = parts
        assert np.linalg.norm(matrix @ user) <= one.sensitivity(40) * (1 + 1e-12)


def test_the_inverse_of_all_bands_is_that_of_the_square_root():
    whole = matrix_noise.inverse_root(30, 30, 0.5).rows(np.eye(30))
    np.testing.assert_allclose(whole, toeplitz(matrix_noise.square_root(30), np.zeros(30)), atol=1e-14)


@pytest.mark.parametrize("separation", [1, 4, 50])
def test_no_share_of_the_last_noise_is_better_than_that_of_lambda_cgd(separation):
    """A second way to it: C with powers of the share in its columns, for many shares."""
    best = planned("lambda_cgd", separation=separation).prefix_noise(ROUNDS)
    for share in np.linspace(0, 0.999, 50):
        matrix = toeplitz(share ** np.arange(ROUNDS), np.zeros(ROUNDS))
        sums = np.linalg.norm(np.tri(ROUNDS) @ np.linalg.inv(matrix), axis=1)
        moved = largest_move(matrix, separation) / np.ceil(ROUNDS / separation) ** 0.5
        assert moved * np.sqrt(np.square(sums).sum() / (ROUNDS * (ROUNDS + 1) / 2)) >= best * (1 - 1e-9)


@pytest.mark.parametrize(("separation", "bands"), [(16, 16), (4, 16), (1, 3)])
def test_the_sensitivity_of_toeplitz_matrices_is_that_of_jax_privacy(separation, bands):
    """Theorem 2 of Kalinin and Lampert, also where the columns of a user overlap."""
    import jax
    from jax_privacy.matrix_factorization import toeplitz as theirs

    coefficients = matrix_noise.square_root(bands)
    one = Strategy(Bands(coefficients), separation)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"), jax.enable_x64():
        square = theirs.minsep_sensitivity_squared(np.array(coefficients), separation, n=192)
    assert one.sensitivity(192) == pytest.approx(float(square) ** 0.5 / one.form.norm)


def test_the_sensitivity_of_a_tree_is_that_of_jax_privacy():
    import jax
    from jax_privacy.matrix_factorization import sensitivity as theirs

    one = planned("tree", 64, 16)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"), jax.enable_x64():
        found = theirs.fixed_epoch_sensitivity(jax.numpy.asarray(one.matrix(64)), 4)
    assert one.sensitivity(64) == pytest.approx(found)


@pytest.mark.parametrize(
    ("name", "ratio"),
    [
        ("banded_sqrt", 0.3480),
        ("banded", 0.3323),
        ("blt", 0.3515),
        ("bisr", 0.3638),
        ("lambda_cgd", 0.3634),
        ("tree", 0.6833),
    ],
)
def test_prefix_sums_have_so_much_less_noise_at_equal_privacy(name, ratio):
    assert planned(name).prefix_noise(ROUNDS) == pytest.approx(ratio, rel=2e-4)


def test_the_best_bands_are_those_of_jax_privacy():
    import jax
    from jax_privacy.matrix_factorization import toeplitz as theirs

    ours = np.array(matrix_noise.optimal_bands(40, 6))
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"), jax.enable_x64():
        found = np.array(theirs.optimize_banded_toeplitz(40, 6))
        losses = [float(theirs.loss(jax.numpy.asarray(one), 40)) for one in (ours, found)]
    assert losses[0] <= losses[1] * (1 + 1e-9)
    np.testing.assert_allclose(ours / np.linalg.norm(ours), found, atol=1e-3)


def test_the_best_cannot_be_improved_by_a_small_change(name):
    if name in ("banded_sqrt", "bisr", "tree"):  # made for no number of rounds but its logarithm, and a norm
        one, other = planned(name).form, planned(name, rounds=ROUNDS + 3).form
        assert one == (other._replace(norm=one.norm) if name == "bisr" else other)
        return
    best = planned(name)
    for field, values in best.form._asdict().items():
        if field == "norm":
            continue
        for place in range(0 if name == "blt" else 1, len(values)):
            for factor in (0.98, 1.02):
                changed = tuple(factor * v if i == place else v for i, v in enumerate(values))
                if field == "decay" and max(changed) >= 1:
                    continue
                other = best._replace(form=best.form._replace(**{field: changed}))
                assert other.prefix_noise(ROUNDS) > best.prefix_noise(ROUNDS) * (1 - 1e-9)


def test_more_bands_than_rounds_and_one_round_are_no_trouble(name):
    assert planned(name, rounds=1).sensitivity(1) == pytest.approx(1)
    if name in ("banded", "blt", "lambda_cgd"):  # which are made for the three rounds
        assert planned(name, rounds=3).prefix_noise(3) <= 1 + 1e-9
