"""Figures 2 and 3 of Gao et al. 2024: test error against epsilon, with answers from all silos or from 18 of 25."""

from functools import partial

import numpy as np
import pandas as pd

from bench.analysis import select, style
from figures.isrl import common
from figures.isrl.common import EXACT, FIXED_ROUNDS, LOCALIZED, LOOKS, MULTI_PASS, ONE_PASS, PUBLISHED, SILENT, WIDE
from figures.shared.figure import Figure

SWEEP = "isrl_odd_even"
ALL, SOME = 25, 18  # silos that answer in a round, of 25
ANSWERING = {ALL: "all silos answer (Gao et al. 2024, Fig. 2)", SOME: "18 of 25 silos answer (Gao et al. 2024, Fig. 3)"}
SOLID = [ONE_PASS, LOCALIZED, MULTI_PASS]
TITLES = {
    PUBLISHED: "noise by the authors' zCDP form: equal nominal $\\varepsilon$",
    EXACT: "noise calibrated exactly: equal exact $\\varepsilon$",
}


def table(runs: pd.DataFrame, num_sampled: int) -> pd.DataFrame:
    """Test error by curve, calibration and target epsilon, with the settings chosen."""
    out = common.over_trials(common.errors(runs, num_sampled))
    return out.assign(num_sampled=num_sampled, delta=runs["delta"].iloc[0], **select.where_from(runs))


def draw(table: pd.DataFrame):
    """A panel for each calibration; error bars are standard deviations over trials, bands intervals of the mean."""
    figure, axes = style.subplots(1, 2, figsize=(11, 5.2), sharey=True)
    order = style.present(table, "series", LOOKS)
    for ax, panel, (calibration,) in style.panels(axes, table, calibration=list(TITLES)):
        silent = table[(table["calibration"] == SILENT) & table["series"].isin(panel["series"])]
        _panel(ax, panel, silent, order)
        ax.set_title(TITLES[calibration])
    axes[0].set_ylabel("test error, all silos together")
    axes[0].set_yscale("log")  # with 35 rounds the error at the smallest epsilon is twice the others
    style.percent(axes[0].yaxis)
    solid, number = table[table["series"].isin(SOLID)], table["num_sampled"].iloc[0]
    return style.finish(
        figure,
        table,
        f"MNIST odd/even in 25 silos, {ANSWERING.get(number, f'{number} of 25 silos answer')}",
        [style.handles(table, "series", LOOKS)],
        "Each trial has the setting with the lowest mean training loss over "
        f"{table['runs_each'].max():.0f} runs, among {common.tried(solid)} (solid). {_dashed_note(table)}",
        common.privacy_note(table),
        differs="Bars: standard deviations over trials; in brackets the exact epsilon. Settings and values of epsilon "
        "are ours: the paper names neither. Only one-pass and localized MB-SGD are in the paper.",
    )


def _dashed_note(table: pd.DataFrame) -> str:
    """Return a note on the dashed curves: how many settings each was chosen among, and in what it differs."""
    notes = {WIDE: "in the wide search", FIXED_ROUNDS: "with 35 rounds"}
    shown = {name: table[table["series"] == name] for name in style.present(table, "series", notes)}
    parts = [f"{common.tried(rows)} {notes[name]}" for name, rows in shown.items()]
    return f"Dashed: {' and '.join(parts)}." if parts else ""


def _panel(ax, panel: pd.DataFrame, silent: pd.DataFrame, order) -> None:
    for number, name in enumerate(sorted(order, key=lambda name: not LOOKS[name]["marker"])):
        line, look = panel[panel["series"] == name].sort_values("target_epsilon"), LOOKS[name]
        line = line.assign(x=line["target_epsilon"] * 1.012 ** (number - 1))
        style.curve(ax, line, "x", "test_error", band=bool(look["marker"]), **look)
        if look["marker"] and np.isfinite(line["std"]).any():
            ax.errorbar(
                line["x"], line["test_error"], line["std"], fmt="none", color=look["color"], linewidth=0.8, capsize=2
            )
    if not ax.lines:
        style.nothing(ax, panel)
        return
    ax.set_xscale("log")
    exact = panel.groupby("target_epsilon")["epsilon_exact"].mean()
    words = [
        f"{target:g}" + ("" if np.isclose(target, spent, rtol=1e-2) else f"\n({spent:.2g})")
        for target, spent in zip(exact.index, exact, strict=True)
    ]
    places = list(exact.index)
    if len(silent):
        places.append(places[-1] * 2.0)
        words.append("no\nnoise")
        for number, name in enumerate(order):
            end = silent[silent["series"] == name]
            x, look = [places[-1] * 1.1 ** (number - (len(order) - 1) / 2)] * len(end), LOOKS[name]
            ax.plot(x, end["test_error"], linestyle="", color=look["color"], marker=look["marker"] or "_")
            if look["marker"]:
                ax.errorbar(x, end["test_error"], end["std"], fmt="none", color=look["color"], linewidth=0.8, capsize=2)
    ax.set_xticks(places, words)
    ax.minorticks_off()
    ax.set_xlabel(r"$\varepsilon$")


def figure_of(number: int, num_sampled: int, answering: str) -> Figure:
    """Return the figure of this number in the paper, for a number of silos that answer; a user's own runs may have one
    other."""

    def own(runs: pd.DataFrame) -> Figure:
        counts = runs["num_sampled"].unique()
        return figure._replace(table=partial(table, num_sampled=counts[0] if len(counts) == 1 else num_sampled))

    shown = partial(table, num_sampled=num_sampled)
    about, apart = ABOUT.format(number, answering), ("target_epsilon", "calibration", "num_sampled")
    figure = Figure(about, (SWEEP,), shown, draw, apart=apart, tuned=tuple(common.SETTING), own=own)
    return figure


ABOUT = """\
Gao et al. 2024, Figure {}: test error against epsilon on MNIST odd/even, {}.

Localized MB-SGD is compared with one-pass MB-SGD. Multi-pass MB-SGD, which is not in the paper, separates the gain from
phases from the gain from several passes. Expected by the paper: localized below one-pass at every epsilon.
"""
FIGURE_2 = figure_of(2, ALL, "all 25 silos answer in every round")
FIGURE_3 = figure_of(3, SOME, "18 random silos of 25 answer in a round")
