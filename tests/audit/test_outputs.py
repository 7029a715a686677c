"""The audit of outputs of any program: right ones pass, wrong ones are refuted, and what cannot be used is one line."""

import math

import dp_accounting as dp
import numpy as np
import pytest

from bench import __main__ as command
from bench.audit.outputs import SCALE, SHIFT, audit_outputs

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
    assert 1 < right.seen < 1.5
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
    assert list(found.bounds) == ["game"]
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


def test_a_right_claim_is_refuted_no_oftener_than_the_confidence_says():
    """At a confidence of 60 % with claims that are exactly true; the two error rates are bounded separately."""
    wrong = 0
    for seed in range(40):
        options = {"seed": seed, "runs": 600}
        found = audit_outputs(
            sums(True, **options),
            sums(False, **options),
            epsilon=claim(1.0),
            delta=DELTA,
            confidence=0.6,
            gaussian=True,
        )
        wrong += found.refuted
    assert wrong <= 24  # 16 expected at most; more than 24 has a probability below 1 %


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
            ["bench", "audit", "--outputs", *files, "--gaussian", "--epsilon", str(epsilon), "--delta", "1e-5"],
        )
        assert command.main() == status
        said = capsys.readouterr().out
        assert said.startswith("FAILED" if status else "passed")
        assert "12 numbers a run in 2 files" in said
        assert said.endswith("with the unit: with_0.npy, with_1.npz; without it: without_0.npy, without_1.npz\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--outputs", "a.npy"], "--outputs has 1 file: give one for each round with the unit"),
        (["--outputs", "a.npy", "none.npy"], "none.npy does not exist"),
        (["--outputs", "a.npy", "text.npy"], "text.npy is no array of NumPy: give a file that numpy.save"),
        (["--outputs", "a.npy", "objects.npy"], "objects.npy cannot be read"),
        (["--outputs", "a.npy", "words.npy"], "words.npy has <U1 of shape"),
        (["--outputs", "a.npy", "nan.npy"], "nan.npy has numbers that are not finite"),
        (["--outputs", "a.npy", "wide.npy"], "a.npy has 6 numbers in a run and wide.npy has 7"),
        (["--outputs", "a.npy", "complex.npy"], "complex.npy has complex numbers: give their real and imaginary"),
        (["--outputs", "a.npy", "empty.npy"], "empty.npy is empty: give a row for each run"),
        (["--outputs", "none_wide.npy", "none_wide_too.npy"], "none_wide.npy has no numbers in a run"),
        (["--outputs", "few.npy", "a.npy"], "few.npy has 5 runs: give at least 300 in each world"),
        (["--outputs", "a.npy", "few.npy", "b.npy", "wide.npy"], "few.npy has 5 runs and a.npy has 400"),
        (["--outputs", "a.npy", "a.npy"], "a.npy is given twice"),
        (["--outputs", "a.npy", "b.npy"], "a.npy and b.npy are the same, so that both worlds have the same noise"),
        (["--outputs"], "--outputs has 0 files"),
        (["--outputs", "a.npy", "b.npy", "--rounds", "3"], "--rounds is for methods, which --outputs does not run"),
        (["--outputs", "a.npy", "b.npy", "--epsilon", "0"], "epsilon is 0.0: give a finite number above 0"),
        (["--outputs", "a.npy", "b.npy", "--delta", "1"], "delta is 1.0: give a probability"),
        ([], "audit needs a method"),
        (["ppsgd", "--gaussian"], "--gaussian is for --outputs"),
        (["ppsgd", "dp_fedavg"], "audit takes one method, not ppsgd, dp_fedavg"),
    ],
)
def test_what_cannot_be_used_is_one_line(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    right = sums(False, runs=400)[0]
    np.save("a.npy", right)
    np.save("few.npy", right[:5])
    np.save("wide.npy", np.concatenate([right, right[:, :1]], axis=1))
    np.save("nan.npy", np.where(right > 3, np.nan, right) * np.where(np.arange(400) == 7, np.nan, 1.0)[:, None])
    np.save("words.npy", np.array(["a"] * 400))
    np.save("objects.npy", np.array([{}] * 400), allow_pickle=True)
    (tmp_path / "text.npy").write_text("no array")
    np.save("b.npy", right)
    np.save("complex.npy", right + 1j)
    np.save("empty.npy", right[:0])
    np.save("none_wide.npy", right[:, :0])
    np.save("none_wide_too.npy", right[:, :0])
    claimed = (
        [] if "--outputs" not in words else [*([] if "--epsilon" in words else ["--epsilon", "3"]), "--delta", "1e-5"]
    )
    if "--delta" in words:
        claimed = claimed[:-2]
    monkeypatch.setattr("sys.argv", ["bench", "audit", *words, *claimed])
    assert command.main() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert line.count("numpy.savez") <= 1  # the remedy is said once


@pytest.mark.parametrize(("given", "missing"), [(["--epsilon", "3"], "--delta"), (["--delta", "1e-5"], "--epsilon")])
def test_a_claim_is_never_assumed(given, missing, tmp_path, monkeypatch, capsys):
    """A default would judge a claim that nobody made."""
    for name, with_unit in (("in.npy", True), ("out.npy", False)):
        np.save(tmp_path / name, sums(with_unit)[0])
    files = [str(tmp_path / name) for name in ("in.npy", "out.npy")]
    monkeypatch.setattr("sys.argv", ["bench", "audit", "--outputs", *files, *given])
    assert command.main() == 2
    assert f"--outputs needs {missing}" in capsys.readouterr().err
