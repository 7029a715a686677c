"""Allouah et al. 2024: local noise, noise that neighbours share, and central noise at equal privacy, by graph.

The upper panels show agents' own models, the lower panels the mean of these models, which no agent has. Every point
has the best step size and the best ratio of shared to own noise. Expected on every graph: local noise errs the most,
central noise the least, and shared noise lies in between, near central noise where all agents are neighbours.
"""

import pandas as pd

from bench.analysis import select, style
from figures.shared import edges
from figures.shared.derived import derived
from figures.shared.figure import Figure
from figures.shared.runs import at_end

SWEEP = "decor_noise"
LOCAL, CENTRAL = "Local noise", "Central noise"
OUTSIDERS, ONE = "DECOR, against outsiders", "DECOR, against one agent"
METRICS = {"excess_loss": "agents' own models", "excess_loss_of_mean": "mean of the models"}
GRAPHS = {"gossip_ring": "ring", "gossip_grid": "grid", "gossip_complete": "complete graph"}
LOOKS = {LOCAL: style.GREY, ONE: style.ORANGE, OUTSIDERS: style.RED, CENTRAL: style.NAVY}


@derived
def tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs at the step and ratio with the lowest mean excess loss, for every metric, method, graph and
    epsilon.

    metric, loss: the metric that was tuned by, and its value.
    edge: the edges of step and ratio.
    """
    last = at_end(runs)
    ratio = last["pair_noise_ratio"].fillna(0.0) if "pair_noise_ratio" in last else 0.0
    last, by, out = last.assign(pair_noise_ratio=ratio), ["algorithm", "task", "target_epsilon"], []
    for metric in METRICS:
        best = select.tune(last, by=[*by, "pair_noise_ratio"], over="step_size", on=metric, best="min")
        best = edges.tuned_next(best, by, "pair_noise_ratio", metric)
        out.append(best.assign(metric=metric, loss=best[metric]))
    return pd.concat(out, ignore_index=True)


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Excess loss by metric, method, graph and epsilon, with the step and ratio that were chosen."""
    rows = tuned(runs)
    by = ["metric", "algorithm", "task", "target_epsilon", "step_size", "pair_noise_ratio", "edge"]
    spent = [
        name for name in ("epsilon", "epsilon_one_agent", "epsilon_all_agents", "epsilon_worst_case") if name in rows
    ]
    out = select.interval(rows, by=by, value="loss", log=True, means=spent).rename(columns={"task": "graph"})
    return out.assign(delta=rows["delta"].iloc[0], mean="geometric", **select.where_from(runs))


def draw(table: pd.DataFrame):
    """A row for each metric and a column for each graph; central noise, which uses no graph, is in all columns."""
    graphs = [name for name in GRAPHS if name in set(table["graph"])]
    metrics = style.present(table, "metric", METRICS)
    shape = len(metrics), max(len(graphs), 1)
    figure, axes = style.subplots(
        *shape, figsize=(3.6 * shape[1], 2.9 * shape[0] + 0.8), sharex=True, sharey=True, squeeze=False
    )
    central = table[table["algorithm"] == CENTRAL]
    everywhere = pd.concat([table[table["algorithm"] != CENTRAL], *(central.assign(graph=name) for name in graphs)])
    for ax, panel, (_, name) in style.panels(axes, everywhere, metric=metrics, graph=graphs):
        style.curves(ax, panel, "algorithm", LOOKS, "target_epsilon", "loss")
        ax.set(xscale="log", yscale="log", title=GRAPHS[name])
        style.plain_log_ticks(ax.xaxis, subs=(1, 3))
    style.label(axes, r"$\varepsilon$", *(f"excess loss,\n{METRICS[metric]}" for metric in metrics))
    return style.finish(
        figure,
        table,
        "Local, shared and central noise at equal epsilon (after Allouah et al. 2024)",
        [style.handles(table, "algorithm", LOOKS)],
        "Excess loss is the mean logistic loss over all points minus its minimum. There are 16 agents with 64 points "
        "each, 200 rounds, and no clipping. Every point has its own best step size, and DECOR "
        f"its best ratio of shared to own noise, by this loss. {edges.note(table)}".strip(),
        f"Epsilon at delta = {table['delta'].iloc[0]:g}: one point of one agent replaced, in all messages. Local "
        "noise: against all other agents together. DECOR: against observers who share no noise, or against one other "
        "agent. Central noise: against everybody who sees the models of a trusted party.",
        differs="Other data than the paper's. The methods protect against different adversaries.",
    )


FIGURE = Figure(
    __doc__,
    (SWEEP,),
    table,
    draw,
    apart=("algorithm", "task", "target_epsilon"),
    tuned=("step_size", "pair_noise_ratio"),
)
