"""The command line of the accountants: numbers, their meaning, and one line for what cannot be used."""

import json
import math

import dp_accounting.dp_event as dp
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from scipy import stats
from typer.testing import CliRunner

from bench.cli.app import app
from bench.errors import InputError
from bench.privacy import accounting, events, sums
from bench.privacy.selection import epsilon_of_best

EPSILON = {"--noise-multiplier": 1, "--sampling-rate": 0.01, "--steps": 20000, "--delta": 1e-4}
NOISE = {"--epsilon": 2, "--sampling-rate": 0.01, "--steps": 2000, "--delta": 1e-4}


def run(command, options):
    arguments = [f"{name}={value}" for name, value in options.items() if value is not None]
    return CliRunner().invoke(app, [command, *arguments])


def facts(command, options):
    """What the function of the command returns for these options."""
    given = {name[2:].replace("-", "_"): value for name, value in options.items() if value is not None}
    return getattr(sums, command)(**given)


def test_epsilon_prints_the_number_and_a_line_that_says_what_it_means():
    number, meaning = run("epsilon", EPSILON).stdout.splitlines()
    assert float(number) == pytest.approx(8.181, rel=1e-3)
    assert "privacy loss distribution" in meaning
    number, meaning = run("epsilon", EPSILON | {"--accountant": "rdp"}).stdout.splitlines()
    assert float(number) == pytest.approx(8.942, rel=1e-3)  # Opacus 1.5.3
    for words in (
        "20000 steps",
        "one unit",
        "add-or-remove one",
        "against everybody who sees the released sums",
        "Poisson sampling at rate 0.01",
        "Canonne, Kamath and Steinke",
    ):
        assert words in meaning


def test_fixed_sampling_costs_more_and_says_why():
    number, meaning = run("epsilon", EPSILON | {"--sampling": "fixed"}).stdout.splitlines()
    assert float(number) > 8.942
    assert "replace one" in meaning
    assert "changes the sum by up to 2 C" in meaning


@pytest.mark.parametrize(
    ("sampling", "accountant"),
    [("poisson", "rdp"), ("poisson", "pld"), ("fixed", "rdp"), ("none", "rdp"), ("none", "pld")],
)
def test_the_noise_that_is_printed_suffices(sampling, accountant):
    rate = None if sampling == "none" else 0.01
    options = {"--sampling": sampling, "--accountant": accountant, "--sampling-rate": rate}
    number, meaning = run("noise", NOISE | options).stdout.splitlines()

    def release(sigma):
        by = {"rdp": "rdp_wide"}.get(accountant, accountant)
        return events.gaussian(sigma, sampling=sampling, sampling_rate=rate or 1.0, accountant=by, delta=1e-4)

    exact = accounting.noise_multiplier(2, release, 2000)
    assert exact <= float(number) < exact * (1 + 1e-5)  # rounded up, never down
    assert accounting.epsilon(release(float(number)), 2000) <= 2
    assert meaning.startswith("smallest noise multiplier for epsilon 2 at delta 0.0001: 2000 steps")


def test_balls_in_bins_are_those_of_the_accountant():
    options = EPSILON | {"--sampling": "balls_in_bins", "--steps": 100, "--delta": 1e-5}
    number, meaning = run("epsilon", options).stdout.splitlines()
    release = events.balls_in_bins_gaussian(1.0, num_bins=100, delta=1e-5)
    assert float(number) == pytest.approx(accounting.epsilon(release, 100), rel=1e-5)
    assert "every unit in one of 100 bins" in meaning
    assert "add-or-remove one" in meaning
    found = facts("epsilon", options)
    assert (found["sampler"], found["accountant"]) == ("balls in bins", "bins")
    number, _ = run("noise", options | {"--noise-multiplier": None, "--epsilon": 2}).stdout.splitlines()
    enough = events.balls_in_bins_gaussian(float(number), num_bins=100, delta=1e-5)
    less = events.balls_in_bins_gaussian(0.99 * float(number), num_bins=100, delta=1e-5)
    assert accounting.epsilon(enough, 100) <= 2 < accounting.epsilon(less, 100)


def test_python_has_the_same_numbers_and_what_they_are_of():
    result = facts("epsilon", EPSILON)
    assert result["epsilon"] == pytest.approx(8.181, rel=1e-3)
    assert result["neighbors"] == "add-or-remove one"
    assert result["sensitivity_in_clip_norms"] == 1.0
    assert (result["sampler"], result["accountant"], result["steps"]) == ("poisson", "pld", 20000)


def test_without_noise_epsilon_is_infinite():
    assert math.isinf(float(run("epsilon", EPSILON | {"--noise-multiplier": 0}).stdout.splitlines()[0]))


def test_where_pld_finds_no_bound_that_is_said_and_no_number_is_printed():
    options = {"--noise-multiplier": 0.1, "--sampling-rate": 0.5, "--accountant": "pld"}
    done = run("epsilon", EPSILON | options)
    assert done.stdout == ""
    assert "accountant pld finds no bound for so little noise, or so small a sampling rate: use" in str(done.exception)
    del options["--accountant"]
    number, meaning = run("epsilon", EPSILON | options).stdout.splitlines()
    assert float(number) > 1e4
    assert "RDP at orders" in meaning
    assert "privacy loss distributions give nothing smaller here" in meaning


@pytest.mark.parametrize("by_pld", [12.75, 0.25])
def test_epsilon_is_the_smaller_of_two_upper_bounds_and_the_line_says_which(by_pld, monkeypatch):
    monkeypatch.setitem(accounting.BY_RELATION, "pld", lambda *_: by_pld)
    options = {"--noise-multiplier": 0.5, "--sampling-rate": 1e-6, "--steps": 10**7, "--delta": 1e-7}
    result = facts("epsilon", options)
    by_rdp = float(run("epsilon", options | {"--accountant": "rdp"}).stdout.splitlines()[0])
    assert result["epsilon"] == pytest.approx(min(by_pld, by_rdp), rel=1e-5)
    assert result["accountant"] == ("rdp_wide" if by_rdp < by_pld else "pld")
    assert ("give nothing smaller" in result["meaning"]) == (by_rdp < by_pld)


@pytest.mark.parametrize(("epsilon", "accountant"), [(150, "pld"), (250, "rdp_wide")])
def test_noise_for_an_epsilon_above_100_is_the_smallest_of_two_accountants(epsilon, accountant):
    options = {"--epsilon": epsilon, "--sampling-rate": 0.1, "--steps": 100, "--delta": 1e-5}
    result = facts("noise", options)
    assert result["accountant"] == accountant
    by_rdp = float(run("noise", options | {"--accountant": "rdp"}).stdout.splitlines()[0])
    assert (result["noise_multiplier"] < by_rdp) == (accountant == "pld")
    assert spent({"--sampling-rate": 0.1, "--steps": 100, "--delta": 1e-5}, result["noise_multiplier"]) <= epsilon


def test_a_value_at_the_floor_of_the_conversion_is_marked():
    options = {"--accountant": "rdp", "--delta": 1e-9}
    assert "conversion cannot go" in run("epsilon", EPSILON | options | {"--noise-multiplier": 1e5}).stdout
    assert "conversion cannot go" not in run("epsilon", EPSILON | options).stdout
    assert "Renyi DP at orders up to 4096 cannot go below 0.00279" in str(
        run("noise", NOISE | options | {"--epsilon": 0.003}).exception
    )


@pytest.mark.parametrize(
    ("options", "enough"),
    [
        ({"--sampling-rate": 0.001, "--steps": 20_000}, 4.42),
        ({"--sampling-rate": 0.001, "--steps": 20_000, "--accountant": "rdp"}, 4.87253),
        ({"--sampling-rate": 0.01, "--steps": 1000}, 9.81),
        ({"--sampling-rate": 0.01, "--steps": 1000, "--sampling": "fixed"}, 43.6749),
        ({"--sampling-rate": None, "--steps": 10, "--sampling": "none", "--epsilon": 0.05}, 182.743),
    ],
)
def test_a_small_epsilon_does_not_get_the_noise_of_a_floor(options, enough):
    """Opacus' orders end at 63. With them this was 19,803, 19,803, 22,483, 126,496 and 234,601."""
    number, _ = run("noise", {"--epsilon": 0.1, "--delta": 1e-5} | options).stdout.splitlines()
    assert float(number) == pytest.approx(enough, rel=1e-3)


def spent(shared, sigma):
    return float(run("epsilon", shared | {"--noise-multiplier": sigma}).stdout.splitlines()[0])


BAD = [
    ("epsilon", {"--noise-multiplier": -1}, "--noise-multiplier=-1.0: give 0, or a number from 1e-06 to 1e+06."),
    ("noise", {"--epsilon": 0}, "--epsilon=0.0: give a finite number above 0."),
    *(
        (command, options, message)
        for command in ("epsilon", "noise")
        for options, message in [
            ({"--sampling-rate": 1.1}, "--sampling-rate=1.1: give a fraction above 0 and at most 1."),
            (
                {"--sampling-rate": None},
                "--sampling-rate is missing: give the fraction of the units in a round, or sampling none.",
            ),
            ({"--sampling": "none"}, "--sampling-rate=0.01: leave it out with sampling none."),
            ({"--steps": 0}, "--steps=0: give 1 to 1,000,000,000,000."),
            ({"--delta": 1e-300}, "--delta=1e-300: give a probability from 1e-20 to below 1."),
            ({"--sampling": "fixd"}, "no sampling is called 'fixd': did you mean fixed?"),
            ({"--accountant": "prv"}, "no accountant is called 'prv': choose from pld, rdp."),
            (
                {"--sampling": "balls_in_bins", "--accountant": "pld"},
                "accountant pld does not know sampling balls_in_bins: leave it out.",
            ),
            (
                {"--sampling": "balls_in_bins", "--sampling-rate": 0.03},
                "--sampling-rate=0.03: for bins it is 1/G, of G = 2 to 100,000: give 0.5, 0.01 or the like.",
            ),
            (
                {"--sampling": "fixed", "--accountant": "pld"},
                "accountant pld does not know sampling fixed: leave it out.",
            ),
            (
                {"--accountant": "pld", "--delta": 1e-15, "--steps": 100_000},
                "accountant pld is not exact below delta 1e-09 here: leave it out, or use rdp.",
            ),
        ]
    ),
]


@pytest.mark.parametrize(("command", "changes", "message"), BAD)
def test_bad_input_is_one_line_that_names_the_option_and_the_remedy(command, changes, message):
    result = run(command, (EPSILON if command == "epsilon" else NOISE) | changes)
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == message


# ---- Phases, groups, the best of several runs, and what is left ----

PHASES = {"--delta": 1e-5, "--phases": "1:0.01:300,0.8:0.02:100"}
SHORT = {"--noise-multiplier": 1, "--sampling-rate": 0.01, "--steps": 400, "--delta": 1e-5}


def test_phases_cost_what_dp_accounting_composes():
    composed = PLDAccountant(value_discretization_interval=1e-3)
    for sigma, rate, steps in ((1.0, 0.01, 300), (0.8, 0.02, 100)):
        composed.compose(dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(sigma)), steps)
    found = facts("epsilon", PHASES | {"--phases": PHASES["--phases"].split(",")})
    assert found["epsilon"] == pytest.approx(composed.get_epsilon(1e-5), rel=2e-3)
    assert (found["steps"], found["sampling_rate"]) == (400, [0.01, 0.02])
    assert "400 steps: 300 with Gaussian noise" in run("epsilon", PHASES).stdout
    repeated = ["epsilon", "--delta=1e-5", "--phases=1:0.01:300", "--phases=0.8:0.02:100"]
    assert CliRunner().invoke(app, repeated).stdout == run("epsilon", PHASES).stdout


def test_equal_phases_are_one_and_without_sampling_their_precisions_add():
    twice = facts("epsilon", {"--delta": 1e-5, "--phases": ["1:0.01:150", "1:0.01:250"]})["epsilon"]
    assert twice == pytest.approx(facts("epsilon", SHORT)["epsilon"], rel=1e-9)
    mixed = facts("epsilon", {"--delta": 1e-5, "--phases": ["3::2", "6::4"], "--sampling": "none"})["epsilon"]
    one = facts("epsilon", {"--delta": 1e-5, "--noise-multiplier": 3, "--steps": 3, "--sampling": "none"})["epsilon"]
    assert mixed == pytest.approx(one, rel=1e-9)


def test_the_steps_left_are_within_the_target_and_one_more_is_not():
    more = facts("epsilon", PHASES | {"--phases": PHASES["--phases"].split(","), "--target": 3})["steps_left"]
    for further, fits in ((more, True), (more + 1, False)):
        phases = ["1:0.01:300", f"0.8:0.02:{100 + further}"]
        assert (facts("epsilon", {"--delta": 1e-5, "--phases": phases})["epsilon"] <= 3) == fits
    assert f"{more:,} more steps" in run("epsilon", PHASES | {"--target": 3}).stdout
    assert "the target is exceeded" in run("epsilon", PHASES | {"--target": 0.5}).stdout


def test_json_has_epsilon_by_step():
    found = json.loads(CliRunner().invoke(app, ["epsilon", "--json", "--every=150", *words(SHORT)]).stdout)
    assert [count for count, _ in found["by_step"]] == [150, 300, 400]
    assert found["by_step"][-1][1] == found["epsilon"] == facts("epsilon", SHORT)["epsilon"]
    assert found["by_step"][0][1] == facts("epsilon", SHORT | {"--steps": 150})["epsilon"]
    assert "         150 steps  " in run("epsilon", SHORT | {"--every": 150}).stdout
    without = CliRunner().invoke(app, ["epsilon", "--json", *words(SHORT | {"--noise-multiplier": 0})]).stdout
    assert json.loads(without, parse_constant=pytest.fail)["epsilon"] is None


def words(options):
    return [f"{name}={value}" for name, value in options.items()]


@pytest.mark.parametrize("group", [2, 5])
def test_a_group_costs_what_its_mixture_of_gaussians_does(group):
    """A second way to it: one step, whose deltas are integrals of densities, for groups that join and that leave."""
    sigma, rate, epsilon = 2.0, 0.1, 0.5
    z = np.linspace(-30, 30, 600_001)
    k = np.arange(group + 1)
    with_group = stats.binom.pmf(k, group, rate) @ stats.norm.pdf(z, k[:, None], sigma)
    without = stats.norm.pdf(z, 0, sigma)
    deltas = [
        np.maximum(p - np.exp(epsilon) * q, 0).sum() * 1e-4 for p, q in ((with_group, without), (without, with_group))
    ]
    options = {"--noise-multiplier": sigma, "--sampling-rate": rate, "--steps": 1, "--delta": max(deltas)}
    found = facts("epsilon", options | {"--group": group})
    assert epsilon <= found["epsilon"] * (1 + 1e-6)
    assert found["epsilon"] == pytest.approx(epsilon, rel=5e-3)
    assert found["epsilon"] > 1.5 * facts("epsilon", options)["epsilon"]
    assert f"all units of one person, at most {group}," in found["meaning"]


def test_a_group_without_sampling_moves_the_sum_by_as_much():
    options = {"--sampling": "none", "--steps": 7, "--delta": 1e-5}
    found = facts("epsilon", options | {"--noise-multiplier": 12, "--group": 4})["epsilon"]
    assert found == facts("epsilon", options | {"--noise-multiplier": 3})["epsilon"]
    all_of_them = {"--sampling-rate": 1, "--steps": 7, "--delta": 1e-5, "--noise-multiplier": 12, "--group": 4}
    assert facts("epsilon", all_of_them)["epsilon"] == pytest.approx(found, rel=1e-3)


def test_the_best_of_runs_is_that_of_selection():
    release = events.poisson_gaussian(1.0, sampling_rate=0.01, delta=1e-5)
    found = facts("epsilon", SHORT | {"--best-of": 20})
    assert found["epsilon"] == epsilon_of_best(release, 400, 20)
    assert found["epsilon"] > facts("epsilon", SHORT)["epsilon"]
    assert "the best of 20 runs in the mean" in found["meaning"]


@pytest.mark.parametrize(
    ("said", "options"),
    {
        "--phases=1:2: give NOISE:RATE:STEPS": PHASES | {"--phases": "1:2"},
        "--steps is given beside phases": PHASES | {"--steps": 3},
        "--noise-multiplier is missing": {"--delta": 1e-5, "--steps": 3},
        "sampling balls_in_bins has one phase": PHASES | {"--sampling": "balls_in_bins"},
        "--group=0: give a number from 1 to 1,000": SHORT | {"--group": 0},
        "--phases=-1:0.01:900: noise_multiplier=-1.0": PHASES | {"--phases": "-1:0.01:900"},
        "--phases are 101: give at most 100": PHASES | {"--phases": ",".join(["1:0.01:9"] * 101)},
        "--best-of is by Renyi DP, and the epsilon of accountant pld is not": SHORT
        | {"--best-of": 2, "--accountant": "pld"},
        "the epsilon of sampling random_allocation is not": SHORT | {"--best-of": 2, "--sampling": "random_allocation"},
        "accountant rdp does not know sampling random_allocation": SHORT
        | {"--sampling": "random_allocation", "--accountant": "rdp"},
        "--steps=1000000000000: give 1 to 10,000,000": SHORT | {"--sampling": "random_allocation", "--steps": 10**12},
        "no epsilon of a group is known with sampling fixed": SHORT | {"--group": 3, "--sampling": "fixed"},
        "Renyi DP does not know Poisson samples of a group": SHORT | {"--group": 3, "--accountant": "rdp"},
        "--best-of is by Renyi DP, and the epsilon of a group is not": SHORT | {"--group": 3, "--best-of": 2},
        "--best-of=0.5: give a number from 1 on": SHORT | {"--best-of": 0.5},
        "--every=1: give at least 10": SHORT | {"--every": 1, "--steps": 10_000},
        "--target=-1.0: give a finite number above 0": SHORT | {"--target": -1},
    }.items(),
)
def test_what_has_no_epsilon_is_refused_with_the_option(said, options):
    assert said in str(run("epsilon", options).exception)
