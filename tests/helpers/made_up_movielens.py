"""Made-up runs of Table 1 of Bellet et al. 2018, of which every claim holds; shaped like those of a sweep."""

import pandas as pd
from made_up_p2p_rows import REPETITIONS, TARGETS, jitter, sweep_of
from made_up_points import crossed, made_once, table

from figures.p2p.published import published


@made_once
def movielens_runs() -> pd.DataFrame:
    """Table 1: the published errors from the warm start with Laplace noise at C = 10, more with others."""
    printed = published("p2p_table1").set_index("series")["y"]
    budgets = table("budget value", [(budget, printed[f"epsilon {budget:g}"]) for budget in TARGETS])
    noise = [("laplace", "clipped", 10.0), ("laplace", "clipped", 5.0), ("gaussian", "gaussian", 10.0)]
    noise = table("mechanism calibration clip_norm", noise)
    instances = {"instances": ("test", "validation")}

    together = crossed(**instances, algorithm=["CD"], value=[printed["non-private"]])
    starts = table("start start_share worse", [("zero", 0.0, 0.01), ("propagation", 0.5, 0.0)])
    private = crossed(starts, budgets, noise, num_updates=(1.0, 8.0), **instances)
    private["value"] += private["worse"] + 0.002 * (private["num_updates"] == 8) + 0.001 * (private["clip_norm"] == 5)
    private = private.assign(algorithm="private CD", start_step_size=1.0, target_epsilon=private["budget"])
    private["epsilon_true"] = 0.9 * private["budget"]
    once = crossed(budgets, noise, step_size=(0.3, 1.0), **instances).assign(algorithm="one release", start="solution")
    once["value"] += -0.001 + 0.002 * (once["step_size"] == 1) + 0.0005 * (once["clip_norm"] == 10)
    once["epsilon_true"] = 0.8 * once["budget"]
    alone = {"algorithm": ["local"], "instances": "test", "value": printed["local"], "solver": "newton"}
    alone = pd.DataFrame(alone | {"epsilon": 0.0, "epsilon_true": 0.0})

    rows = crossed(pd.concat([together, private, once, alone]), seed=range(REPETITIONS), rounds=(0, 16))
    reached, shift = rows["value"] + jitter(rows["seed"]), 1.03 + jitter(rows["seed"])
    rows = rows.assign(test_rmse=reached.where(rows["rounds"] > 0, 2.0), user_mean_rmse=shift)
    rows = rows.assign(epsilon=rows["epsilon"].fillna(rows["budget"]), epsilon_tight=rows["epsilon_true"])
    rows = rows.assign(task="movielens", num_rounds=16, mu=0.04).drop(columns=["value", "worse"])
    settings = "instances start num_updates step_size mechanism clip_norm budget"
    return sweep_of("p2p_movielens", rows, settings)
