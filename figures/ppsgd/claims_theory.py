"""Checks of what Bietti et al. 2022 prove and conclude in sections 4 and 5, by runs in the setting of the theorems."""

import math
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from bench.theory.ppsgd import Measured, everybody, minimal_norm, threshold
from figures.ppsgd import sampled_theory, theory
from figures.shared.margins import Margin, computed, every, of_mean, paired, some
from figures.shared.verdicts import NotTestable, Verdict, spread, verdict

POINT = ["target_epsilon", "samples"]
LOGS = "of the logarithm of the risks' ratio"
NUM_CLIENTS, NUM_FEATURES, LABEL_NOISE, CLIP_NORM, DELTA = Measured()


def bound_holds(runs: pd.DataFrame) -> Verdict:
    """Return the mean risk lies under the bound at every point, where nothing was clipped."""
    return _under_bound(theory.table(runs), "excess_risk")


def weighted_bound_holds(runs: pd.DataFrame) -> Verdict:
    """Return the same for Algorithm 2, users of unequal size, the risk weighted by their examples."""
    return _sampled(runs, "Algorithm 2")


def averaged_bound_holds(runs: pd.DataFrame) -> Verdict:
    """Return the same for Algorithm 3 and the risk averaged over users."""
    return _sampled(runs, "Algorithm 3")


def _sampled(runs: pd.DataFrame, algorithm: str) -> Verdict:
    table = sampled_theory.table(runs)
    table = table[table["algorithm"] == algorithm].reset_index(drop=True)
    if table.empty:
        raise NotTestable(f"no finished run of {algorithm}")
    return _under_bound(table, "risk")


def _under_bound(table: pd.DataFrame, risk: str) -> Verdict:
    """Return whether the mean of the column `risk` is under the bound in every row."""
    loose = table["bound"] / table[risk]
    if (clipped := table["clipped"].max()) > 0:
        raise NotTestable(f"up to {clipped:.2g} of the gradients were clipped, which the theorem excludes")
    tightest, loosest = select.row(table, loose.idxmin()), select.row(table, loose.idxmax())
    halves = (table["high"] - table[risk]) / table["bound"]
    points = [_point(row) for _, row in table.iterrows()]
    rooms = zip(1 - 1 / loose, halves, table["repetitions"], points, strict=True)
    return verdict(
        every(of_mean(room, half, count, "of the bound").named(point) for room, half, count, point in rooms),
        f"{len(table)} points, nothing clipped; the bound is {loose.min():.3g} times the risk at the least "
        f"({_point(tightest)}), {loose.median():.3g} in the median, {loose.max():.3g} at most ({_point(loosest)})",
    )


def best_alpha_changes(runs: pd.DataFrame) -> Verdict:
    """At every budget: the alpha Q of lowest mean risk is 0 at the numbers of samples from the threshold on and above 0
    at those below it."""
    table = theory.table(runs)
    best = theory.best(table)
    budgets = best[np.isfinite(best["target_epsilon"])]
    if budgets.empty or budgets["local_is_better"].nunique() < 2:
        raise NotTestable("no budget with numbers of samples on both sides of the threshold")
    parts = []
    for target, rows in budgets.groupby("target_epsilon"):
        said = ", ".join(f"n = {row.samples:g}: alpha Q = {row.measured:g}" for row in rows.itertuples())
        first = rows.loc[rows["local_is_better"] == 1, "samples"].min()
        parts.append(f"epsilon {target:g}, threshold by n = {first:g}: {said}")
    last = runs[(runs["rounds"] == runs["num_rounds"]) & np.isfinite(runs["target_epsilon"])]
    return verdict(every(_ahead(rows) for _, rows in last.groupby(POINT)), "; ".join(parts))


def term_turns(runs: pd.DataFrame) -> Verdict:
    """At every budget and number of samples: the second term of the bound does not fall with alpha where n is at least
    the threshold (10), and does not rise with it below."""
    last = runs[(runs["rounds"] == runs["num_rounds"]) & np.isfinite(runs["target_epsilon"])]
    shared = last[last["personalization"] > 0].drop_duplicates([*POINT, "personalization"])
    margins, parts = [], []
    for labels, rows in shared.groupby(POINT):
        target, number = (float(str(label)) for label in labels)
        n = int(number)
        point = select.row(rows, rows.index[0])
        noise_std = point["noise_multiplier"] * point["clip_norm"] / NUM_CLIENTS
        terms = [_second_term(a / NUM_CLIENTS, n, noise_std) for a in sorted({0.0, *rows["personalization"]})]
        # (10) with the noise that was calibrated: its constant is that of (4).
        constant = noise_std * NUM_CLIENTS * target / (CLIP_NORM * math.sqrt(n * math.log(1 / DELTA)))
        limit = threshold(NUM_CLIENTS, LABEL_NOISE**2, NUM_FEATURES, CLIP_NORM, target, DELTA, constant)
        side = 1 if n >= limit else -1
        steps = side * np.diff(terms) / max(terms)
        margins.append(computed(steps.min(), "of the term").named(f"epsilon {target:g}, n = {n}"))
        parts.append(
            f"epsilon {target:g}, n = {n}: threshold {limit:.3g}, {'rises' if terms[-1] > terms[0] else 'falls'}"
        )
    if not margins:
        raise NotTestable("no budget")
    return verdict(every(margins), "; ".join(parts))


def _second_term(alpha: float, num_rounds: int, noise_std: float) -> float:
    """Return the second term of the bound of Theorem 4.5 at the minimiser of least norm, users alike."""
    bounds = [
        everybody(
            alpha,
            num_clients=NUM_CLIENTS,
            num_rounds=num_rounds,
            smoothness=smoothness,
            norm=minimal_norm(1.0, alpha, NUM_CLIENTS),
            variance_w=LABEL_NOISE**2,
            variance_local=LABEL_NOISE**2,
            dimension=NUM_FEATURES,
            noise_std=noise_std,
        ).bound
        for smoothness in (1.0, 2.0)
    ]
    return 2 * bounds[0] - bounds[1]  # the first term is proportional to the smoothness


def less_sharing_later(runs: pd.DataFrame) -> Verdict:
    """At every finite budget: some alpha > 0 has the lowest risk at the fewest samples, and alpha = 0 at the most."""
    last = runs[(runs["rounds"] == runs["num_rounds"]) & np.isfinite(runs["target_epsilon"])]
    if last["samples"].nunique() < 2:
        raise NotTestable("no budget with several numbers of samples")
    margins, parts = [], []
    for target, rows in last.groupby("target_epsilon"):
        for samples, local in ((rows["samples"].min(), 0.0), (rows["samples"].max(), 1.0)):
            here = rows[rows["samples"] == samples]
            margins.append(_ahead(here.assign(local_is_better=local)))
            best: Any = here.groupby("personalization")["excess_risk"].mean().idxmin()
            parts.append(f"epsilon {target:g}, n = {samples:g}: alpha Q = {best:g}")
    return verdict(every(margins), "; ".join(parts))


def sums_pay_more(runs: pd.DataFrame) -> Verdict:
    """After the most rounds: a budget raises the risk of global learning by more in Algorithm 2 than in Algorithm 3,
    each risk the one that the algorithm minimises.

    Other ratios are in units of the algorithm's own divisor, so the two do not share them.
    """
    table = sampled_theory.of_repetitions(runs)
    table = table[(table["samples"] == table["samples"].max()) & np.isinf(table["personalization"])]
    wide = table.pivot(index=select.REPETITION, columns=["algorithm", "target_epsilon"], values="risk")
    if {"Algorithm 2", "Algorithm 3"} - set(table["algorithm"]):
        raise NotTestable("global learning by Algorithms 2 and 3 is needed")
    sums, means = (
        wide[name].drop(columns=np.inf).sub(wide[name][np.inf], axis=0) for name in ("Algorithm 2", "Algorithm 3")
    )
    gaps = (sums - means).dropna()
    margins = [paired(gaps[target], "of excess risk").named(f"epsilon {target:g}") for target in gaps]
    said = (f"epsilon {target:g}: {sums[target].mean():.3g} and {means[target].mean():.3g}" for target in gaps)
    return verdict(every(margins), f"risk over that without noise, Algorithms 2 and 3: {', '.join(said)}")


def sampling_helps(runs: pd.DataFrame) -> Verdict:
    """Without noise: ten times as many rounds of a tenth of the users reach a lower average risk than rounds of all, at
    equally many examples."""
    last = runs[(runs["rounds"] == runs["num_rounds"]) & (runs["noise_multiplier"] == 0)]
    risks, said = {}, []
    for name in ("Algorithm 1", "Algorithm 3, poisson"):
        rows = last[(last["algorithm"] == name) & (last["personalization"] > 0)]
        if rows.empty:
            raise NotTestable(f"no run of {name} without noise")
        setting = ["personalization", "clip_norm", "step_size"]
        rows = rows.assign(setting=rows.groupby(setting).ngroup())
        best = select.tune(rows, by=["algorithm"], over="setting", on="excess_risk", best="min", log=True)
        risks[name] = best.set_index(select.REPETITION)["excess_risk"].astype(float)
        said.append(f"{name}, {best['num_rounds'].iloc[0]:g} rounds: {spread(risks[name])}")
    every_round, some_of_them = risks.values()
    return verdict(paired(np.log(every_round / some_of_them).dropna(), LOGS), "; ".join(said))


def _ahead(rows: pd.DataFrame) -> Margin:
    """Return the margin by which some alpha Q on the side that the lemma names has a lower risk than all on the other
    side.

    Args:
        rows: of one budget and number of samples, after the last round.
    """
    risks = rows.set_index([*select.REPETITION, "personalization"])["excess_risk"].unstack()
    local = [a for a in risks if a == 0]
    sharing = [a for a in risks if a != 0]
    named, others = (local, sharing) if rows["local_is_better"].iloc[0] == 1 else (sharing, local)
    if not (named and others):
        raise NotTestable("alpha Q = 0 and some alpha Q > 0 are needed at every budget and number of samples")
    target, samples = rows[POINT].iloc[0]
    place = f"epsilon {target:g}, n = {samples:g}"
    return some(
        every(
            paired(risks[b] - risks[a], "of excess risk").named(place, f"alpha Q = {a:g} below {b:g}") for b in others
        )
        for a in named
    )


def _point(row: pd.Series) -> str:
    return f"alpha Q = {row['personalization']:g}, n = {row['samples']:g}, epsilon {row['target_epsilon']:g}"
