"""The likelihood-ratio attack: equal to plain loops, right on what is known, and honest in its intervals."""

import numpy as np
import pytest
from scipy import stats
from tiny_attacks import attacked, ignores_its_data, seen

from bench.attacks.membership import largest_rate, likelihood_ratios, rates
from bench.privacy import accounting

AT = (1e-2, 1e-3)


def by_plain_loops(scores, members, own_variance):
    """LiRA as its description says, one unit and run at a time."""
    runs, units = scores.shape
    out = np.full(scores.shape, np.nan)
    for run in range(runs):
        others = np.arange(runs) != run
        variances = {}
        for kind in (True, False):
            squares, count = 0.0, 0
            for unit in range(units):
                mine = scores[others & (members[:, unit] == kind), unit].astype(float)
                squares, count = squares + np.sum((mine - mine.mean()) ** 2), count + len(mine) - 1
            variances[kind] = squares / count
        for unit in range(units):
            logs = {}
            for kind in (True, False):
                mine = scores[others & (members[:, unit] == kind), unit].astype(float)
                std = mine.std(ddof=1) if own_variance else np.sqrt(variances[kind])
                logs[kind] = stats.norm.logpdf(scores[run, unit], mine.mean(), std)
            out[run, unit] = logs[True] - logs[False]
    return out


@pytest.mark.parametrize("own_variance", [True, False])
def test_the_ratios_are_those_of_plain_loops(own_variance):
    rng = np.random.default_rng(0)
    members = np.array([rng.permutation(12) < 5 for _ in range(7)]).T
    scores = 100 + rng.standard_normal((12, 7)) * np.arange(1, 8) + members
    ratios = likelihood_ratios(scores, members, own_variance=own_variance)
    np.testing.assert_allclose(ratios, by_plain_loops(scores, members, own_variance), rtol=1e-7)


def test_few_runs_share_their_variances_and_many_have_their_own():
    rng = np.random.default_rng(1)
    for runs, own in ((63, False), (64, True)):
        members, scores = rng.random((runs, 4)) < 0.5, rng.standard_normal((runs, 4)) * [1, 2, 3, 4]
        chosen = likelihood_ratios(scores, members, own_variance=own)
        np.testing.assert_array_equal(likelihood_ratios(scores, members), chosen)


def test_a_unit_that_was_hardly_ever_in_is_not_judged():
    members = np.random.default_rng(0).random((10, 3)) < 0.5
    members[:, 1] = np.arange(10) < 2
    ratios = likelihood_ratios(np.random.default_rng(1).standard_normal((10, 3)), members)
    assert np.isnan(ratios[:, 1]).all()
    assert np.isfinite(ratios[:, [0, 2]]).all()
    assert rates(ratios, members, AT, seed=0, draws=5).units == 2


def test_rates_of_ratios_that_tell_everything_or_nothing():
    members = np.random.default_rng(0).random((20, 30)) < 0.5
    everything = rates(np.where(members, 5.0, -5.0), members, AT, seed=0, draws=20)
    assert [everything.at[rate].share for rate in AT] == [1.0, 1.0]
    assert everything.auc.share == 1.0
    assert 0.8 < everything.at[1e-2].low < 1 == everything.at[1e-2].high
    nothing = rates(np.zeros(members.shape), members, AT, seed=0, draws=20)
    assert nothing.at[1e-2].share == 0.0  # ties never favour the attack
    assert nothing.at[1e-2].low == 0.0 < nothing.at[1e-2].high < 0.3
    assert nothing.auc.share == 0.5


def test_a_rate_counts_the_decisions_above_the_threshold():
    members = np.arange(20)[:, None] % 2 == np.zeros(100, int)  # a run has all units or none
    ratios = np.empty((20, 100))
    ratios[::2], ratios[1::2] = np.arange(1000).reshape(10, 100) + 500.5, np.arange(1000.0).reshape(10, 100)
    found = rates(ratios, members, (0.1, 0.0), seed=0, draws=5)
    assert found.at[0.1].share == np.mean(ratios[::2] > 899)
    assert found.at[0.0].share == np.mean(ratios[::2] > 999)


def test_the_interval_is_wider_where_decisions_of_a_run_depend_on_each_other():
    rng = np.random.default_rng(0)
    members = rng.random((40, 100)) < 0.5
    own = rng.standard_normal((40, 100))
    alike = own + np.where(members, 2 * rng.standard_normal((40, 1)), 0.0)  # some runs show all their members
    found = {
        name: rates(ratios, members, (0.1,), seed=0, draws=100).at[0.1]
        for name, ratios in (("own", own), ("alike", alike))
    }
    widths = {name: rate.high - rate.low for name, rate in found.items()}
    assert found["own"].low < 0.1 < found["own"].high
    plain = stats.binomtest(200, 2000).proportion_ci(0.95, "exact")
    assert widths["own"] > plain.high - plain.low  # rather too wide than too narrow
    assert widths["alike"] > 1.5 * widths["own"]


def test_what_privacy_allows():
    assert largest_rate(0.0, 0.0, 0.01) == pytest.approx(0.01)
    assert largest_rate(1.0, 1e-4, 0.01) == pytest.approx(np.e * 0.01 + 1e-4)
    assert largest_rate(8.0, 1e-4, 0.01) == pytest.approx(1 - np.exp(-8) * (0.99 - 1e-4))
    assert largest_rate(np.inf, 0.0, 0.01) == 1.0


def test_a_method_that_memorises_gives_its_members_away():
    scores, members = seen(attacked(rounds=40, clip_norm=np.inf), 20)
    found = rates(likelihood_ratios(scores, members), members, (1e-2,), seed=0, draws=50)
    assert found.at[1e-2].low > 0.3
    assert found.auc.low > 0.9


def test_a_method_that_ignores_its_data_gives_nobody_away():
    scores, members = seen(ignores_its_data(), 40)
    found = rates(likelihood_ratios(scores, members), members, (0.05,), seed=0, draws=50)
    assert found.at[0.05].low <= 0.05 <= found.at[0.05].high
    assert found.auc.low < 0.5 < found.auc.high


def test_a_private_method_stays_within_what_its_epsilon_allows():
    """The same attack finds the members where the noise is hardly there, so that it could have failed."""
    results = {}
    for noise in (12.0, 0.01):
        one = attacked(rounds=4, noise_multiplier=noise)
        release = one.method.readings(one.task, delta=1e-4, **one.args)["tight"]
        epsilon = accounting.epsilon(release, 4)
        scores, members = seen(one, 40)
        found = rates(likelihood_ratios(scores, members), members, (1e-2, 0.05), seed=0, draws=50)
        for rate, share in found.at.items():
            assert share.low <= largest_rate(epsilon, 1e-4, rate)
        results[noise] = epsilon, found
    epsilon, found = results[12.0]
    assert epsilon < 1
    assert results[0.01][1].at[0.05].low > largest_rate(epsilon, 1e-4, 0.05)
