"""The table of a comparison: score, rank and paired difference to the best baseline at each epsilon."""

import re
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select, significance, tables
from bench.analysis.measured import PANEL, methods_by_epsilon, titles
from bench.comparison.columns import COSTS, TUNED
from bench.comparison.population import FACTOR, WHAT
from bench.ranking import SIGN, over_best_baseline


def table(
    runs: pd.DataFrame,
    *,
    problem: str,
    title: str,
    metric: str,
    best: str,
    baselines: Sequence[str],
    num_settings: Mapping[str, int],
    against: Mapping[str, str],
    test_ratio: float = 0.0,
    num_tests: float = 0,
) -> pd.DataFrame:
    """Return one row per method and epsilon.

    Args:
        runs: one row per method, epsilon and split, as in `bench.comparison.result.Comparison`.
        problem: what the methods are compared on, by the name that --task has for it.
        title: the same, followed by what the data are.
        metric: the column of the test metric.
        best: "max" or "min".
        baselines: names of the methods that differences are taken to.
        num_settings: number of settings tried for each method.
        against: name of a method -> whom its privacy statement protects against.
        test_ratio, num_tests: of the problem, see `bench.comparison.problem.Problem`.

    Returns:
        algorithm, privacy unit and relation, target_epsilon, the metric with low, high and repetitions; rank among the
        methods at this epsilon, 1 being the best, NaN where a run diverged; best_baseline at this epsilon, and gain:
        the mean over splits of the paired improvement over it, with gain_low and gain_high (95 %, Student's t, of this
        difference alone), which allow for splits that share their data; gain_error_users: the standard error of the
        gain due to the choice of users, which the interval then includes, NaN where the task has no users or does not
        report their scores; gain_p, which allows for the choice of the best baseline (`bench.analysis.significance`),
        and decided: whether the difference is significant, after Holm's correction for all of the table, with
        FEWEST_SPLITS or more; floats_up, gradients and examples of a run, summed over clients, mean over splits;
        tuned_epsilon, see `bench.comparison.stages.cost_columns`; settings_tried; test_ratio and num_tests as given;
        reveals_nothing; is_baseline; not_private, for methods that are not private and were only run without noise.
        Methods that release nothing appear at every epsilon.
    """
    rows = at_every_epsilon(runs)
    by = [*PANEL, "target_epsilon", "algorithm"]  # the first two have one value each
    out = select.interval(rows, by=by, value=metric)
    out["rank"] = (SIGN[best] * out[metric]).groupby(out["target_epsilon"]).rank(ascending=False, method="min")
    facts = {"test_ratio": test_ratio, "num_tests": num_tests}
    with_gains = [
        over_best_baseline(group, rows[rows["target_epsilon"] == epsilon], metric, best, baselines, **facts)
        for epsilon, group in out.groupby("target_epsilon", sort=True)
    ]
    out = pd.concat(with_gains, ignore_index=True)
    out["decided"] = significance.decided(out["gain_p"].to_numpy(float), out["repetitions"].to_numpy())
    priced = rows.reindex(columns=[*by, *COSTS, TUNED]).groupby(by)
    out = out.join(priced[COSTS].mean().join(priced[TUNED].max(skipna=False)), on=by)
    out["settings_tried"] = out["algorithm"].map(num_settings)
    out["reveals_nothing"] = out["algorithm"].isin(runs.loc[runs["target_epsilon"] == 0, "algorithm"])
    # The choice by scores of clients' data is all that such a method reveals, and no result covers it.
    out[TUNED] = out[TUNED].mask(out["reveals_nothing"], np.where(out["settings_tried"] > 1, np.nan, 0.0))
    out["is_baseline"] = out["algorithm"].isin(baselines)
    out["not_private"] = ~out["algorithm"].isin(runs.loc[np.isfinite(runs["target_epsilon"]), "algorithm"])
    out["against"] = out["algorithm"].map(against)
    stated = {"metric": metric, "best": best, "delta": rows["delta"].iloc[0]}
    return out.assign(**stated, **facts, problem=problem, title=title, **select.where_from(rows))


def at_every_epsilon(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs, with those of methods that release nothing repeated at every epsilon."""
    silent = runs[runs["target_epsilon"] == 0]
    others = runs[runs["target_epsilon"] > 0]
    copies = [silent.assign(target_epsilon=epsilon) for epsilon in others["target_epsilon"].unique()]
    return pd.concat([others, *copies] if copies else [silent], ignore_index=True)


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the printed table, methods by epsilon: mean [interval], (rank), and gain over the best baseline there
    [interval]."""

    def cell(row: dict) -> str:
        form = tables.digits_for(row["metric"])
        score = tables.with_interval(row[row["metric"]], row["low"], row["high"], form, row["metric"])
        rank = "" if np.isnan(row["rank"]) else f" (rank {row['rank']:.0f})"
        if row["algorithm"] == row["best_baseline"]:
            gain = "best baseline"
        elif np.isnan(row["gain"]):
            gain = ""
        else:
            numbers = tables.with_interval(row["gain"], row["gain_low"], row["gain_high"], f"+{form}")
            gain = f"gain {numbers}{'*' if row['decided'] else ''}"
        return ", ".join(filter(None, (f"{score}{rank}", gain)))

    return methods_by_epsilon(table, cell)


def brief(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table for a terminal, methods by epsilon: mean ± half the width of its interval, and rank. The methods
    that are compared with baselines come first, after a ">"."""

    def cell(row: dict) -> str:
        rank = "" if np.isnan(row["rank"]) else f" ({row['rank']:.0f})"
        return f"{_with_half(row)}{rank}"

    return methods_by_epsilon(_marked(table, ">"), cell)


def latex(table: pd.DataFrame, width: float) -> str:
    """Return the table for a paper, in parts that fit a width in inches: mean ± half the width of its interval.

    The methods that are compared with baselines come first, after a star. The caption is in a comment.
    """

    def cell(row: dict) -> str:
        if np.isnan(row["rank"]):
            return "diverged"
        text = _with_half(row).replace("±", r"\pm ")
        text = re.sub(r"e([+-]\d+)", lambda exponent: rf"\mathrm{{e}}{{{int(exponent[1])}}}", text)
        return rf"$\mathbf{{{text}}}$" if row["rank"] == 1 else f"${text}$"

    cells = methods_by_epsilon(_marked(table, r"$\star$"), cell)
    caption = f"{_scores(table)}; the best in bold. {privacy(table)}"
    caption = caption.replace("%", r"\%")
    return f"% {caption}\n{tables.latex(cells, tables.PAGE * width / tables.PAGE_INCHES)}"


def _marked(table: pd.DataFrame, mark: str) -> pd.DataFrame:
    """Return the table with the methods that are compared with baselines first, and a mark before their names."""
    if not table["is_baseline"].any():
        return table
    marked = table["algorithm"].where(table["is_baseline"], mark + " " + table["algorithm"])
    return table.assign(algorithm=marked).sort_values("is_baseline", kind="stable")


def _with_half(row: Mapping[str, Any]) -> str:
    """Return a mean, ± half the width of its interval."""
    form = ".3f" if tables.digits_for(row["metric"]) == ".4f" else ".3g"
    half = (row["high"] - row["low"]) / 2
    interval = f" ±{tables.number(half, '.3f' if form == '.3f' else '.2g')}" if np.isfinite(half) else ""
    return f"{tables.number(row[row['metric']], form, 'diverged')}{interval}"


def in_a_line(table: pd.DataFrame, label: str) -> str:
    """Return the ranks of a method, and its difference to the best baseline at the largest epsilon, in words."""
    rows = table[table["algorithm"] == label].dropna(subset="rank").sort_values("target_epsilon")
    rows = rows[np.isfinite(rows["target_epsilon"])] if np.isfinite(rows["target_epsilon"]).any() else rows
    if rows.empty:
        return f"{label} diverged everywhere"
    ranks = ", ".join(f"{rank:.0f}" for rank in rows["rank"])
    places = ", ".join(f"{epsilon:g}" for epsilon in rows["target_epsilon"])
    line, last = f"{label}: rank {ranks} of {table['algorithm'].nunique()} at ε = {places}", rows.iloc[-1]
    if np.isnan(last["gain"]):
        return line
    ahead = last["gain"] > 0
    low, high = (last["gain_low"], last["gain_high"]) if ahead else (-last["gain_high"], -last["gain_low"])
    return (
        f"{line}. At ε = {last['target_epsilon']:g} it is {'ahead of' if ahead else 'behind'} "
        f"{last['best_baseline']} by {tables.with_interval(abs(last['gain']), low, high, '.3g')}, "
        f"which is {'' if last['decided'] else 'not '}significant"
    )


def brief_text(table: pd.DataFrame, notes: Sequence[str] = ()) -> str:
    """Return the table for a terminal, with a sentence above it and notes below, in lines that fit."""
    width = shutil.get_terminal_size((100, 24)).columns
    lines = [
        textwrap.fill(line, width, break_long_words=False)
        for line in (f"{_scores(table)}, and in brackets the rank", *notes)
    ]
    return "\n\n".join(filter(None, (lines[0], tables.plain(brief(table), width), "\n".join(lines[1:]))))


def _scores(table: pd.DataFrame) -> str:
    """Return what the numbers of the brief table are."""
    first = table.iloc[0]
    better = "larger" if first["best"] == "max" else "smaller"
    return (
        f"{extrapolated(table)}{first['metric']} on the test data of {data_of(table)}, {better} is better: mean over "
        f"{splits_of(table)}, ± half the width of its 95 % interval"
    )


def extrapolated(table: pd.DataFrame) -> str:
    """Return a sentence where the noise is that of more users than exist."""
    return WHAT.format(factor=table[FACTOR].iloc[0]) if FACTOR in table else ""


def costs(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cost of a run of each method: numbers that clients send, per-example gradients, examples, and, for
    each epsilon, the epsilon including the choice of the setting. Costs that a method does not declare are empty."""
    title_of, rows = titles(table), []
    for name, of_method in table.groupby("algorithm", sort=False):
        private = of_method[np.isfinite(of_method["target_epsilon"]) & ~of_method["reveals_nothing"]]
        row = {"method": title_of[str(name)]}
        for column in COSTS:
            low, high = (f"{value:.3g}" for value in (of_method[column].min(), of_method[column].max()))
            row[column.replace("_", " ")] = "" if low == "nan" else low if low == high else f"{low} to {high}"
        row |= {
            f"tuned, ε = {epsilon:g}": "" if np.isnan(spent) else f"{spent:.3g}"
            for epsilon, spent in private[["target_epsilon", TUNED]].itertuples(index=False)
        }
        rows.append(row)
    return pd.DataFrame(rows).fillna("")


def data_of(table: pd.DataFrame) -> str:
    """Return the problem, followed by the name of its data where that is another one: "digits (mnist_by_writer)"."""
    problem, task = table[["problem", "task"]].iloc[0]
    return problem if task == problem else f"{problem} ({task})"


def splits_of(table: pd.DataFrame) -> str:
    """Return the number of splits in words."""
    numbers = sorted(set(table["repetitions"].astype(int)))
    return f"{' to '.join(map(str, numbers))} split{'s' * (numbers != [1])}"


def privacy(table: pd.DataFrame) -> str:
    """Sentences on what epsilon protects, against whom, under which relation and at which delta; methods whose epsilon
    holds against another adversary than that of the others are named."""
    of_method = table[~table["reveals_nothing"]].drop_duplicates("algorithm").set_index("algorithm")["against"]
    of_method = of_method if len(of_method) else table["against"].head(1)
    counts = [of_method, table["against"]]  # of equally many, that of the methods that release nothing
    usual = max(dict.fromkeys(of_method), key=lambda words: [int((column == words).sum()) for column in counts])
    different = of_method[of_method != usual]
    others = [f" {', '.join(map(str, names.index))}: against {words}." for words, names in different.groupby(different)]
    unit, relation = table[PANEL].iloc[0]
    return (
        f"Privacy: one {unit} ({relation}), against {usual}, at delta = {table['delta'].iloc[0]:.2g}.{''.join(others)}"
    )
