"""The experiments of Gao et al. 2024 (section 4), further ones on claims that they do not test, and smaller scales."""

import math
from functools import cache, partial

import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.algorithms.silos import total_rounds
from bench.data.problems import odd_even, quadratic
from bench.errors import InputError, unknown_name
from bench.privacy.accounting import noise_multiplier
from bench.privacy.events import REPLACE, full_gaussian
from bench.sweeps.derived import Derived
from bench.sweeps.spec import Entry, Sweep, grid, thin
from bench.theory import isrl as theory

TRIALS = 20  # draws of the data; separating the methods at every epsilon takes more than the paper's 5
EPSILONS = [0.75, 1.5, 3.0, 6.0, 12.0, 18.0]
ANSWERING = [25, 18]  # silos that answer in a round: all of them, and one of the values in the authors' programs
DELTA = 1 / odd_even.NUM_RECORDS**2
STEPS = [float(f"{step:.3g}") for step in np.geomspace(1, 1000, 16)]
ROUNDS = [1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 35, 50]
PHASE_ROUNDS = [1, 2, 3, 5, 10, 20]
PUBLISHED, EXACT, SILENT = "published", "exact", "no noise"


@cache
def _exact(epsilon: float, delta: float) -> float:
    """sigma for records that are used once."""
    return noise_multiplier(epsilon, lambda sigma: full_gaussian(sigma, neighbors=REPLACE, delta=delta), 1)


def noise(epsilon: float, calibration: str, uses: int, delta: float = DELTA) -> float:
    """sigma for records that are used in so many rounds; sigma grows as sqrt(uses) by both calibrations.

    Raises:
        InputError: for another calibration.
    """
    if calibration not in (PUBLISHED, EXACT, SILENT):
        raise unknown_name("calibration", calibration, (PUBLISHED, EXACT, SILENT))
    if calibration == SILENT and not math.isinf(epsilon):
        raise InputError(f"epsilon is {epsilon:g} with calibration {SILENT!r}: take {PUBLISHED!r} or {EXACT!r}")
    if math.isinf(epsilon):
        return 0.0
    if calibration == PUBLISHED:
        return theory.zcdp_noise_multiplier(epsilon, delta, rounds=uses)
    return math.sqrt(uses) * _exact(epsilon, delta)


def budgets(epsilons, calibrations) -> pd.DataFrame:
    """One row per target epsilon and way to calibrate, and one without noise."""
    silent = pd.DataFrame({"target_epsilon": [math.inf], "calibration": [SILENT]})
    return pd.concat([grid(target_epsilon=epsilons, calibration=calibrations), silent], ignore_index=True)


def with_noise(points: pd.DataFrame, uses, delta: float = DELTA) -> pd.DataFrame:
    """The points with their noise; `uses`: in how many rounds a record is used, a number or one for each point."""
    keys = zip(points["target_epsilon"], points["calibration"], np.broadcast_to(uses, len(points)), strict=True)
    return points.assign(noise_multiplier=[noise(*key, delta) for key in keys], clip_norm=1.0)


def _remade(points: pd.DataFrame, delta: float = DELTA) -> pd.DataFrame:
    """The points with the noise for their target and calibration; without noise there is one target."""
    silent = (points["calibration"] == SILENT) | np.isinf(points["target_epsilon"])
    alike = {"calibration": SILENT, "target_epsilon": math.inf}
    points = points.assign(**{name: points[name].mask(silent, value) for name, value in alike.items()})
    points = points.drop_duplicates(ignore_index=True)
    uses = points["phase_rounds"]
    if "sampler" in points:
        uses = uses.mask(points["sampler"] == "once", 1)
    return with_noise(points, uses, delta).assign(clip_norm=points["clip_norm"])


def _searched(points: pd.DataFrame) -> pd.DataFrame:
    """The points of the localized method: those that are no repetitions, each in the search that it belongs to."""
    repeated = points["step_size"] * points["regularization"] > 1  # longer steps are cut to this: the same runs
    wide = points["step_size"].isin(STEPS[5::2]) | (points["regularization"] == 0)
    points = points.assign(search=np.where(wide, "wide", "equal"))
    return _remade(points[~repeated & ~(wide & (points["calibration"] == EXACT))].reset_index(drop=True))


NOISE = ("target_epsilon", "calibration", "phase_rounds", "num_phases", "sampler", "num_sampled")
CALIBRATED = Derived(_remade, made=("noise_multiplier",), given=NOISE)


def isrl_odd_even(scale: str) -> Sweep:
    """Figures 2 and 3: test error against epsilon, MNIST odd/even in 25 silos, with and without unreliable silos.

    One-pass MB-SGD, the baseline; localized MB-SGD, as plotted; and multi-pass MB-SGD, which has the passes of the
    second without its phases. Equally many grid points each (`search` "equal"); "wide" has more of them for the
    localized one. The paper searches step sizes and says no more, so the rest of the grid is a choice.
    """
    everywhere = budgets(EPSILONS, [PUBLISHED, EXACT]).merge(grid(num_sampled=ANSWERING), how="cross")
    plain = everywhere.merge(grid(phase_rounds=ROUNDS, step_size=STEPS, search="equal"), how="cross")
    phases = grid(num_phases=[2, 3], phase_rounds=PHASE_ROUNDS, regularization=[1e-4, 1e-3, 1e-2], step_size=STEPS[4:])
    phases = phases[phases["step_size"] * phases["regularization"] <= 1]  # longer steps are cut to this: the same runs
    phases["search"] = np.where(phases["step_size"].isin(STEPS[4::2]), "equal", "wide")
    longest = [*STEPS[4::2], STEPS[-1]]
    without = grid(num_phases=[1, 2, 3], phase_rounds=PHASE_ROUNDS, regularization=0.0, step_size=longest)
    phases = everywhere.merge(pd.concat([phases, without.assign(search="wide")], ignore_index=True), how="cross")
    phases = phases[(phases["search"] == "equal") | (phases["calibration"] != EXACT)].reset_index(drop=True)
    paper = Sweep(
        name="isrl_odd_even",
        reproduces="Gao et al. 2024, Figures 2 and 3 (MNIST odd/even)",
        tasks={"odd_even": odd_even.odd_even},
        entries={
            "One-pass MB-SGD": Entry(
                ALGORITHMS["minibatch_sgd"], with_noise(plain.assign(sampler="once"), 1), derived=CALIBRATED
            ),
            "Multi-pass MB-SGD": Entry(
                ALGORITHMS["minibatch_sgd"],
                with_noise(plain.assign(sampler="all"), plain["phase_rounds"]),
                derived=CALIBRATED,
            ),
            "Localized MB-SGD": Entry(
                ALGORITHMS["localized"],
                with_noise(phases, phases["phase_rounds"]),
                derived=Derived(_searched, made=("noise_multiplier", "search"), given=NOISE),
            ),
        },
        num_rounds=total_rounds,
        eval_every=None,
        delta=DELTA,
        seeds=3,
        trials=TRIALS,
        notes="the paper does not state rounds, phases, regularisation, noise formula or clipping; it has 5 trials",
    )
    smoke = thin(
        paper,
        keep={
            "target_epsilon": [0.75, 3.0, 18.0],
            "num_phases": [2],
            "phase_rounds": [10],
            "regularization": [1e-4],
            "step_size": STEPS[6::4],
        },
        seeds=2,
        trials=2,
    )
    return {"paper": paper, "laptop": paper, "smoke": smoke}[scale]


SMOOTHED_ROUNDS = [5, 10, 20, 50]
SUBGRADIENT_ROUNDS = [10, 20, 50, 100, 200, 400]  # subgradient steps converge slowly, but are cheap
SMOOTHED_STEPS = [*STEPS[2::2], 1580.0]
RADII = [0.03, 0.3, 3.0]  # around the theorems' values for w* some 40 from 0, see the tests
SMOOTHNESSES = [5.0, 50.0, 500.0]  # the same


def isrl_nonsmooth(scale: str) -> Sweep:
    """The three localized methods for losses that are not smooth, on the hinge loss: subgradients (Algorithm 4),
    convolution smoothing (Algorithm 6), Moreau envelopes (Theorem 3.1). Same number of grid points, exact calibration.
    """
    everywhere = budgets(EPSILONS, [EXACT])
    phases = grid(num_phases=2, regularization=[1e-4, 1e-3], num_sampled=25)
    plain = phases.merge(grid(phase_rounds=SUBGRADIENT_ROUNDS, step_size=STEPS), how="cross")
    half = phases.merge(grid(phase_rounds=SMOOTHED_ROUNDS, step_size=SMOOTHED_STEPS), how="cross")

    def entry(points, **columns):
        points = everywhere.merge(points.assign(**columns), how="cross")
        return Entry(ALGORITHMS["localized"], with_noise(points, points["phase_rounds"]), derived=CALIBRATED)

    smoothed = {"solver": "accelerated"}
    paper = Sweep(
        name="isrl_nonsmooth",
        reproduces="Gao et al. 2024, Theorems 3.1, 3.4 and D.5, measured (hinge loss; not in the paper)",
        tasks={"odd_even_hinge": odd_even.odd_even_hinge},
        entries={
            "Subgradients": entry(plain, solver="subgradient"),
            "Convolution": entry(
                half.merge(grid(smoothing_radius=RADII), how="cross"), smoothing="convolution", **smoothed
            ),
            "Moreau envelopes": entry(
                half.merge(grid(moreau_smoothness=SMOOTHNESSES), how="cross"), smoothing="moreau", **smoothed
            ),
        },
        num_rounds=total_rounds,
        eval_every=None,
        delta=DELTA,
        seeds=1,
        trials=TRIALS,
        notes="the paper has no experiment with a loss that is not smooth",
    )
    smoke = thin(
        paper,
        keep={
            "target_epsilon": [0.75, 18.0],
            "phase_rounds": [10],
            "regularization": [1e-4],
            "step_size": STEPS[6::4],
            "smoothing_radius": RADII[1:2],
            "moreau_smoothness": SMOOTHNESSES[1:2],
        },
        trials=2,
    )
    return {"paper": paper, "laptop": paper, "smoke": smoke}[scale]


RECORDS = [128, 512, 2048]  # of a silo
ROUNDS_EPSILONS = [4.0, 16.0]
ROUNDS_DELTA = 1e-6
TOTAL_ROUNDS = [1, 2, 4, 8, 16, 32, 64]
FALLING = 2**-1.5  # R_i of the theorems fall as 1 / sqrt(lambda_i), lambda_i grows by 2^3


def isrl_rounds(scale: str) -> Sweep:
    """Rounds to a target risk on a quadratic with known minimiser, against n and epsilon: the communication claim.

    One-pass MB-SGD; localized with MB-SGD, with the accelerated method (Algorithm 2) or with its stages (Algorithm 5;
    together Algorithm 1) inside, tau, p and R_i / R_1 as in Theorem C.1, lambda tuned around its value there; and
    MB-SGD and the accelerated method over all records in every round.
    """
    budget = budgets(ROUNDS_EPSILONS, [EXACT]).merge(grid(num_records=RECORDS), how="cross")
    budget["task"] = budget["num_records"].map("quadratic_{}".format)
    steps = [float(f"{10 ** (k / 5):.3g}") for k in range(-10, 8)]
    plain = budget.merge(grid(phase_rounds=TOTAL_ROUNDS, step_size=steps, num_sampled=25), how="cross")
    twice = plain[plain["step_size"].isin(steps[2::3])].merge(grid(theorem_lambda=[0.01, 0.1, 1.0]), how="cross")
    twice = _of_theorem(twice)
    inner = {"rounds_ratio": FALLING, "growth": theory.growth(25, min(RECORDS))}
    bound = {"clip_norm": quadratic.LIPSCHITZ}

    def entry(method, points, uses=None, **columns):
        points = with_noise(points.assign(**columns), points["phase_rounds"] if uses is None else uses, ROUNDS_DELTA)
        remake, made = partial(_remade, delta=ROUNDS_DELTA), ("noise_multiplier",)
        if "theorem_lambda" in points:
            derived = Derived(
                lambda points: remake(_of_theorem(points)),
                made=(*made, "num_phases", "regularization"),
                given=("target_epsilon", "calibration", "phase_rounds", "theorem_lambda"),
            )
        else:
            derived = Derived(remake, made=made, given=NOISE)
        return Entry(ALGORITHMS[method], points.assign(**bound), derived=derived)

    paper = Sweep(
        name="isrl_rounds",
        reproduces="Gao et al. 2024, Theorem 2.1, measured (communication rounds; not in the paper)",
        tasks={f"quadratic_{n}": partial(quadratic.quadratic, num_records=n) for n in RECORDS},
        entries={
            "One-pass MB-SGD": entry("minibatch_sgd", plain, uses=1, sampler="once"),
            "Multi-pass MB-SGD": entry("minibatch_sgd", plain, sampler="all"),
            "Accelerated": entry("accelerated", plain),
            "Localized MB-SGD": entry("localized", twice, **inner),
            "Localized accelerated": entry("localized", twice, solver="accelerated", **inner),
            "Localized multi-stage": entry("localized", twice, solver="multistage", **inner),
        },
        num_rounds=total_rounds,
        eval_every=None,
        delta=ROUNDS_DELTA,
        seeds=1,
        trials=2 * TRIALS,
        notes="the paper proves bounds on rounds and measures none",
    )
    smoke = thin(
        paper,
        keep={
            "num_records": [128],
            "phase_rounds": [8],
            "target_epsilon": [16.0],
            "step_size": steps[8:12:3],
            "theorem_lambda": [1.0],
        },
        trials=2,
    )
    return {"paper": paper, "laptop": paper, "smoke": smoke}[scale]


def _of_theorem(points: pd.DataFrame) -> pd.DataFrame:
    """The points with as many phases as Theorem C.1 has, and theorem_lambda times its regularisation."""
    lambdas = [
        theory.regularization(_setting(n, epsilon))
        for n, epsilon in zip(points["num_records"], points["target_epsilon"], strict=True)
    ]
    return points.assign(
        num_phases=points["num_records"].map(theory.num_phases), regularization=points["theorem_lambda"] * lambdas
    )


def _setting(records: int, epsilon: float) -> theory.Setting:
    return theory.Setting(
        silos=quadratic.NUM_CLIENTS,
        answering=quadratic.NUM_CLIENTS,
        records=records,
        features=quadratic.NUM_FEATURES,
        epsilon=min(epsilon, 1e9),  # without noise the bound's other term decides
        delta=ROUNDS_DELTA,
        lipschitz=quadratic.LIPSCHITZ,
        diameter=quadratic.DIAMETER,
        smoothness=quadratic.SMOOTHNESS,
    )


SWEEPS = {
    "isrl_odd_even": isrl_odd_even,
    "isrl_nonsmooth": isrl_nonsmooth,
    "isrl_rounds": isrl_rounds,
}
