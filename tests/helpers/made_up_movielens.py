"""Made-up runs of Table 1 of Bellet et al. 2018, of which every claim holds; shaped like those of a sweep."""

from itertools import product

import pandas as pd
from made_up_p2p_rows import REPETITIONS, TARGETS, jitter, sweep_of
from made_up_points import made_once

from figures.p2p.published import published


@made_once
def movielens_runs() -> pd.DataFrame:
    """Table 1: the published errors from the warm start with Laplace noise at C = 10, more with others."""
    printed = published("p2p_table1").set_index("series")["y"]
    rows = []

    def add(algorithm, instances, value, **columns):
        for seed, r in product(range(REPETITIONS), (0, 16)):
            rows.append(
                {
                    "algorithm": algorithm,
                    "task": "movielens",
                    "instances": instances,
                    "num_rounds": 16,
                    "rounds": r,
                    "seed": seed,
                    "test_rmse": value + jitter(seed) if r else 2.0,
                    "user_mean_rmse": 1.03 + jitter(seed),
                }
                | columns
            )

    for instances in ("test", "validation"):
        add("CD", instances, printed["non-private"], mu=0.04)
        for budget, (start, worse), updates, (mechanism, clip) in product(
            TARGETS,
            (("zero", 0.01), ("propagation", 0.0)),
            (1.0, 8.0),
            (("laplace", 10.0), ("laplace", 5.0), ("gaussian", 10.0)),
        ):
            value = printed[f"epsilon {budget:g}"] + worse + 0.002 * (updates == 8) + 0.001 * (clip == 5)
            add(
                "private CD",
                instances,
                value,
                mu=0.04,
                start=start,
                start_share=0.0 if start == "zero" else 0.5,
                start_step_size=1.0,
                num_updates=updates,
                mechanism=mechanism,
                calibration="clipped" if mechanism == "laplace" else "gaussian",
                clip_norm=clip,
                budget=budget,
                target_epsilon=budget,
                epsilon=budget,
                epsilon_tight=0.9 * budget,
                epsilon_true=0.9 * budget,
            )
        for budget, step, (mechanism, clip) in product(
            TARGETS, (0.3, 1.0), (("laplace", 10.0), ("laplace", 5.0), ("gaussian", 10.0))
        ):
            add(
                "one release",
                instances,
                printed[f"epsilon {budget:g}"] - 0.001 + 0.002 * (step == 1) + 0.0005 * (clip == 10),
                mu=0.04,
                start="solution",
                step_size=step,
                mechanism=mechanism,
                calibration="clipped" if mechanism == "laplace" else "gaussian",
                clip_norm=clip,
                budget=budget,
                epsilon=budget,
                epsilon_tight=0.8 * budget,
                epsilon_true=0.8 * budget,
            )
    add("local", "test", printed["local"], mu=0.04, solver="newton", epsilon=0.0, epsilon_tight=0.0, epsilon_true=0.0)
    settings = ["instances", "start", "num_updates", "step_size", "mechanism", "clip_norm", "budget"]
    return sweep_of("p2p_movielens", rows, settings)
