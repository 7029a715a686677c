"""One look for all figures."""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

plt.rcParams.update(
    {
        "figure.dpi": 100,
        "savefig.dpi": 160,
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.spines.top": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.5,
        "legend.frameon": False,
        "pdf.fonttype": 42,
    }
)

# Local learning grey, global black-blue, in between from light to dark: the order of a is the order of tones.
PERSONALIZATION_COLORS = {
    0.0: "#8c8c8c",
    0.1: "#e6a532",
    0.3: "#e07b39",
    1.0: "#c8443c",
    3.0: "#a02c6b",
    10.0: "#7a3b9a",
    30.0: "#5a4fb0",
    100.0: "#3c78b4",
    math.inf: "#12355b",
}
EPSILON_COLOR = "#2a8a4a"


def personalization_label(a: float) -> str:
    """The paper's legend: alpha Q."""
    if a == 0:
        return r"$\alpha Q = 0$ (local)"
    if math.isinf(a):
        return r"$\alpha Q = \infty$ (global)"
    return rf"$\alpha Q = {a:g}$"


def personalization_handles(curves: Iterable[float], **look) -> list[Line2D]:
    """Legend entries of the curves."""
    return [Line2D([], [], color=PERSONALIZATION_COLORS[a], label=personalization_label(a), **look) for a in curves]


def head(figure: Figure, title: str, handles: Sequence[Line2D]) -> None:
    """Title and legend above the panels, at the same distance whatever the figure's height."""
    height = figure.get_figheight()
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.55 / height))
    figure.suptitle(title, y=1 - 0.05 / height, va="top", fontsize=11)
    figure.legend(
        handles=handles, loc="upper center", ncol=len(handles), bbox_to_anchor=(0.5, 1 - 0.27 / height), fontsize=8.5
    )


def present(table: pd.DataFrame, column: str, order: Iterable) -> list:
    """The values of `order` that occur in the column, in that order."""
    return [value for value in order if (table[column] == value).any()]


def curve(ax: Axes, table: pd.DataFrame, x: str, y: str, *, color: str, **look) -> None:
    """A line with its interval as a band."""
    table = table.sort_values(x)
    ax.plot(table[x], table[y], color=color, **look)
    ax.fill_between(table[x], table["low"], table["high"], color=color, alpha=0.18, linewidth=0)


def plain_log_ticks(axis) -> None:
    """Ticks at 1, 2 and 5 of each decade, written as plain numbers."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def footer(figure: Figure, facts: Mapping[str, str], *notes: str) -> None:
    """Source, scale and how to read the figure, under it."""
    text = (
        f"Data: {facts['source']} (task {facts['task']}). Scale: {facts['scale']}, "
        f"{facts['repetitions']} repetitions; bands are 95 % intervals of the mean over them. " + " ".join(notes)
    )
    width = int(figure.get_figwidth() * 17)
    figure.text(0.01, -0.01, "\n".join(textwrap.wrap(text, width)), fontsize=7.5, color="#444444", va="top")


def save(figure: Figure, table: pd.DataFrame, folder: Path, name: str) -> list[Path]:
    """PNG, PDF and the numbers behind them as CSV; nothing in them depends on the hour."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in ("png", "pdf", "csv")]
    figure.savefig(paths[0], bbox_inches="tight", metadata={"Software": None})
    figure.savefig(paths[1], bbox_inches="tight", metadata={"CreationDate": None, "Producer": None, "Creator": None})
    plt.close(figure)
    table.to_csv(paths[2], index=False, float_format="%.6g")
    return paths
