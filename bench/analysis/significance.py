"""The significance of the differences of a comparison: their errors, and p-values that allow for what was chosen.

Differences are taken to the best of several baselines, which is chosen by the same scores as it is compared by. If all
methods are equally good, the best is so by luck, and the others look worse than they are. Three things would not do:

- Student's test of every difference, with Holm's correction for their number, ignores that choice. With 13 equal
  methods on five splits of one data set it finds a difference in a quarter of tables instead of 5 %.
- Multiple comparisons with the best (Hsu 1981; Edwards and Hsu 1983) allow for the choice, but of equal methods they
  only promise that one of them, named beforehand, is not found to be worse. That some of 13 is happens in more than a
  third of tables. Their critical values, as those of Dunnett's and Tukey's tests, also need one variance for all
  methods, and here a method that diverges on some splits stands beside one that never does.
- Permutations of the methods within the splits need all methods to be exchangeable, also where only two are equal, and
  splits of one data set to be independent. Changes of sign have 16 outcomes with five splits, too few for any table.

So every pair of methods has its own variance, and the union bound over the pairs needs nothing of how they depend on
each other: a loss against the best of several is taken as the largest of as many as there are baselines to choose from
(`p_values`), and all such p-values are then corrected by Holm's method. That is all pairwise comparisons, of which only
those with the best are looked at.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

LEVEL = 0.05  # of the family of differences in a table
FEWEST_SPLITS = 5  # with fewer, no difference is called significant: neither their spread nor their shape can be seen


class Differences(NamedTuple):
    """Mean differences to a reference, each [method]; NaN where a run diverged.

    mean: over splits.
    half: half of the 95 % interval of this mean alone (Student's t).
    p: allows for the choice of the reference, see `p_values`; NaN where there is nothing to test.
    """

    mean: np.ndarray
    half: np.ndarray
    p: np.ndarray


def differences(
    gains: np.ndarray,
    reference: int,
    candidates: np.ndarray,
    *,
    test_ratio: float = 0.0,
    of_users: np.ndarray | float = 0.0,
    num_draws: int = 2,
    of_tests: np.ndarray | float = 0.0,
) -> Differences:
    """Test the differences of all methods to a reference.

    Args:
        gains: by how much each method is better than the reference on each split, [split, method].
        reference: the place of the reference.
        candidates: bool [method], the methods that it is the best of; itself alone where it was named beforehand.
        test_ratio: see `error_of_mean`.
        of_users: standard error due to the choice of users, [method]; NaN counts as none.
        num_draws: number of draws of users that it was estimated from.
        of_tests: bound of the standard error due to the choice of test examples, [method].
    """
    count = len(gains)
    mean = gains.mean(0)
    if count < 2:
        return Differences(mean, *np.full((2, len(mean)), np.nan))
    splits = error_of_mean(gains.std(0, ddof=1), count, test_ratio) ** 2
    users = np.nan_to_num(of_users) ** 2
    total = splits + users + np.square(of_tests)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Satterthwaite 1946; what is not estimated has no degrees of freedom to count
        freedom = np.where(total > 0, total**2 / (splits**2 / (count - 1) + users**2 / (num_draws - 1)), count - 1)
        ratio = np.where((mean == 0) & (total == 0), 0.0, mean / np.sqrt(total))
    p = p_values(stdtr(freedom, -ratio), stdtr(freedom, ratio), reference, candidates)
    return Differences(mean, stdtrit(freedom, 0.975) * np.sqrt(total), p)


def error_of_mean(deviation, num_splits: int, test_ratio: float):
    """Return the standard error of a mean difference over splits (Nadeau and Bengio 2003, section 3).

    Splits of one data set share examples, so that their differences have a correlation, which their spread does not
    show. It is taken as the share of the examples that are tested on, n2 / (n1 + n2), and the variance of the mean is
    then (1 / num_splits + n2 / n1) deviation^2.

    Args:
        deviation: standard deviation of the difference over splits, with num_splits - 1 in the denominator.
        num_splits: number of splits.
        test_ratio: n2 / n1, test examples for each training example; 0 where every split has data of its own.
    """
    return deviation * np.sqrt(1 / num_splits + test_ratio)


def error_of_tests(wrong: np.ndarray, reference: int, num_tests: float) -> np.ndarray:
    """Return a bound of the standard error, due to the choice of test examples, of differences in the share of right
    answers.

    Where all splits are tested on the same examples, the spread over splits does not show it. The variance of a
    difference of two shares over the same examples is at most the share of those on which the two differ, over their
    number (McNemar 1947), and they differ on no more than both together get wrong. Where examples do not count alike,
    the square of a weight is at most the weight times the largest: the variance is then at most that weight times as
    large, with shares that are weighted too.

    Args:
        wrong: the mean share of wrong answers, in [0, 1], [method].
        reference: the place of the method that differences are taken to.
        num_tests: number of test examples, divided by the largest weight of one, where their mean weight is 1.
    """
    return np.sqrt((wrong + wrong[reference]) / num_tests)


def p_values(gains: np.ndarray, losses: np.ndarray, reference: int, candidates: np.ndarray) -> np.ndarray:
    """Return the p-value of each method's difference to a reference that is the best of several.

    A baseline that is not the best can only be behind it. Its hypothesis is that no baseline is better than it is, and
    that one of the others is better by chance has at most the sum of their probabilities. Any other method can be ahead
    as well, and both directions count. Being ahead of the best needs no correction for the choice: the best has the
    luck on its side.

    Args:
        gains: one-sided p-value of being ahead of the reference, [method].
        losses: one-sided p-value of being behind it, [method].
        reference, candidates: as for `differences`.

    Returns:
        [method]; NaN is kept. That of the reference is 1 if it was chosen, since any of the candidates could have been,
        and else NaN.
    """
    count = int(candidates.sum())
    inside = np.minimum((count - 1) * losses, 1.0)
    outside = np.minimum(2 * np.minimum(gains, np.minimum(count * losses, 1.0)), 1.0)
    p = np.where(candidates, inside, outside)
    p[reference] = 1.0 if count > 1 else np.nan
    return p


def holm(p: np.ndarray) -> np.ndarray:
    """Return the p-values adjusted by Holm's step-down method; NaN are kept and do not count."""
    order = np.argsort(p)  # NaN come last
    count = int(np.isfinite(p).sum())
    out = np.full(len(p), np.nan)
    out[order[:count]] = np.minimum(np.maximum.accumulate(p[order[:count]] * np.arange(count, 0, -1)), 1.0)
    return out


def decided(p: np.ndarray, num_splits: np.ndarray | int) -> np.ndarray:
    """Return whether each difference of a table is significant.

    Args:
        p: of `p_values`, of all differences in the table.
        num_splits: that each of them is the mean over.
    """
    return (holm(p) < LEVEL) & (np.asarray(num_splits) >= FEWEST_SPLITS)
