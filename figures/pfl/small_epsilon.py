"""Why the columns at epsilon 1.2 of Bhaskar et al. 2025 are above ours: accuracy by split and settings.

SN+CNN at the noise of epsilon 1.2, 1.5 and 2; at 1.2 with larger batches; and at 1.2 with shorter steps. A setting
explains the difference if its curve matches the published one, in black, at every split.
"""

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import style
from figures.pfl import common
from figures.shared.figure import Figure

AS_PUBLISHED = 1.2
SETTING = ["target_epsilon", "batch_size", "step_size"]
PUBLISHED: style.Look = {"color": "black", "linestyle": "--", "linewidth": 2.0, "zorder": 3}
# Less noise blue, larger batches red, shorter steps green.
LOOKS: dict[tuple[float, int, float], style.Look] = {
    (1.2, 64, 0.3): {"color": "#12355b", "marker": "o"},
    (1.5, 64, 0.3): {"color": "#3c78b4", "marker": "^"},
    (2.0, 64, 0.3): {"color": "#8fb8de", "marker": "s"},
    (1.2, 80, 0.3): {"color": "#f0a8a3", "marker": "v"},
    (1.2, 96, 0.3): {"color": "#e07b74", "marker": "P"},
    (1.2, 128, 0.3): {"color": "#c8443c", "marker": "D"},
    (1.2, 64, 0.2): {"color": "#7fb894", "marker": "<"},
    (1.2, 64, 0.1): {"color": "#2a8a4a", "marker": ">"},
}


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by data set, epsilon, batch size, step size and split, beside the published one at epsilon 1.2."""
    rows = common.finished(runs)
    cells = common.published_tables("pfl_table2", "pfl_table3")
    cells = cells[cells["target_epsilon"] == AS_PUBLISHED].drop(columns="target_epsilon")
    keys = [name for name in common.CELL if name != "target_epsilon"]
    out = common.averaged(rows, "batch_size", "step_size").merge(cells[[*keys, "published"]], on=keys, how="left")
    return out.assign(**common.facts(rows))


def draw(table: pd.DataFrame):
    """A panel for each data set."""
    names = style.present(table, "dataset", common.DATASETS)
    figure, axes = style.subplots(1, len(names), figsize=(4.6 * len(names) + 0.9, 4.2), squeeze=False, sharey=True)
    for ax, rows, (name,) in style.panels(axes, table, dataset=names):
        known = rows.drop_duplicates("num_epochs").sort_values("num_epochs")
        ax.plot(known["num_epochs"], known["published"], **PUBLISHED)
        for setting, look in LOOKS.items():
            line = rows[(rows[SETTING].astype(float) - pd.Series(setting, SETTING)).abs().lt(1e-6).all(axis=1)]
            style.curve(ax, line, "num_epochs", "test_accuracy", **look)
        style.ticks(ax, sorted(rows["num_epochs"].unique()))
        ax.set_title(f"{name}, {rows['algorithm'].iloc[0]}")
        style.percent(ax.yaxis)
    style.label(axes, "local epochs of a round $E$", "test accuracy")
    shown = set(table.loc[table["test_accuracy"].notna(), SETTING].itertuples(index=False, name=None))
    handles = [Line2D([], [], label=_label(*setting), **look) for setting, look in LOOKS.items() if setting in shown]
    published = Line2D([], [], label=rf"published, $\varepsilon$ = {AS_PUBLISHED:g}", **PUBLISHED)
    return style.finish(
        figure,
        table,
        r"Settings near $\varepsilon$ = 1.2 beside the published accuracy (Bhaskar et al. 2025)",
        [[*handles, published]],
        common.privacy_note(table),
        common.training_note(table),
        differs="L is the expected batch size; the paper's settings are those of the first curve.",
    )


def _label(epsilon: float, batch_size: int, step_size: float) -> str:
    """Return the setting, as far as it differs from the published one, and epsilon."""
    parts = [common.epsilon_symbol(epsilon)]
    parts += [f"$L$ = {batch_size}"] * (batch_size != 64) + [f"step {step_size:g}"] * (step_size != 0.3)
    return ", ".join(parts)


FIGURE = Figure(__doc__, ("pfl_small_epsilon",), table, draw)
