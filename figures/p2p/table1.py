"""Bellet et al. 2018, Table 1: error of predicted ratings on MovieLens-100K, mean over users of the RMSE of each.

The five rows of the paper come first, private ones with Laplace noise and C = 10 from a warm start within the budget.
Further rows follow: the error of each user's mean rating, which uses nothing about films, and private runs with other
clipping norms, other noise and other starts, or with one release that has the whole budget and is smoothed over the
graph. Settings are tuned on a split of the training ratings. Local models are the worst in the paper, with 1.2834,
but not here: the exact minimisers of the local objectives have a lower error than the users' means, and a lower one
than the private runs that start from these means. Expected: 0.9502 without privacy, close to it at epsilon 1, and a
larger error as epsilon falls.
"""

from collections.abc import Sequence

import pandas as pd

from bench.analysis import select, style, tables
from figures.p2p import common
from figures.p2p.common import LOCAL, NON_PRIVATE
from figures.p2p.published import published
from figures.shared.derived import derived
from figures.shared.figure import Figure
from figures.shared.margins import need
from figures.shared.runs import ended

USER_MEAN = "user mean"
CLIP_NORM = 10.0  # of the paper
OVER = ["num_updates", "clip_norm", "mu", "start_share", "start_step_size"]
STARTS = {"propagation": "warm start within the budget", "zero": "from user means", "alone": common.ONCE}
AS_PAPER = f"Laplace, C = {CLIP_NORM:g}, {STARTS['propagation']}"  # the variant of the paper's private rows
MECHANISMS = {"laplace": "Laplace", "gaussian": "Gaussian"}


def tuned(rows: pd.DataFrame, over: Sequence[str] = OVER) -> pd.DataFrame:
    """Final rows of private runs on test ratings, for each budget at the settings that are best on validation ratings.

    Raises:
        InputError: where runs on test or on validation ratings are missing.
    """
    return common.tuned_elsewhere(rows, ["budget"], over, "test_rmse", "min")


def start_alone(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of one smoothed release: a warm start that has the whole budget, without updates after it."""
    rows = runs[common.matching(runs, algorithm=common.ONE_RELEASE)]
    if rows.empty:
        return rows
    return rows.assign(start="alone", start_share=1.0, start_step_size=rows["step_size"], num_updates=0.0)


@derived
def private(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the tuned rows of private runs, with "series" and "variant".

    Variants: each start; Laplace noise at the paper's clipping norm, and either noise with the norm tuned as well.
    """
    rows = pd.concat([common.runs_with(runs, algorithm="private CD"), start_alone(runs)], ignore_index=True)
    frames = []
    for mechanism, norm in (("laplace", CLIP_NORM), ("laplace", None), ("gaussian", None)):
        for start, words in STARTS.items():
            part = rows[(rows["mechanism"] == mechanism) & (rows["start"] == start)]
            if norm is not None:
                part = part[part["clip_norm"] == norm]
            if len(part):
                best = tuned(part)
                variant = f"{MECHANISMS[mechanism]}, C {'tuned' if norm is None else f'= {norm:g}'}, {words}"
                frames.append(best.assign(series=best["budget"].map(common.epsilon_name), variant=variant))
    need(frames, "no private run on MovieLens with a noise and a start of the table: run the whole sweep")
    return pd.concat(frames, ignore_index=True)


@derived
def final_rows(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the final rows of the table, one per repetition, with "series" and "variant"."""
    tested = common.runs_with(runs, instances="test")
    local = ended(common.runs_with(tested, algorithm="local"))
    free = ended(common.runs_with(tested, algorithm="CD"))
    frames = [
        local.assign(series=LOCAL, variant=common.EXACT),
        local.assign(series=USER_MEAN, variant="not in the paper", test_rmse=local["user_mean_rmse"]),
        free.assign(series=NON_PRIVATE, variant=""),
        private(runs).sort_values("budget", ascending=False, kind="stable"),
    ]
    return pd.concat(frames, ignore_index=True)


@derived
def table(runs: pd.DataFrame) -> pd.DataFrame:
    """RMSE by row of the table, with its interval, the published value, and the difference to it."""
    rows = final_rows(runs)
    keys = ["series", "variant"]
    order = rows[keys].drop_duplicates()
    rmse = select.interval(rows, by=keys, value="test_rmse")
    largest = rows.groupby(keys)[[*OVER, *common.EPSILONS]].max().reset_index()
    paper = published("p2p_table1").set_index("series")["y"].rename("published")
    first = order["series"].isin([LOCAL, NON_PRIVATE]) | order["variant"].eq(AS_PAPER)
    order = pd.concat([order[first], order[~first]], ignore_index=True).assign(of_paper=sorted(first, reverse=True))
    rmse = order.merge(rmse, on=keys).merge(largest, on=keys).join(paper, on="series")
    return common.from_here(rmse.assign(difference=rmse["test_rmse"] - rmse["published"]), rows)


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the columns and words for a reader."""
    measured = table[["test_rmse", "low", "high"]]
    return pd.DataFrame(
        {
            "": [
                "further: " * (not own) + " ".join(filter(None, (series, f"({variant})" * bool(variant))))
                for series, variant, own in table[["series", "variant", "of_paper"]].itertuples(index=False)
            ],
            "RMSE, mean over users": [tables.with_interval(*row, metric="test_rmse") for row in measured.to_numpy()],
            "published": [tables.number(value) for value in table["published"]],
            "difference": [tables.number(value, "+.4f") for value in table["difference"]],
            "updates": [tables.number(value, "g") for value in table["num_updates"]],
            "C": [tables.number(value, "g") for value in table["clip_norm"]],
            "ε spent": [tables.number(value, ".3g") if value > 0 else "" for value in table["epsilon_true"]],
        }
    )


def draw(table: pd.DataFrame):
    """The paper's rows as a picture; the other rows are in the Markdown only."""
    figure = tables.draw(
        printed(table[table["of_paper"].astype(bool)]),
        "Per-user test RMSE on MovieLens-100K (Bellet et al. 2018, Table 1)",
    )
    style.footer(
        figure,
        table,
        common.privacy_note(table),
        "Settings are chosen on a split of the training ratings.",
        differs="Where private runs start is ours, the paper does not say. As there, features of films are from all "
        "training ratings, which no epsilon here covers.",
        bands="brackets",
    )
    return figure


FIGURE = Figure(__doc__, ("p2p_movielens",), table, draw, printed=printed)
