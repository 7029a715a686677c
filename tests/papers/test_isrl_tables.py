"""Tables 1 and 2 of Gao et al. 2024: the experiment's sizes and the order of the algorithms."""

import numpy as np
from isrl_setting import EPSILONS, N, d, n

from bench.data.tasks import odd_even
from bench.papers.isrl import theory as isrl


def test_the_experiment_of_the_tables_is_the_one_that_runs():
    assert isrl.EXPERIMENT["records"] == odd_even.NUM_RECORDS == n
    assert isrl.EXPERIMENT["silos"] == len(odd_even.PAIRS) == N
    assert isrl.EXPERIMENT["features"] == odd_even.NUM_FEATURES == d


def test_the_tables_say_who_is_better():
    """The new risk is the optimal one, below that of before; rounds shrink, and as the roots that the paper names."""
    for epsilon in EPSILONS:
        s = isrl.Setting(epsilon=epsilon, **isrl.EXPERIMENT)
        one, two = isrl.table_1(s), isrl.table_2(s)
        assert one[-1].risk == one[0].risk < one[1].risk
        assert one[-1].rounds < two[2].rounds < one[0].rounds
        np.testing.assert_allclose(two[2].rounds, one[-1].rounds ** 2)  # smooth losses take the root
        np.testing.assert_allclose(one[0].rounds, two[2].rounds ** 2)
    more = isrl.Setting(epsilon=100.0, **(isrl.EXPERIMENT | {"records": 4 * n}))
    less = isrl.Setting(epsilon=100.0, **isrl.EXPERIMENT)
    np.testing.assert_allclose(isrl.table_1(more)[-1].rounds / isrl.table_1(less)[-1].rounds, 4**0.25, rtol=1e-3)
