"""Bellet et al. 2018, Figure 2c: test accuracy against the number of features, by privacy budget.

Solid lines have the paper's mu, 0.04; dotted ones that which is tuned here for the run without privacy. The updates
per agent are tuned for each budget, on other problem instances. The paper names no solver for the local models. Two are
shown: the exact minimisers of the local objectives, and 100 steps of gradient descent, which come closer to the
published numbers. Expected: non-private > 1.05 > 0.55 > 0.15 > local at every number of features.
"""

import pandas as pd

from bench.analysis import style
from figures.p2p import common, drawing
from figures.p2p.common import AS_PAPER, DESCENT, EXACT, LOCAL, NON_PRIVATE
from figures.shared.derived import derived
from figures.shared.figure import Figure

TUNED: style.Look = {"linestyle": ":", "linewidth": 1.2, "marker": "", "band": False}  # where it is not as in the paper
VARIANTS: dict[str, style.Look] = {"": {}, AS_PAPER: {}, EXACT: {}, DESCENT: drawing.SECOND}
CARRY = [*common.SETTINGS, "lipschitz", *common.EPSILONS]
KEYS = ["series", "variant", "calibration"]


@derived
def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Final accuracy by number of features: local models, private with its settings, without privacy.

    Where tuning chooses another mu than the paper did, the paper's mu is added as a variant.
    """
    rows = pd.concat([common.tuned_runs(runs), common.with_paper_mu(runs)], ignore_index=True)
    accuracy = common.curves(rows, by=KEYS, x="num_features", y="test_accuracy", carry=CARRY)
    return common.labelled(accuracy, rows, "p2p_fig2c")


def draw(table: pd.DataFrame):
    """One panel with a curve for each budget, for local models and for no privacy."""
    table = drawing.within(table)
    look = drawing.looks([NON_PRIVATE, *drawing.budgets(table)[::-1], LOCAL])
    both = bool((table["variant"] == AS_PAPER).any())
    variants = VARIANTS | ({"": TUNED} if both else {})
    figure = drawing.accuracy_by_features(table, look, variants, (11.5, 5.6))
    other_mu = []
    if both:
        look_of_mu = {name: value for name, value in TUNED.items() if name != "band"}
        tuned = common.here(table, series=NON_PRIVATE, variant="")["mu"].iloc[0]
        words = {rf"$\mu$ = {common.PAPER_MU:g}, as in the paper": {}, rf"$\mu$ = {tuned:g}, tuned": look_of_mu}
        other_mu = drawing.variant_handles(words)
    others = [*drawing.local_handles(), *other_mu, *drawing.published_handles(table)]
    return style.finish(
        figure,
        table,
        "Accuracy by dimension and privacy budget (Bellet et al. 2018, Fig. 2c)",
        [drawing.handles({name: line for name, line in look.items() if name != LOCAL}), others],
        common.privacy_note(table),
        "Budgets include the warm start. mu and the updates per agent are tuned on other problem instances (CSV).",
        differs=common.true_note(table),
    )


FIGURE = Figure(
    __doc__, ("p2p_dimensions",), table, draw, apart=("target_epsilon", "budget"), tuned=tuple(common.SETTINGS)
)
