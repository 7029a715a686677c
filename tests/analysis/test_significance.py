"""Whether asterisks are as rarely wrong as they say: by hand, and on equal learners whose splits share their data."""

import numpy as np
import pytest
from scipy import stats

from bench.analysis import significance

NUM_FEATURES, NUM_USED, NUM_EXAMPLES, NUM_TESTS, NUM_SPLITS = 12, 4, 100, 20, 5
NOISE = (0.3, 0.1, 0.0)  # added to the weights, as at three epsilons
RATIO = NUM_TESTS / (NUM_EXAMPLES - NUM_TESTS)
TABLES = 1000


def errors(rng, num_methods: int, overlap: bool) -> np.ndarray:
    """Squared test errors of equal learners, [epsilon, split, method].

    The target is the sum of all features and noise. Every learner fits as many features, of its own, by least squares,
    so that all have the same expected error, whereas on a given data set some are luckier than others.
    """

    def drawn():
        x = rng.standard_normal((NUM_EXAMPLES, NUM_FEATURES))
        return x, x.sum(1) + rng.standard_normal(NUM_EXAMPLES)

    used = np.stack([rng.permutation(NUM_FEATURES)[:NUM_USED] for _ in range(num_methods)])
    shared, found = drawn(), np.empty((len(NOISE), NUM_SPLITS, num_methods))
    for split in range(NUM_SPLITS):
        x, y = shared if overlap else drawn()
        order = rng.permutation(NUM_EXAMPLES)
        test, train = order[:NUM_TESTS], order[NUM_TESTS:]
        inputs, tests = (x[rows][:, used].transpose(1, 0, 2) for rows in (train, test))
        across = inputs.transpose(0, 2, 1)
        weights = np.linalg.solve(across @ inputs, (across @ y[train])[..., None])[..., 0]
        for place, scale in enumerate(NOISE):
            noisy = weights + scale * rng.standard_normal(weights.shape)
            predicted = np.einsum("kmq,kq->km", tests, noisy)
            found[place, split] = np.square(predicted - y[test]).mean(1)
    return found


def marked(scores: np.ndarray, candidates: np.ndarray, ratio: float) -> np.ndarray:
    """Whether each method has an asterisk, [epsilon, method], in the table of these errors."""
    p = []
    for rows in scores:
        reference = int(np.where(candidates, rows.mean(0), np.inf).argmin())
        gains = rows[:, [reference]] - rows
        p.append(significance.differences(gains, reference, candidates, test_ratio=ratio).p)
    return significance.decided(np.concatenate(p), NUM_SPLITS).reshape(len(scores), -1)


def plainly_marked(scores: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """The same by Student's test of each difference and Holm's correction, as if nothing were chosen or shared."""
    p = []
    for rows in scores:
        reference = int(np.where(candidates, rows.mean(0), np.inf).argmin())
        others = np.delete(rows, reference, axis=1)
        p.append(stats.ttest_rel(rows[:, [reference]], others).pvalue)
    return significance.holm(np.concatenate(p)) < significance.LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize(("num_methods", "num_new"), [(3, 0), (5, 0), (13, 0), (5, 1)])
def test_equal_methods_seldom_have_an_asterisk(num_methods, num_new, overlap):
    """At most 5 % of tables have one, within three standard errors; new methods are compared with the best baseline."""
    rng, candidates = np.random.default_rng([num_methods, num_new, overlap]), np.arange(num_methods) >= num_new
    tables = [errors(rng, num_methods, overlap) for _ in range(TABLES)]
    chance = 3 * np.sqrt(0.05 * 0.95 / TABLES)
    found = np.mean([marked(scores, candidates, RATIO * overlap).any() for scores in tables])
    plain = np.mean([plainly_marked(scores, candidates).any() for scores in tables])
    assert found <= 0.05 + chance
    # The plain test is wrong where splits share their data, and where the best of many is chosen.
    if overlap:
        assert plain > 0.05 + chance
    if overlap or num_methods == 13:
        assert plain > 2 * found


@pytest.mark.slow
@pytest.mark.parametrize(("overlap", "size"), [(True, 14), (False, 8)])
def test_a_clear_winner_has_its_asterisk(overlap, size):
    """Among 13, a new method ahead of the baselines by so many standard deviations of a difference between two splits
    has one in nearly all tables, and so has a baseline that is as far behind."""
    rng, candidates = np.random.default_rng([7, overlap]), np.arange(13) > 0
    tables = np.array([errors(rng, 13, overlap) for _ in range(100)])
    by = size * np.std(tables[..., 0] - tables[..., 1], axis=2, ddof=1).mean(axis=0)[:, None]
    ahead, behind = tables.copy(), tables.copy()
    ahead[..., 0] -= by
    behind[..., 1] += by
    won = np.array([marked(scores, candidates, RATIO * overlap)[:, 0] for scores in ahead])
    lost = np.array([marked(scores, candidates, RATIO * overlap)[:, 1] for scores in behind])
    assert won.mean() > 0.9
    assert lost.mean() > 0.9


def test_the_variance_of_overlapping_splits_is_that_of_its_paper():
    """Nadeau and Bengio 2003: (1 / J + n2 / n1) s^2, and the plain one where no data are shared."""
    assert significance.error_of_mean(2.0, 5, 0.0) == pytest.approx(2 / 5**0.5)
    assert significance.error_of_mean(2.0, 5, 0.25) == pytest.approx(2 * 0.45**0.5)


def test_holm_is_that_of_its_paper():
    """Ordered p-values times 4, 3, 2, 1, never falling, at most 1; what is missing does not count."""
    adjusted = significance.holm(np.array([0.01, 0.04, np.nan, 0.03, 0.9]))
    assert adjusted.tolist() == pytest.approx([0.04, 0.09, np.nan, 0.09, 0.9], nan_ok=True)


def test_a_loss_counts_as_the_largest_of_all_and_a_gain_as_itself():
    gains, losses = np.array([0.5, 0.99, 0.97, 0.01, 0.9]), np.array([0.5, 0.01, 0.03, 0.99, 0.1])
    chosen = significance.p_values(gains, losses, 0, np.array([True, True, True, False, False]))
    assert chosen.tolist() == pytest.approx([1.0, 2 * 0.01, 2 * 0.03, 2 * 0.01, 2 * 3 * 0.1])
    named = significance.p_values(gains, losses, 0, np.array([True, False, False, False, False]))
    assert named.tolist() == pytest.approx([np.nan, 0.02, 0.06, 0.02, 0.2], nan_ok=True)


def test_a_method_that_is_the_same_on_every_split_is_no_difference():
    found = significance.differences(np.zeros((5, 2)), 0, np.array([True, True]))
    assert (found.mean.tolist(), found.half.tolist(), found.p.tolist()) == ([0, 0], [0, 0], [1, 0.5])


def test_the_choice_of_shared_test_examples_is_within_the_bound():
    """Two methods with known answers on a population, tested on the same draws of 200 of its examples."""
    rng = np.random.default_rng(0)
    wrong = rng.random((100_000, 2)) < (0.1, 0.2)
    samples = [wrong[rng.integers(0, len(wrong), 200)].mean(0) for _ in range(2000)]
    spread = np.std(np.diff(samples, axis=1))
    bound = significance.error_of_tests(wrong.mean(0), 0, 200)[1]
    assert 0.9 * bound < spread < bound  # independent answers differ on 26 % of the examples, and 30 % is the bound
