"""Bietti et al. 2022, section 5: users of unequal size, by Algorithms 1, 2 and 3, sampled two ways.

The paper has no such experiment. Expected: Algorithm 2 is made for the risk weighted by sizes and Algorithm 3 for the
average over users; at equal epsilon Algorithm 2 needs more noise, since a single user's sum can be large.
"""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.shared.figure import Figure
from figures.shared.runs import WHOLE, ended, not_empty

RISKS = {"excess_risk": "average over users", "weighted_risk": "weighted by the users' numbers of examples"}
LOOKS: dict[str, style.Look] = {
    "Algorithm 1": {"color": "#8c8c8c", "marker": "x"},
    "Algorithm 2, poisson": {"color": "#c8443c", "marker": "o"},
    "Algorithm 2, fixed": {"color": "#c8443c", "marker": "^", "linestyle": ":"},
    "Algorithm 3, poisson": {"color": "#3c78b4", "marker": "s"},
    "Algorithm 3, fixed": {"color": "#3c78b4", "marker": "v", "linestyle": ":"},
}
NAMES = {
    "Algorithm 1": "Algorithm 1: all users, means",
    "Algorithm 2, poisson": "2 with Poisson samples, sums",
    "Algorithm 2, fixed": "2 with fixed-size samples",
    "Algorithm 3, poisson": "3 with Poisson samples, means",
    "Algorithm 3, fixed": "3 with fixed-size samples",
}


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return each risk by algorithm and noise, at the personalisation, clipping norm and step where it is the lowest,
    and the epsilon of the sampling that was done; local learning as a line of its own."""
    last = ended(runs[runs["algorithm"].isin(LOOKS)])
    not_empty(last[last["personalization"] > 0], f"no runs with personalization > 0: {WHOLE}")
    setting = ["personalization", "clip_norm", "step_size"]
    last = last.assign(setting=last.groupby(setting).ngroup())
    local, shared = last["personalization"] == 0, last["personalization"] > 0
    frames = []
    for risk in RISKS:
        for name, rows, by in (
            ("shared", last[shared], ["algorithm", "noise_multiplier"]),
            ("local", last[local], ["algorithm"]),
        ):
            if rows.empty:
                continue
            chosen = select.tune(rows, by=by, over="setting", on=risk, best="min", log=True)
            part = select.interval(chosen, by=[*by, *setting], value=risk, log=True).rename(
                columns={risk: "risk_value"}
            )
            spent = chosen.groupby(by)[["epsilon", "epsilon_sampler"]].mean().reset_index()
            frames.append(part.merge(spent, on=by).assign(risk=risk, curve=name))
    out = pd.concat(frames, ignore_index=True)
    fixed = out["algorithm"].str.endswith("fixed")
    sound = np.where(fixed, out["epsilon_sampler"], out["epsilon"])
    return out.assign(sound_epsilon=sound, mean="geometric", **select.where_from(runs))


def draw(table: pd.DataFrame):
    """A panel for each risk against epsilon, and one with epsilon against the noise."""
    figure, axes = style.subplots(1, 3, figsize=(14, 4.6))
    for ax, (risk, words) in zip(axes, RISKS.items(), strict=False):
        rows = table[table["risk"] == risk]
        shared = rows[(rows["curve"] == "shared") & np.isfinite(rows["sound_epsilon"])]
        style.curves(ax, shared, "algorithm", LOOKS, "sound_epsilon", "risk_value")
        for value in rows.loc[rows["curve"] == "local", "risk_value"].nsmallest(1):
            ax.axhline(value, color="#333333", linewidth=0.9, linestyle=(0, (7, 3, 1, 3)))
        ax.set(xscale="log", yscale="log", xlabel=r"$\varepsilon$ (more private to the right)")
        ax.invert_xaxis()
        ax.set_title(f"excess risk, {words}")
        style.plain_log_ticks(ax.xaxis)
        style.plain_log_ticks(ax.yaxis, subs=(1, 2, 5))
    axes[0].set_ylabel("final excess risk")
    noisy = table[(table["risk"] == "excess_risk") & (table["noise_multiplier"] > 0)]
    style.curves(axes[2], noisy, "algorithm", LOOKS, "noise_multiplier", "sound_epsilon", band=False)
    axes[2].set(xscale="log", yscale="log", title=r"$\varepsilon$ of each")
    axes[2].set(xlabel=r"noise multiplier $\sigma$", ylabel=r"$\varepsilon$ at $\delta = 10^{-4}$")
    style.plain_log_ticks(axes[2].yaxis)
    style.plain_log_ticks(axes[2].xaxis)
    local = Line2D([], [], color="#333333", linewidth=0.9, linestyle=(0, (7, 3, 1, 3)), label="local learning")
    return style.finish(
        figure,
        table,
        "Users of unequal size (after Bietti et al. 2022, section 5)",
        [[*style.handles(table, "algorithm", LOOKS, NAMES), local]],
        "Every point has the personalisation, clipping norm and step size with the lowest risk, which is known "
        "exactly. All algorithms see the same number of examples in expectation; Algorithm 1 in a tenth of the rounds.",
        "Epsilon of all data of one user, against all others together, by RDP. With Poisson samples and with all "
        "users: one user added or removed. With fixed-size samples: one user's data replaced, which is the stronger "
        "guarantee. Local learning is shown for the algorithm where its risk is lowest; it has epsilon 0. At the "
        "right, Algorithms 2 and 3 have the same epsilon. Runs without noise are in the CSV.",
        differs="Not in the paper. With Poisson samples epsilon is for one user added or removed, with fixed-size ones "
        "for one replaced. Algorithms 2 and 3 have the same epsilon.",
    )


FIGURE = Figure(__doc__, ("ppsgd_sampling",), table, draw)
