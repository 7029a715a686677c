"""The audit of outputs of any program: right ones pass, wrong ones are refuted, and what cannot be used is one line."""

import math
from functools import partial

import dp_accounting as dp
import numpy as np
import pytest

from bench import __main__ as command
from bench.audit import outputs
from bench.audit.outputs import FINITE, SCALE, SHIFT, audit_outputs
from bench.errors import InputError

RUNS, NUMBERS, DELTA = 8000, 6, 1e-5


def sums(with_unit: bool, *, sigma: float = 1.0, rounds: int = 1, seed: int = 0, runs: int = RUNS, size: float = 1.0):
    """Noisy sums over users of which one has a gradient of length 1, and the noise a size of its own."""
    rng = np.random.default_rng([seed, with_unit])
    gradient = np.eye(NUMBERS)[0] * with_unit
    noise = sigma * (size if with_unit else 1.0)
    return [gradient + noise * rng.standard_normal((runs, NUMBERS)) for _ in range(rounds)]


def claim(sigma: float, rounds: int = 1) -> float:
    """The exact epsilon of that noise."""
    return float(dp.get_epsilon_gaussian(sigma / math.sqrt(rounds), DELTA))


@pytest.mark.parametrize("rounds", [1, 4])
def test_the_right_noise_passes_and_half_of_it_is_refuted(rounds):
    declared = {"epsilon": claim(1.0, rounds), "delta": DELTA, "gaussian": True}
    right = audit_outputs(sums(True, rounds=rounds), sums(False, rounds=rounds), **declared)
    assert not right.refuted
    assert right.bounds["Gaussian"] > 0.7 * declared["epsilon"]
    assert right.seen is not None
    assert 1 < right.seen <= 1.5
    assert str(right).startswith("passed: consistent with epsilon")
    half = audit_outputs(sums(True, sigma=0.5, rounds=rounds), sums(False, sigma=0.5, rounds=rounds), **declared)
    assert half.refuted
    assert half.by == SHIFT
    assert half.too_small is not None
    assert 1.2 < half.too_small <= 2
    assert str(half).startswith(f"FAILED: epsilon {declared['epsilon']:.3g} at delta 1e-05 is refuted")
    assert "times too small" in str(half)


def test_noise_for_a_mean_that_is_added_to_a_sum_is_refuted_without_a_word_on_its_kind():
    """Smaller by the number of users, here ten; error rates alone prove it."""
    found = audit_outputs(sums(True, sigma=0.1), sums(False, sigma=0.1), epsilon=claim(1.0), delta=DELTA)
    assert found.refuted
    assert found.bounds["game"] > claim(1.0)
    assert "(game)" in str(found).splitlines()[0]  # and not the larger one, which holds for Gaussian noise alone
    assert found.too_small is not None
    assert found.too_small > 2


def test_a_leak_in_the_scale_is_refuted_though_the_mean_stays():
    with_unit = sums(True, size=0.7)
    with_unit[0] -= with_unit[0].mean(0)
    without = sums(False)
    found = audit_outputs(with_unit, without, epsilon=0.5, delta=DELTA)
    assert found.refuted
    assert found.by == SCALE
    assert "size of the deviations" in str(found)


def test_a_shift_by_which_the_spread_differs_is_not_said_to_be_in_the_mean():
    """Over all of so many numbers the size of the deviations changes little."""
    rng = np.random.default_rng(7)
    ins, outs = rng.standard_normal((2, RUNS, 400))
    ins[:, 0] = 0.5 + 4 * ins[:, 0]
    found = audit_outputs([ins], [outs], epsilon=0.01, delta=DELTA)
    assert found.refuted
    assert (found.by, found.shows, found.too_small) == (SHIFT, "spread", None)
    assert "it shows in the spread of the outputs" in str(found)


@pytest.mark.parametrize("with_unit", [True, False])
def test_runs_without_noise_are_equal_rows_and_fail_where_the_noise_is_declared(with_unit):
    ins, outs = sums(True, rounds=2), sums(False, rounds=2)
    (ins if with_unit else outs)[1][:: RUNS // 80] = np.eye(NUMBERS)[0] * with_unit
    declared: dict = {"epsilon": claim(1.0, 2), "delta": DELTA}
    found = audit_outputs(ins, outs, gaussian=True, **declared)
    assert found.refuted
    assert found.equal == ((80, 0) if with_unit else (0, 80))
    assert str(found).startswith("FAILED: not all noise is Gaussian")
    assert f"80 of the 8,000 {'runs with the unit' if with_unit else 'without it'}" in str(found)
    assert str(audit_outputs(ins, outs, **declared)).startswith("inconclusive, and FAILED if all noise is Gaussian")
    assert not audit_outputs(ins, outs, gaussian=False, **declared).refuted


@pytest.mark.parametrize("cut", [np.float32, np.float16, partial(np.round, decimals=1)])
def test_numbers_of_few_digits_are_equal_by_chance(cut):
    ins, outs = ([cut(world[0][:, :1])] for world in (sums(True), sums(False)))
    assert audit_outputs(ins, outs, epsilon=claim(1.0), delta=DELTA, gaussian=True).equal == (0, 0)


def test_a_right_claim_is_refuted_no_oftener_than_the_confidence_says(monkeypatch):
    """300 programs at a confidence of 90 %, with claims that are exactly true. Some runs are not finite, in both worlds
    with the same probability.
    """
    monkeypatch.setattr(outputs, "FACTORS", ())  # what would have been seen is not asked here
    wrong = 0
    for seed in range(300):
        options = {"seed": seed, "runs": 600}
        worlds = sums(True, **options), sums(False, **options)
        rng = np.random.default_rng(seed)
        for world in worlds:
            world[0][rng.random(600) < 0.05] = np.nan
        declared = {"epsilon": claim(1.0), "delta": DELTA, "confidence": 0.9, "gaussian": True}
        wrong += audit_outputs(*worlds, **declared).refuted
    assert wrong <= 30


SIXTH = {"sigma": 1 / 6, "runs": 600}
WRONG: dict[str, dict] = {
    "a sixth of the noise": SIXTH,
    "half of the noise": {"sigma": 1 / 2},
    "clipped by layer": {"sigma": 0.5**0.5},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_program_never_passes_whatever_is_declared(wrong):
    """They passed where nothing was declared: they were compared with their own noise, and not with the claim."""
    declared: dict = {"epsilon": claim(1.0), "delta": DELTA}
    worlds = sums(True, **WRONG[wrong]), sums(False, **WRONG[wrong])
    unsaid = audit_outputs(*worlds, **declared)
    assert not unsaid.refuted
    assert not unsaid.passed
    assert str(unsaid).startswith("inconclusive, and FAILED if all noise is Gaussian and nothing is sampled: then")
    assert "Give --gaussian if it is so, and --no-gaussian if not" in str(unsaid)
    gaussian = audit_outputs(*worlds, **declared, gaussian=True)
    assert gaussian.refuted
    assert gaussian.bounds == unsaid.bounds
    assert gaussian.too_small == unsaid.too_small
    assert gaussian.too_small is not None
    assert 1 < gaussian.too_small <= 1 / WRONG[wrong]["sigma"]
    other = audit_outputs(*worlds, **declared, gaussian=False)
    assert list(other.bounds) == ["game"]
    assert str(other).startswith("inconclusive: nothing contradicts")


def test_the_right_program_passes_only_where_it_is_said_that_its_noise_is_gaussian():
    """At this delta error rates cannot refute the claim, whatever the program does."""
    found = audit_outputs(sums(True), sums(False), epsilon=claim(1.0), delta=DELTA)
    assert str(found).startswith("inconclusive: nothing contradicts")
    assert found.by_runs is not None
    assert found.by_runs > 1.5
    assert "give --gaussian: then 1." in str(found)
    assert audit_outputs(sums(True), sums(False), epsilon=claim(1.0), delta=DELTA, gaussian=True).passed


def test_error_rates_pass_a_claim_that_they_could_refute():
    epsilon = float(dp.get_epsilon_gaussian(1.0, 0.1))
    for gaussian in (None, False):
        found = audit_outputs(sums(True), sums(False), epsilon=epsilon, delta=0.1, gaussian=gaussian)
        assert found.passed
        half = audit_outputs(sums(True, sigma=0.5), sums(False, sigma=0.5), epsilon=epsilon, delta=0.1)
        assert half.bounds["game"] > epsilon


def test_what_would_have_been_seen_is_relative_to_the_claim():
    """Too little noise needs only a little less of it to be refuted, which is no sign of a good audit."""
    found = audit_outputs(
        *(sums(with_unit, sigma=1 / 1.3, runs=400) for with_unit in (True, False)),
        epsilon=claim(1.0),
        delta=DELTA,
        gaussian=True,
    )
    assert not found.refuted
    assert found.seen == found.by_runs
    assert found.seen is not None
    assert found.seen > 1.5
    assert not found.passed


def test_a_unit_that_shows_too_little_is_told_from_runs_that_are_too_few():
    weak = audit_outputs(sums(True, sigma=2), sums(False, sigma=2), epsilon=claim(1.0), delta=DELTA, gaussian=True)
    assert weak.by_runs is not None
    assert weak.by_runs <= 1.5
    assert "The unit shows less than the claim allows" in str(weak)
    few = audit_outputs(sums(True, runs=300), sums(False, runs=300), epsilon=claim(1.0), delta=DELTA, gaussian=True)
    assert "Give more runs" in str(few)


@pytest.mark.parametrize("share", [1.0, 0.1])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_runs_that_are_finite_in_one_world_alone_are_refuted(share, swapped, value):
    with_unit, without = sums(True, sigma=10.0, rounds=2), sums(False, sigma=10.0, rounds=2)
    count = int(share * RUNS)
    places = np.random.default_rng(0).permutation(RUNS)[:count]
    (without if swapped else with_unit)[1][places, 0] = value
    found = audit_outputs(with_unit, without, epsilon=2.0, delta=DELTA)
    assert found.refuted
    assert found.by == FINITE
    ins, outs = (0, count) if swapped else (count, 0)
    assert (
        f"outputs are not finite in {ins:,} of the 8,000 runs with the unit and in {outs:,} of the 8,000 without"
        in str(found).splitlines()[0]
    )


def test_the_sign_of_what_is_infinite_tells_the_worlds_apart():
    with_unit, without = sums(True, sigma=10.0), sums(False, sigma=10.0)
    with_unit[0][:, 0], without[0][:, 0] = np.inf, -np.inf
    assert audit_outputs(with_unit, without, epsilon=2.0, delta=DELTA).refuted


@pytest.mark.parametrize(("ins", "outs"), [(1, 0), (0, 1), (400, 400), (RUNS, RUNS)])
def test_nothing_passes_where_runs_are_not_finite(ins, outs):
    """Perhaps the unit makes them so; these runs do not tell. The rest is judged."""
    with_unit, without = sums(True), sums(False)
    with_unit[0][:ins, 1], without[0][:outs, 1] = np.nan, np.inf
    found = audit_outputs(with_unit, without, epsilon=claim(1.0), delta=DELTA, gaussian=True)
    assert not found.passed
    if ins < RUNS:  # else infinite numbers in one world and NaN in the other
        assert not found.refuted
        assert str(found).startswith(f"inconclusive: outputs are not finite in {ins} of the 8,000 runs with the unit")
    half = [
        world[0] * np.array([0.5, 1, 1, 1, 1, 1]) + 0.5 * np.eye(6)[0] * (world is with_unit)
        for world in (with_unit, without)
    ]
    assert audit_outputs(half[:1], half[1:], epsilon=claim(1.0), delta=DELTA, gaussian=True).refuted


def test_outputs_that_never_change_are_said_to_have_nothing_random():
    still = np.full((RUNS, 2), 0.3)
    found = audit_outputs([still], [still.copy()], epsilon=1.0, delta=DELTA, gaussian=True)
    assert not found.refuted
    assert not found.passed
    assert str(found).startswith("inconclusive: nothing is random: all runs have the same outputs")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("wide", [1e160, 1e-200, np.longdouble("1e400")])
def test_numbers_of_any_size_are_computed_with(wide):
    """Squares overflow from 1e154 on, and long numbers become infinite."""
    rng = np.random.default_rng(0)
    with_unit, without = (shift + rng.standard_normal((4000, 3)) for shift in (10.0, 0.0))
    column = rng.standard_normal((8000, 1)).astype(type(wide)) * wide
    beside = np.hstack([with_unit, column[:4000]]), np.hstack([without, column[4000:]])
    assert audit_outputs([beside[0]], [beside[1]], epsilon=1.0, delta=DELTA).refuted
    if np.isfinite(float(wide)):
        assert audit_outputs([with_unit * wide], [without * wide], epsilon=1.0, delta=DELTA).refuted
        with_unit[-1, 0] = wide  # beside numbers near 1, and near 1e-300
        for unit in (1.0, 1e-300 * np.where(np.arange(4000) < 3999, 1.0, 1e300)[:, None]):
            assert audit_outputs([with_unit * unit], [without * unit], epsilon=1.0, delta=DELTA).refuted


def test_numbers_without_noise_are_named():
    """The factor by which noise is too small would say nothing where there is none."""
    with_unit, without = sums(True), sums(False)
    for world, value in ((with_unit, 1.0), (without, 0.0)):
        world.append(np.full((RUNS, 1), value))
    found = audit_outputs(with_unit, without, epsilon=claim(1.0), delta=DELTA)
    assert found.refuted
    assert found.bare == 1
    assert "1 of the 7 numbers of a run have no noise" in str(found)


def test_outputs_without_any_noise_are_refuted():
    """Then no size varies, and there is no score of sizes."""
    found = audit_outputs([np.full((RUNS, 2), 1.0)], [np.full((RUNS, 2), 0.0)], epsilon=1.0, delta=DELTA)
    assert found.refuted
    assert found.by == SHIFT
    assert found.bare == found.numbers
    assert "nothing is random: all runs of a world have the same outputs, which differ with the unit" in str(found)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e300, DELTA), (1e6, DELTA), (1.0, 1 - 1e-12)])
def test_a_claim_that_cannot_be_refuted_is_inconclusive(epsilon, delta):
    found = audit_outputs(sums(True, runs=600), sums(False, runs=600), epsilon=epsilon, delta=delta)
    assert str(found).startswith("inconclusive: nothing contradicts")


def test_noise_that_hides_everything_is_inconclusive():
    found = audit_outputs(sums(True, sigma=1000.0), sums(False, sigma=1000.0), epsilon=1.0, delta=DELTA)
    assert found.seen == math.inf
    assert str(found).startswith("inconclusive: nothing contradicts")


def test_more_numbers_than_their_covariance_can_be_found_for_are_still_told_apart():
    rng = np.random.default_rng(0)
    without = rng.standard_normal((900, 2000))
    with_unit = rng.standard_normal((900, 2000))
    with_unit[:, :20] += 1.0
    assert audit_outputs([with_unit], [without], epsilon=0.5, delta=DELTA).refuted


def test_the_command_reads_files_of_rounds_and_tells_by_its_status(tmp_path, monkeypatch, capsys):
    np.save(tmp_path / "with_0.npy", sums(True)[0])
    np.savez(tmp_path / "with_1.npz", bias=sums(True, seed=1)[0][:, :2], weights=sums(True, seed=1)[0][:, 2:])
    np.save(tmp_path / "without_0.npy", sums(False)[0])
    np.savez(tmp_path / "without_1.npz", bias=sums(False, seed=1)[0][:, :2], weights=sums(False, seed=1)[0][:, 2:])
    monkeypatch.chdir(tmp_path)
    files = ["with_0.npy", "with_1.npz", "without_0.npy", "without_1.npz"]
    for epsilon, status in ((claim(1.0, 2), 0), (claim(1.0, 2) / 3, 1)):
        monkeypatch.setattr(
            "sys.argv",
            ["bench", "audit-outputs", *files, "--gaussian", "--epsilon", str(epsilon), "--delta", "1e-5"],
        )
        assert command.main() == status
        said = capsys.readouterr().out
        assert said.startswith("FAILED" if status else "passed")
        assert "12 numbers a run in 2 files" in said
        assert said.endswith("with the unit: with_0.npy, with_1.npz; without it: without_0.npy, without_1.npz\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.npy"], "audit-outputs has 1 file: give one for each round with the unit"),
        (["a.npy", "none.npy"], "none.npy does not exist"),
        (["a.npy", "text.npy"], "text.npy cannot be read (ValueError"),
        (["a.npy", "wide.npy"], "a.npy has 6 numbers in a run and wide.npy has 7"),
        (["a.npy", "complex.npy"], "complex.npy has complex128 of shape (400, 6): give real numbers"),
        (["few.npy", "a.npy"], "few.npy has 5 runs: give at least 300 in each world"),
        (["a.npy", "b.npy"], "a.npy and b.npy are the same, so that both worlds have the same noise"),
        ([], "Missing argument 'files'"),
        (["a.npy", "b.npy", "--epsilon", "0"], "epsilon is 0.0: give a finite number above 0"),
        (["a.npy", "b.npy", "--delta", "1"], "delta is 1.0: give a probability"),
    ],
)
def test_what_cannot_be_used_is_one_line(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    right = sums(False, runs=400)[0]
    np.save("a.npy", right)
    np.save("few.npy", right[:5])
    np.save("wide.npy", np.concatenate([right, right[:, :1]], axis=1))
    (tmp_path / "text.npy").write_text("no array")
    np.save("b.npy", right)
    np.save("complex.npy", right + 1j)
    claimed = [
        word for name, value in (("--epsilon", "3"), ("--delta", "1e-5")) for word in (name, value) if name not in words
    ]
    monkeypatch.setattr("sys.argv", ["bench", "audit-outputs", *words, *claimed])
    assert command.main() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert line.count("numpy.savez") <= 1  # the remedy is said once
    assert len(line) < 300


def test_a_list_of_rows_of_different_lengths_is_one_line():
    with pytest.raises(InputError, match=r"an array of outputs cannot be read \(ValueError"):
        audit_outputs([[[1.0], [2.0, 3.0]]], sums(False), epsilon=1.0, delta=DELTA)  # type: ignore[list-item]


@pytest.mark.parametrize(("given", "missing"), [(["--epsilon", "3"], "--delta"), (["--delta", "1e-5"], "--epsilon")])
def test_a_claim_is_never_assumed(given, missing, tmp_path, monkeypatch, capsys):
    """A default would judge a claim that nobody made."""
    for name, with_unit in (("in.npy", True), ("out.npy", False)):
        np.save(tmp_path / name, sums(with_unit)[0])
    files = [str(tmp_path / name) for name in ("in.npy", "out.npy")]
    monkeypatch.setattr("sys.argv", ["bench", "audit-outputs", *files, *given])
    assert command.main() == 2
    assert f"Missing option '{missing}'" in capsys.readouterr().err
