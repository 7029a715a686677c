"""What the claims of Bellet et al. 2018 compare, from the runs and from the numbers that the paper published.

A repetition is a problem instance with its own randomness, which all methods and settings share. The paper gives no
spread of its points, so a deviation from a published point is judged by the spread here alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.p2p import agents, common, fig1, fig3, fig4, perturbed, private, table1, vectors
from figures.p2p.common import CLIPPED, EXACT, GAUSSIAN, LOCAL, NON_PRIVATE, PUBLISHED, SOLVERS
from figures.p2p.published import published
from figures.shared.checks import Cells, cells_of
from figures.shared.derived import derived
from figures.shared.margins import Margin, computed, every, need, paired, some
from figures.shared.runs import ended, not_empty
from figures.shared.verdicts import require

UNITS = {"objective": "of the objective", "test_accuracy": "of accuracy", "test_rmse": "of RMSE"}
BETTER = {"objective": -1.0, "test_accuracy": 1.0, "test_rmse": -1.0}  # sign with which more is better
PRIVATE = ["epsilon 1.05", "epsilon 0.55", "epsilon 0.15"]
P, M, T_N, R, Y = "num_features", "num_examples", "max_updates", "input_range", "test_accuracy"
PLACES = {P: "p =", M: "m =", T_N: "T/n =", "x": ""}
STARTS = {"cold": "constant", "warm": "propagation"}
LEGEND = {"cold": "p2p_fig2a", "warm": "p2p_fig2b"}
NEAR = 0.03  # of accuracy: as published


def _cells(rows: pd.DataFrame, series: str, places: Sequence[str], y: str, scale: float | None = None) -> Cells:
    """Return the cells of rows, signed so that more is better."""
    named = {name: PLACES.get(name, "") for name in places}
    scale = BETTER[y] if scale is None else scale
    return cells_of(rows, series, named, y, UNITS[y], scale=scale, called=PLACES.get(series, ""))


def _deviations(
    rows: pd.DataFrame,
    series: str,
    places: Sequence[str],
    y: str,
    printed: pd.Series | Mapping[Any, float],
    share: bool = False,
) -> Cells:
    """Return the deviations of rows from published numbers, whose key is the series and the first place; with `share`,
    as shares of these numbers."""
    keys = zip(rows[series], rows[places[0]] if places else [np.nan] * len(rows), strict=True)
    reference = np.array([printed[key if places else key[0]] for key in keys])
    rows = rows.assign(**{y: (rows[y].astype(float) - reference) / (reference if share else 1.0)})
    cells = _cells(rows, series, places, y, 1.0)
    return Cells(cells.values, "of the published" if share else cells.unit, cells.edges, cells.names)


def of_figure(figure: str, y: str = Y, above: float = -np.inf) -> Cells:
    """Return the published points of a figure or table, from a number of features on."""
    points = published(figure)
    points = points[(points["y_name"] == y) & ~(points["x"] < above)]
    places = ["x"] if points["x"].notna().any() else []
    return _cells(points.rename(columns={"y": y}), "series", places, y)


# ---- Figure 1 ----


def ends_of_descent(runs: pd.DataFrame) -> list[Cells]:
    """Objective and accuracy of CD, and of ADMM at the penalty with the lowest objective, at the last point of the
    panels that both have, from both starts."""
    best, ends = fig1.chosen(runs), {y: [] for y in fig1.METRICS}
    for variant in fig1.STARTS.values():
        own = best[best["variant"] == variant]
        for name in fig1.SERIES:
            need((own["series"] == name).any(), f"no run of {name} from {variant}")
        for x in fig1.AXES:
            for y in fig1.METRICS:
                rows = own if x == "iterations" else vectors.by_vectors(own, [y])
                cd, admm = (set(rows.loc[rows["series"] == name, x]) - {0} for name in fig1.SERIES)
                need(cd & admm, "CD and ADMM were not evaluated at the same points")
                ends[y].append(rows[rows[x] == max(cd & admm)].assign(start=f"from {variant}", axis=x))
    return [_cells(pd.concat(rows), "series", ["start", "axis"], y) for y, rows in ends.items()]


def published_ends_of_descent() -> list[Cells]:
    """Objective and accuracy of CD and ADMM at the last point of the published curves."""
    points = published("p2p_fig1").sort_values("x", kind="stable")
    ends = points.groupby(["series", "x_name", "y_name"]).tail(1)
    return [_cells(ends[ends["y_name"] == y].rename(columns={"y": y}), "series", ["x_name"], y) for y in fig1.METRICS]


def ends_against_published(runs: pd.DataFrame) -> list[Cells]:
    """Deviation of CD's final objective and accuracy from the published ones, from the short descent where the
    published curves start."""
    rows = fig1.candidates(runs)
    rows, found = rows[common.matching(rows, series="CD", variant=common.DESCENT)], []
    points = published("p2p_fig1")
    points = points[common.matching(points, series="CD", x_name="iterations")].sort_values("x")
    last = round(points["x"].max(), -1)
    require(rows["iterations"], [last], "iterations")
    for y in fig1.METRICS:
        printed = {"CD": points.loc[points["y_name"] == y, "y"].iloc[-1]}
        found.append(_deviations(rows[rows["iterations"] == last], "series", [], y, printed))
    return found


# ---- Figures 2a and 2b: the paper's calibration and an equal split of the budget; nothing is tuned ----


def _ends(runs: pd.DataFrame, epsilon: float = private.EPSILON, starts: Sequence[str] = tuple(STARTS)) -> pd.DataFrame:
    """Return the last rows from each start ("begin"), one per T/n and repetition.

    Raises:
        NotTestable: where a T/n that is published is missing.
    """
    frames = []
    for start in starts:
        rows = common.runs_with(runs, algorithm="private CD", start=STARTS[start])
        rows = ended(rows[common.matching(rows, **private.AS_PUBLISHED, target_epsilon=epsilon)])
        require(rows[T_N], private.updates_published(), "T/n", f", {start} start, epsilon {epsilon:g}")
        frames.append(rows[rows[T_N].isin(private.updates_published())].assign(begin=start))
    return pd.concat(frames, ignore_index=True)


def _published_ends(y: str, first: bool = False) -> pd.DataFrame:
    """Return the last published points by start ("begin") and T/n; as T/n = 0 also the first, which are no update."""
    frames = []
    for start, figure in LEGEND.items():
        points = published(figure)
        points = points[points["y_name"] == y].sort_values("x", kind="stable").rename(columns={"y": y})
        points = points.assign(begin=start, **{T_N: points["series"].str.removeprefix("T/n = ").astype(float)})
        frames.append(points.groupby("series").tail(1))
        if first:
            frames.append(points.groupby("series").head(1).nlargest(1, y).assign(**{T_N: 0.0}))
    return pd.concat(frames, ignore_index=True)


def by_start(runs: pd.DataFrame, y: str) -> Cells:
    """Final objective or accuracy with the start as the series, by T/n."""
    return _cells(_ends(runs), "begin", [T_N], y)


def published_by_start(y: str) -> Cells:
    """Final objective or accuracy of the published curves, as in `by_start`."""
    return _cells(_published_ends(y), "begin", [T_N], y)


def by_updates(runs: pd.DataFrame, none: bool) -> Cells:
    """Final objective with T/n as the series, by start. none: adds the start itself as T/n = 0, and less is better;
    otherwise more counts as better."""
    rows = _ends(runs)
    if none:
        for start, name in STARTS.items():
            wanted = private.AS_PUBLISHED | {"target_epsilon": private.EPSILON, "start": name, "rounds": 0}
            first = common.runs_with(runs, algorithm="private CD", **wanted).drop_duplicates(select.REPETITION)
            rows = pd.concat([rows, first.assign(begin=start, **{T_N: 0.0})], ignore_index=True)
    return _cells(rows, T_N, ["begin"], "objective", -1.0 if none else 1.0)


def published_by_updates(none: bool) -> Cells:
    """Final objective of the published curves, as in `by_updates`."""
    return _cells(_published_ends("objective", none), T_N, ["begin"], "objective", -1.0 if none else 1.0)


def off_the_ends(runs: pd.DataFrame, start: str, y: str, epsilon: float = private.EPSILON) -> Cells:
    """Deviation of final values from the published curves, by T/n; of the objective as a share."""
    points = _published_ends(y)
    printed = points[points["begin"] == start].set_index(["begin", T_N])[y]
    return _deviations(_ends(runs, epsilon, [start]), "begin", [T_N], y, printed, share=y == "objective")


def by_split(runs: pd.DataFrame) -> Cells:
    """Final objective from the warm start as a share of that of the equal split, with the split of the budget as the
    series, by each T/n at which Theorem 1 composes both splits by the plain sum."""
    rows = ended(common.runs_with(runs, algorithm="private CD", start="propagation", calibration=PUBLISHED))
    rows = rows[(rows["target_epsilon"] == private.EPSILON) & (rows[T_N] > 1)]  # one update has nothing to split
    rows, frames = rows[rows["allocation"].isin(["equal", "published"])], []
    for updates, alike in rows.groupby(T_N):
        noise = alike.groupby("allocation", observed=True)["noise_multiplier"].first()
        need(len(noise) == 2, f"both splits are needed at T/n = {updates:g}")
        if np.isclose(*noise):
            equal = alike.loc[alike["allocation"] == "equal", "objective"].mean()
            frames.append(alike.assign(objective=alike["objective"] / equal))
    need(frames, "no T/n at which both splits are composed alike")
    return _cells(pd.concat(frames), "allocation", [T_N], "objective")


# ---- Figures 2c, 3 and 4: settings tuned on other problem instances, mu the paper's ----


def _rows_at_published(rows: pd.DataFrame, series: Sequence[str], x: str, figure: str) -> pd.DataFrame:
    """Return the rows of these series at all published values of x.

    Raises:
        NotTestable: where one is missing.
    """
    wanted = sorted(published(figure)["x"].unique())
    rows = rows[rows["series"].isin(series) & rows[x].isin(wanted)]
    for name in series:
        require(rows.loc[rows["series"] == name, x], wanted, x, f", {name}")
    return rows


def _rows_of_curves(runs: pd.DataFrame, series: Sequence[str]) -> pd.DataFrame:
    """Return the rows of these curves of Figure 2c, at the paper's mu."""
    rows = common.as_published(runs)
    return _rows_at_published(rows[rows["variant"] == ""], series, P, "p2p_fig2c")


def by_features(runs: pd.DataFrame, series: Sequence[str], fewest: float = 0.0) -> Cells:
    """Accuracy of curves of Figure 2c, from a number of features on."""
    rows = _rows_of_curves(runs, series)
    return _cells(rows[rows[P] >= fewest], "series", [P], Y)


def off_features(runs: pd.DataFrame, series: Sequence[str]) -> Cells:
    """Deviation of accuracies from those of Figure 2c, at the paper's mu."""
    require(runs["mu"], [common.PAPER_MU], "mu")
    printed = published("p2p_fig2c").set_index(["series", "x"])["y"]
    return _deviations(_rows_of_curves(runs, series), "series", [P], Y, printed)


def with_local(runs: pd.DataFrame, smallest: str) -> Cells:
    """Accuracy of the smallest budget, and of local models by each solver as a series."""
    rows = common.as_published(runs)
    local = rows["series"] == LOCAL
    rows = rows.assign(series=rows["series"].where(~local, rows["variant"]))
    return _cells(_rows_at_published(rows, [smallest, *SOLVERS], P, "p2p_fig2c"), "series", [P], Y)


def published_with_local(smallest: str) -> Cells:
    """Published accuracies of Figure 2c, as in `with_local`; its one kind of local models stands for every solver."""
    points = published("p2p_fig2c").rename(columns={"y": Y})
    local = points[points["series"] == LOCAL]
    points = pd.concat([points[points["series"] == smallest], *(local.assign(series=name) for name in SOLVERS)])
    return _cells(points, "series", ["x"], Y)


def with_right_noise(runs: pd.DataFrame, budget: str, variant: str = "") -> Cells:
    """Accuracy of a budget with noise of the right size, its kind as the series, and of exact local models."""
    rows = common.tuned_runs(runs, [PUBLISHED, CLIPPED, GAUSSIAN])
    local = rows[(rows["series"] == LOCAL) & (rows["variant"] == EXACT)]
    noisy = rows[common.matching(rows, series=budget, variant=variant, calibration=[CLIPPED, GAUSSIAN])]
    rows = pd.concat([local, noisy.assign(series=noisy["calibration"])])
    return _cells(_rows_at_published(rows, [CLIPPED, GAUSSIAN, LOCAL], P, "p2p_fig2c"), "series", [P], Y)


def by_size(runs: pd.DataFrame) -> Cells:
    """Accuracy of Figure 3 of the budgets and of exact local models, by size of the local data.

    Raises:
        NotTestable: where there are no runs with the paper's number of features, or a group is missing.
    """
    rows = fig3.rows_of(runs)
    need((rows[P] == fig3.NUM_FEATURES).all(), "no runs with as many features as the paper has")
    rows = rows[(rows["series"] != LOCAL) | (rows["variant"] == EXACT)]
    return _cells(_rows_at_published(rows, [*PRIVATE, LOCAL], M, "p2p_fig3"), "series", [M], Y)


def published_by_size() -> Cells:
    """Published accuracies of Figure 3, as in `by_size`."""
    cells = of_figure("p2p_fig3")
    return Cells({cell: of for cell, of in cells.values.items() if cell[0] != NON_PRIVATE}, cells.unit)


def small_gain_most(cells: Cells) -> Margin:
    """The lead of every budget over local models is larger for the agents with the least data than for those with the
    most."""
    places = sorted(cells.places(*PRIVATE, LOCAL))
    least, most = places[0], places[-1]
    return every(
        cells.difference({(name, least): 1, (LOCAL, least): -1, (name, most): -1, (LOCAL, most): 1}, 0.0, name)
        for name in PRIVATE
    )


def of_perturbed(runs: pd.DataFrame) -> Cells:
    """Accuracy of exact local models from perturbed inputs, by epsilon, and from the inputs as they are."""
    rows = fig4.rows_of(runs)
    names = sorted(published("p2p_fig4")["series"].unique())
    return _cells(_rows_at_published(rows[rows["variant"] == EXACT], names, P, "p2p_fig4"), "series", [P], Y)


def together(runs: pd.DataFrame) -> Cells:
    """Accuracy on perturbed inputs alone and together, by epsilon, at the numbers of features at which learning alone
    is as accurate as in Figure 4.

    Raises:
        NotTestable: where there are none.
    """
    rows = perturbed.rows_of(runs)
    means = rows[rows["variant"] == perturbed.ALONE].groupby([P, "series"])[Y].mean()
    printed = published("p2p_fig4").set_index(["x", "series"])["y"]
    apart = (means - printed.reindex(means.index)).abs().groupby(level=P).max()
    alike = rows[rows[P].isin(apart.index[apart <= NEAR])]
    missing = "nowhere are local models from perturbed inputs as accurate as in Figure 4"
    return _cells(not_empty(alike, missing), "variant", ["series", P], Y)


# ---- Table 1 ----


@derived
def _movielens_rows(runs: pd.DataFrame, norm_tuned: bool) -> pd.DataFrame:
    """Return the final rows on MovieLens, one per split, with "series": local models, no privacy, and the budgets.

    The paper does not say where private runs start, so the start is tuned on validation ratings together with the
    number of updates. Private runs have Laplace noise and gradients clipped at the paper's norm, or at the best one.
    """
    rows = table1.final_rows(runs)
    rows = rows[rows["series"].isin([LOCAL, NON_PRIVATE])]
    printed = common.runs_with(runs, algorithm="private CD", mechanism="laplace")
    if not norm_tuned:
        printed = common.runs_with(printed, clip_norm=table1.CLIP_NORM)
    best = table1.tuned(printed, ["start", *table1.OVER])
    tried = ended(common.runs_with(printed, instances="validation"))
    best = common.with_edges(best, tried, ["budget", "start"], table1.OVER)
    require(best["budget"], [1.0, 0.5, 0.1], "budget")
    rows = pd.concat([rows, best.assign(series=best["budget"].map(common.epsilon_name))], ignore_index=True)
    lost = sorted(set(rows.loc[~np.isfinite(rows["test_rmse"].astype(float)), "series"]))
    need(not lost, f"{', '.join(lost)} diverged")
    return rows


def rated(runs: pd.DataFrame, norm_tuned: bool = False) -> Cells:
    """RMSE on MovieLens of local models, without privacy, and of each budget."""
    return _cells(_movielens_rows(runs, norm_tuned), "series", [], "test_rmse")


def off_the_rated(runs: pd.DataFrame) -> Cells:
    """Deviation of RMSE without privacy from the published one."""
    rows = _movielens_rows(runs, False)
    printed = published("p2p_table1").set_index("series")["y"]
    return _deviations(rows[rows["series"] == NON_PRIVATE], "series", [], "test_rmse", printed)


# ---- Noise, by the range of the inputs, and the number of agents ----


def _rows_by_range(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the final private rows by range and number of features, with the updates and mu chosen on other problem
    instances: the mu at which the run without privacy is the most accurate, as in the paper."""
    free = ended(common.runs_with(runs, algorithm="CD", instances="validation"))
    mu = select.choose(free, by=[P, R], over="mu", on=Y, best="max")[[P, R, "mu"]]
    noisy = common.runs_with(runs, algorithm="private CD").merge(mu, on=[P, R, "mu"])
    return common.tuned_elsewhere(noisy, [P, R, "budget"], ["num_updates"])


def noise_of_the_legend(runs: pd.DataFrame) -> Margin:
    """The margin by which, at every number of features and for some range of the inputs, the published noise spends no
    more than the epsilon of the legend while accuracies are as published."""
    printed = published("p2p_fig2c").set_index(["series", "x"])["y"]
    rows = _rows_by_range(runs)
    rows = rows.assign(series=rows["budget"].map(common.epsilon_name))
    margins: list[Margin] = []
    for p, of_p in rows.groupby(P):
        require(published("p2p_fig2c")["x"], [p], "p")
        of_ranges = []
        for r, of_r in of_p.groupby(R):
            both = []
            for name, own in of_r.groupby("series"):
                factor = float((own["epsilon_true"] / own["epsilon"]).mean())
                spent = computed(1 - factor, "of the epsilon of the legend")._replace(threshold=-1.0)
                off = own[Y] - printed[name, p]
                both += [spent.named(str(name), "what is spent")]
                both += [every(paired(sign * off, UNITS[Y], -NEAR) for sign in (1, -1)).named(str(name), "accuracy")]
            of_ranges.append(every(both).named(f"range {r:g}"))
        margins.append(some(of_ranges).named(f"p = {p:g}"))
    return every(margins)


def rest_by_agents(runs: pd.DataFrame) -> Cells:
    """Logarithm of the remaining share of the gap after as many updates per agent, with the number of agents as the
    series, "fewest" and "most"."""
    rows = runs.assign(rest=agents.rest_of_gap(runs))
    rows = rows[rows["rounds"] == agents.UPDATES]
    need(rows["num_agents"].nunique() > 1, f"several numbers of agents after {agents.UPDATES} updates are needed")
    ends = {rows["num_agents"].min(): "fewest agents", rows["num_agents"].max(): "most agents"}
    rows = rows[rows["num_agents"].isin(ends)]
    rows = rows.assign(series=rows["num_agents"].map(ends), rest=np.log(rows["rest"]))
    return cells_of(rows, "series", {}, "rest", "of the logarithm of the rests' ratio", scale=-1)
