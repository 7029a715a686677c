"""A board from made-up scores: the files that a comparison of each task leaves."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
from made_up_parts import put
from made_up_report import picture

from bench.analysis.select import half_width
from bench.comparison.problem import Problem
from bench.comparison.problems import problem

EPSILONS = (1.0, 4.0, math.inf)
HARMLESS = "<script>alert('x')</script>"
# method -> epsilon -> a score for each split; 0 is of what reveals nothing
USERS = {
    "Local learning": {0.0: [0.50, 0.52, 0.51]},
    "DP-FedAvg": {1.0: [0.40, 0.42, 0.43], 4.0: [0.60, 0.62, 0.61], math.inf: [0.7, 0.72, 0.71]},
    "Ditto": {1.0: [0.45, 0.44, 0.46], 4.0: [0.70, 0.69, 0.71], math.inf: [0.7, 0.71, 0.73]},
}
AGENTS = {"Local learning": "Local learning", "DP-FedAvg": "DP-D-SGD", "Ditto": "Coordinate descent (1 update)"}
BASELINES = ("Local learning", "DP-FedAvg")
FEW = {method: USERS[method] for method in BASELINES}
COSTS = {"floats_up": 6000.0, "gradients": 120.0, "examples": 1200.0}


def whole(scores: dict) -> pd.DataFrame:
    """One row per method, epsilon and split, what reveals nothing at every epsilon."""
    rows = [
        {"algorithm": method, "target_epsilon": epsilon, "trial": trial, "score": score}
        for method, by_epsilon in scores.items()
        for epsilon in (EPSILONS if 0.0 in by_epsilon else by_epsilon)
        for trial, score in enumerate(by_epsilon[0.0 if 0.0 in by_epsilon else epsilon])
    ]
    return pd.DataFrame(rows)


def add_task(results: Path, name: str, scores: dict, *, costs=False) -> Path:
    """The folder of a task of the board, one of those that the suite has."""
    on = problem(name)
    folder, metric, best = results / "board" / name, on.metric, on.best
    sign, num_splits = (1.0 if best == "max" else -1.0), len(next(iter(next(iter(scores.values())).values())))
    finite = whole(scores).replace({"score": {np.inf: np.nan}})
    means = finite.groupby(["target_epsilon", "algorithm"])["score"]
    rows = means.agg(lambda one: one.mean(skipna=False)).rename(metric).reset_index()
    half = half_width(means.std(), num_splits).to_numpy()
    ranks = (sign * rows[metric]).groupby(rows["target_epsilon"]).rank(ascending=False, method="min")
    rows = rows.assign(low=rows[metric] - half, high=rows[metric] + half, repetitions=num_splits, rank=ranks)
    baselines = (
        rows[rows["algorithm"].isin([*BASELINES, AGENTS["DP-FedAvg"]])]
        .sort_values("rank")
        .drop_duplicates("target_epsilon")
    )
    best_of = baselines.set_index("target_epsilon")["algorithm"]
    score_of = baselines.set_index("target_epsilon")[metric]
    gains = sign * (rows[metric] - rows["target_epsilon"].map(score_of))
    rows = rows.assign(
        best_baseline=rows["target_epsilon"].map(best_of),
        **{"gain": gains, "gain_low": gains - 0.02, "gain_high": gains + 0.02, "gain_p": 0.01},
        decided=gains.abs() > 0.02,
        settings_tried=16,
        reveals_nothing=[0.0 in scores[method] for method in rows["algorithm"]],
        not_private=False,
        **{"metric": metric, "best": best, "delta": 1e-4, "task": name, "scale": "compare"},
        **{"source": f"generated {HARMLESS}", "commit": "0123456789ab"},
        privacy_unit_compared=on.privacy_unit,
        neighbors_compared=on.neighbors,
    )
    if costs:
        rows = rows.assign(**COSTS, tuned_epsilon=rows["target_epsilon"] * 2)
    folder.mkdir(parents=True)
    rows.to_csv(folder / "comparison.csv", index=False, float_format="%.6g")
    _write_runs(folder, scores, on)
    for stem in ("comparison", "convergence"):
        picture(folder / f"{stem}.png")
    protocol = {"task": name, "epsilons": [1.0, 4.0], "seeds": num_splits, "settings": 16, "rounds": 60}
    protocol |= {"delta": 1e-4, "neighbors": on.neighbors, "unit": on.privacy_unit}
    (folder / "protocol.json").write_text(json.dumps(protocol))
    return folder


def _write_runs(folder: Path, scores: dict, on: Problem) -> None:
    """The tested runs, with their starts, which count for nothing; and what was tried."""
    rows = [
        {
            **{"point": f"{method}-{epsilon}", "sweep": f"{on.name}/test", "algorithm": method, "task": on.name},
            **{"trial": trial, "seed": trial, "num_rounds": 60, "rounds": rounds, "target_epsilon": epsilon},
            **{
                "setting": trial,
                "reading": "paper",
                "privacy_unit_compared": on.privacy_unit,
                "neighbors_compared": on.neighbors,
                "batch_size": 10,
            },
            **{"clipping": "fixed", "step_size": (trial + 1) / 10, "privacy_unit": on.privacy_unit, "clip_norm": 2.0},
            **{on.metric: score if rounds else 0.0, "epsilon": 0.999 * epsilon, "delta": 1e-4},
            **{"source": "generated", "commit": "0123456789ab", "checksum": "", "version": 1},
        }
        for method, by_epsilon in scores.items()
        for epsilon, of_splits in by_epsilon.items()
        for trial, score in enumerate(of_splits)
        for rounds in (0, 60)
    ]
    (folder / "test").mkdir()
    runs = pd.DataFrame(rows).astype({"target_epsilon": float, on.metric: float})
    put(folder / "test", runs)
    tried = runs.assign(clip_norm=runs["clip_norm"] * (1 + runs["trial"]), **{on.tuned_by: runs[on.metric]})
    (folder / "tuning").mkdir()
    put(folder / "tuning", tried)


def made_up_board(results: Path) -> Path:
    """Three tasks: two of users, in one of which costs are known, and one of points."""
    add_task(results, "digits", USERS, costs=True)
    add_task(results, "shakespeare", USERS)
    errors = {method: {e: [1 - s for s in of] for e, of in by.items()} for method, by in USERS.items()}
    add_task(results, "movielens", {AGENTS[method]: by for method, by in errors.items()})
    return results
