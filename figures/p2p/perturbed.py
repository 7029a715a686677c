"""Bellet et al. 2018, appendix D.1 examined (not drawn there): learning from perturbed inputs, together and alone.

The paper says that its collaborative learning on the perturbed inputs did not improve significantly on the local models
of Figure 4, and gives no numbers. Here coordinate descent on the common objective of the perturbed inputs starts from
the local models and makes 20 updates per agent on average. mu weights the agents' own inputs against their neighbours:
it is the paper's 0.04 in one curve, and in the other it is tuned on other problem instances for every number of
features and epsilon. Expected by the paper: the curves of one epsilon coincide.
"""

import pandas as pd

from bench.analysis import style
from figures.p2p import common, drawing
from figures.p2p.common import PAPER_MU
from figures.shared import edges
from figures.shared.figure import Figure
from figures.shared.runs import ended

ALONE, AS_PAPER, TUNED = "alone", f"together, mu = {PAPER_MU:g}", "together, mu tuned"
VARIANTS: dict[str, style.Look] = {ALONE: {"linestyle": ":"}, AS_PAPER: drawing.SECOND, TUNED: {}}
P, Y = "num_features", "test_accuracy"


def rows_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Final rows on the instances to test on, with "series" and "variant"."""
    together = common.runs_with(runs, algorithm="together")
    variants = {
        ALONE: ended(common.runs_with(runs, algorithm="alone")),
        AS_PAPER: ended(common.runs_with(together, instances="test", mu=PAPER_MU)),
        TUNED: common.tuned_elsewhere(together, [P, "target_epsilon"], ["mu"]),
    }
    rows = pd.concat([rows.assign(variant=name) for name, rows in variants.items()], ignore_index=True)
    return rows.assign(series=rows["target_epsilon"].map(common.epsilon_name))


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Final accuracy and mu by epsilon of a coordinate, number of features and way of learning; epsilon_true is for a
    data point with its label."""
    rows = rows_of(runs)
    carry = ["mu", "edge", *common.EPSILONS]
    rows["edge"] = rows["edge"].fillna("")
    accuracy = common.curves(rows, by=["series", "variant"], x=P, y=Y, carry=carry)
    return common.from_here(accuracy, runs)


def draw(table: pd.DataFrame):
    """One panel with a curve for each way of learning and epsilon of a coordinate."""
    look, tuned = drawing.looks(drawing.budgets(table)[::-1]), table[table["variant"] == TUNED]
    return style.finish(
        drawing.accuracy_by_features(table, look, VARIANTS),
        table,
        "Learning together from perturbed inputs (Bellet et al. 2018, appendix D.1)",
        [drawing.handles(look), drawing.variant_handles(VARIANTS)],
        common.coordinate_note(table),
        f"Tuned on other problem instances: mu = {', '.join(f'{mu:g}' for mu in sorted(tuned['mu'].unique()))}.",
        edges.note(tuned, "values of mu"),
        differs="Epsilon protects one coordinate of one input, and no label. The paper has no numbers for this.",
    )


FIGURE = Figure(__doc__, ("p2p_perturbed",), table, draw)
