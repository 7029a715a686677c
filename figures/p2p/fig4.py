"""Bellet et al. 2018, Figure 4: purely local models learned from perturbed inputs (local DP), by number of features.

The paper names no solver. Two are shown: the exact minimisers, and 100 steps of gradient descent, which come closer to
the published numbers. The epsilon protects one coordinate of one input: a whole input of p coordinates costs p times as
much, and labels are not protected. Expected: all curves lie far below the local models of unperturbed inputs, and
little above chance where there are many features.
"""

import pandas as pd

from bench.analysis import style
from figures.p2p import common, drawing
from figures.p2p.common import DESCENT, EXACT, LOCAL
from figures.shared.figure import Figure

VARIANTS: dict[str, style.Look] = {EXACT: {}, DESCENT: drawing.SECOND}


def rows_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Final rows of models of perturbed inputs, and of local models, with "series" and "variant"."""
    tested = common.runs_with(runs, instances="test")
    perturbed = [
        rows.assign(series=rows["target_epsilon"].map(common.epsilon_name))
        for rows in common.local_rows(common.runs_with(tested, algorithm="local DP"), algorithm="local DP")
    ]
    return pd.concat([*perturbed, *common.local_rows(tested)], ignore_index=True)


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Final accuracy by epsilon of a coordinate and number of features; epsilon_true is for a data point with label."""
    rows = rows_of(runs)
    accuracy = common.curves(
        rows, by=["series", "variant", "privacy_unit"], x="num_features", y="test_accuracy", carry=common.EPSILONS
    )
    return common.labelled(accuracy.drop(columns="privacy_unit"), rows, "p2p_fig4")


def draw(table: pd.DataFrame):
    """One panel with a curve for each epsilon of a coordinate."""
    table = drawing.within(table)
    look = drawing.looks([*drawing.budgets(table)[::-1], LOCAL])
    measured, others = common.here(table), [*drawing.variant_handles(VARIANTS), *drawing.published_handles(table)]
    return style.finish(
        drawing.accuracy_by_features(table, look, VARIANTS),
        table,
        "Local models from perturbed inputs, local DP (Bellet et al. 2018, Fig. 4)",
        [drawing.handles(look, {LOCAL: "inputs as they are"}), others],
        common.coordinate_note(measured[measured["series"] != LOCAL]),
        differs="Epsilon protects one coordinate of one input, and no label; the paper names no solver.",
    )


FIGURE = Figure(__doc__, ("p2p_dimensions",), table, draw)
