"""What Bellet et al. 2018 ran (section 5, appendix D), as literals, and the smoke scale derived from them.

Budgets are those of the published legends: epsilon of the coordinate descent, split equally over an agent's updates
by Theorem 1, and 0.05 more where a private warm start comes first. Three calibrations stand side by side:

published: noise for gradients of L1 norm at most 1, no clipping. The inputs allow norms up to 10 p, so this is
    under-calibrated by that factor; `epsilon_true` says what it spends.
clipped: each example's gradient is clipped to L1 norm C, and the noise is scaled to C.
gaussian: clipped in L2, Gaussian noise calibrated exactly (Remark 4, tight).

The last two also stand for "one release": model propagation of one noisy step, on which the whole budget is spent.
"""

import math
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.data.problems.movielens import movielens
from bench.data.problems.peers import linear_p2p
from bench.privacy import events
from bench.privacy.accounting import noise_multiplier
from bench.sweeps.spec import Entry, Sweep, grid, thin

DELTA = math.exp(-5)
EPSILONS = [1.0, 0.5, 0.1]
START_EPSILON = 0.05
UPDATES = [1, 2, 4, 8, 16]  # of an agent, the published grid
FEATURES = [2, 5, 10, 25, 50, 75, 100]
MU = 0.04
MUS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64]
CLIP_NORMS = [1.0, 10.0, 100.0]
TICKS = 100  # in a round of the sweeps of which only the end matters
PUBLISHED = {"calibration": "published", "mechanism": "laplace", "clip_norm": math.inf, "lipschitz": 1.0}


def _release(sigma: float, mechanism: str) -> events.Release:
    if mechanism == "gaussian":
        return events.full_gaussian(sigma, delta=DELTA, neighbors=events.REPLACE)
    return events.laplace(sigma, delta=DELTA)


@lru_cache
def sigma(epsilon: float, updates: int, mechanism: str) -> float:
    """The noise multiplier with which so many updates cost epsilon at DELTA; 0 for none."""
    return noise_multiplier(epsilon, lambda value: _release(value, mechanism), updates) if epsilon else 0.0


@lru_cache
def sigma_after(budget: float, start: float, updates: int, mechanism: str) -> float:
    """The noise multiplier of the updates with which they and a start of noise multiplier `start` cost the budget.

    Laplace noise is not asked here: its start and updates add up as the paper counts them.
    """
    first = _release(start, mechanism)
    return noise_multiplier(budget, lambda v: events.preceded_by(_release(v, mechanism), first), updates)


def calibrated(points: pd.DataFrame, start_epsilon: float | pd.Series = START_EPSILON) -> pd.DataFrame:
    """The points with the noise for their target_epsilon and num_updates, and for start_epsilon where they warm up.

    `budget` is the sum of the two. Laplace noise is calibrated to each of them, as in the paper; Gaussian noise of the
    updates so that both together cost the budget, which is exact and takes less noise.
    """
    warm = points["start"] == "propagation"
    points = points.assign(start_epsilon=np.where(warm, start_epsilon, 0.0))
    points["budget"] = (points["target_epsilon"] + points["start_epsilon"]).round(10)
    noise, starts = [], []
    for point in points.to_dict("records"):
        mechanism, updates = point["mechanism"], int(point["num_updates"])
        starts.append(sigma(point["start_epsilon"], 1, mechanism))
        joint = mechanism == "gaussian" and starts[-1] > 0
        noise.append(
            sigma_after(point["budget"], starts[-1], updates, mechanism)
            if joint
            else sigma(point["target_epsilon"], updates, mechanism)
        )
    return points.assign(noise_multiplier=noise, start_noise_multiplier=starts)


def one_release(points: pd.DataFrame) -> pd.DataFrame:
    """Points of model propagation that spend their whole budget on one noisy step of every agent."""
    pairs = zip(points["budget"], points["mechanism"], strict=True)
    noise = [sigma(budget, 1, mechanism) for budget, mechanism in pairs]
    return points.assign(local="noisy_step", start="solution", noise_multiplier=noise)


def _clipped(calibration: str, mechanism: str, clip_norms) -> pd.DataFrame:
    """Clipping at each of the norms, noise scaled to it."""
    norms = np.asarray(clip_norms)
    return pd.DataFrame({"calibration": calibration, "mechanism": mechanism, "clip_norm": norms, "lipschitz": norms})


def calibrations(clip_norms) -> pd.DataFrame:
    """The three calibrations, the clipped ones at each of the norms."""
    clipped = [_clipped("clipped", "laplace", clip_norms), _clipped("gaussian", "gaussian", clip_norms)]
    return pd.concat([pd.DataFrame([PUBLISHED]), *clipped], ignore_index=True)


def _all_updates(task, args) -> int:
    """Rounds until every agent has used all its updates."""
    return task.num_clients * args["max_updates"] // args["num_ticks"]


def p2p_convergence(scale: str) -> Sweep:
    """Figure 1: coordinate descent against ADMM without privacy, 100 features, from local models.

    From the exact minimisers of the local objectives, and from 100 short gradient steps towards them, which is where
    the published curves begin (objective 6.5; the minimisers have 23). The paper gives no penalty for ADMM: a grid.
    """
    start = grid(start=["local", "descent"], start_step_size=0.005, num_ticks=50, mu=MU)
    paper = Sweep(
        name="p2p_convergence",
        reproduces="Bellet et al. 2018, Figure 1",
        tasks={"linear_p2p_100": linear_p2p},
        entries={
            "CD": Entry(ALGORITHMS["coordinate_descent"], start),
            "ADMM": Entry(
                ALGORITHMS["admm"], start.merge(grid(penalty=[0.005, 0.01, 0.02, 0.05, 0.1, 0.2]), how="cross")
            ),
        },
        num_rounds=30,
        eval_every=1,
        delta=DELTA,
        seeds=5,
        notes="the paper gives neither the penalty of ADMM nor the solver of the local models",
    )
    return thin(paper, keep={"penalty": [0.05]}, seeds=2) if scale == "smoke" else paper


def p2p_private(scale: str) -> Sweep:
    """Figures 2a and 2b: epsilon 0.5 in T/n = 1, 2, 4, 8 updates an agent, from a constant and from the warm start.

    Beyond the paper: twice the budget from the warm start, which is what its Figure 2b looks like, and an agent's
    budget split by its Proposition 2, as printed and with time the right way round.
    """
    updates = grid(max_updates=[1, 2, 4, 8]).assign(num_updates=lambda points: points["max_updates"])
    laplace = pd.concat([pd.DataFrame([PUBLISHED]), _clipped("clipped", "laplace", CLIP_NORMS)], ignore_index=True)
    runs = pd.concat(
        [
            grid(start=["constant", "propagation"], allocation="equal", target_epsilon=0.5).merge(laplace, how="cross"),
            grid(start="propagation", allocation="equal", target_epsilon=1.0, **PUBLISHED),
            grid(start="propagation", allocation=["published", "unrolled"], target_epsilon=0.5, **PUBLISHED),
        ],
        ignore_index=True,
    )
    points = calibrated(updates.merge(runs, how="cross").assign(mu=MU, start_value=0.015, num_ticks=20))
    # An uneven split adds up by the first of the theorem's three sums alone.
    uneven = points["allocation"] != "equal"
    points.loc[uneven, "noise_multiplier"] = 2 * points["num_updates"] / points["target_epsilon"]
    paper = Sweep(
        name="p2p_private",
        reproduces="Bellet et al. 2018, Figures 2a and 2b",
        tasks={"linear_p2p_100": linear_p2p},
        entries={"private CD": Entry(ALGORITHMS["coordinate_descent"], points)},
        num_rounds=_all_updates,
        eval_every=1,
        delta=DELTA,
        seeds=5,
        notes="neither the constant nor the private warm start is in the paper: the constant was chosen to meet its "
        "curves at 0, which the warm start does not",
    )
    smaller = {"max_updates": [2], "allocation": ["equal"]}
    return thin(paper, keep=smaller, seeds=2) if scale == "smoke" else paper


def _per_task(points: pd.DataFrame, features, instances=("test", "validation")) -> pd.DataFrame:
    """The points on every problem: numbers of features, and instances to test and to tune on."""
    problems = grid(num_features=features, instances=list(instances))
    problems["task"] = [_name(*pair) for pair in problems.itertuples(index=False)]
    return problems.merge(points, how="cross")


def _name(num_features: int, instances: str) -> str:
    return f"linear_p2p_{num_features}" + ("" if instances == "test" else f"_{instances}")


def p2p_dimensions(scale: str) -> Sweep:
    """Figures 2c, 3 and 4: accuracy by number of features, privacy and size of the local data set.

    mu is tuned for the run without privacy, updates an agent (and clipping) for each budget, all of them on other
    problem instances of the same kind.
    """
    features = [2, 25] if scale == "smoke" else FEATURES
    private = grid(target_epsilon=EPSILONS, num_updates=UPDATES, mu=MUS).merge(calibrations(CLIP_NORMS), how="cross")
    private = private.assign(max_updates=max(UPDATES), num_ticks=TICKS, start="propagation")
    once = grid(budget=[epsilon + START_EPSILON for epsilon in EPSILONS], mu=MUS, step_size=0.05)
    once = one_release(once.merge(calibrations(CLIP_NORMS).iloc[1:], how="cross"))
    local = grid(solver=["newton", "descent"], mu=MU, step_size=0.7)
    perturbed = grid(target_epsilon=EPSILONS, mu=MU, bound=10.0)
    perturbed["noise_multiplier"] = 2 / perturbed["target_epsilon"]
    paper = Sweep(
        name="p2p_dimensions",
        reproduces="Bellet et al. 2018, Figures 2c, 3 and 4",
        tasks={
            _name(p, instances): partial(linear_p2p, num_features=p, instances=instances)
            for p in features
            for instances in ("test", "validation")
        },
        entries={
            "CD": Entry(
                ALGORITHMS["coordinate_descent"],
                _per_task(grid(mu=MUS, num_ticks=TICKS), features),
                num_rounds=40,
                eval_every=40,
            ),
            "private CD": Entry(ALGORITHMS["coordinate_descent"], _per_task(calibrated(private), features)),
            "one release": Entry(
                ALGORITHMS["model_propagation"], _per_task(once, features), num_rounds=1, eval_every=1
            ),
            "local": Entry(
                ALGORITHMS["local_models"], _per_task(local, features, ["test"]), num_rounds=100, eval_every=100
            ),
            "local DP": Entry(
                ALGORITHMS["local_dp"], _per_task(perturbed, features, ["test"]), num_rounds=50, eval_every=50
            ),
        },
        num_rounds=max(UPDATES),
        eval_every=max(UPDATES),
        delta=DELTA,
        seeds=5,
        notes="the warm start's mechanism is not in the paper; its noise ignores the size of the inputs",
    )
    smaller = {"mu": [MU], "num_updates": [1.0, 8.0], "mechanism": ["laplace"], "clip_norm": [math.inf, 10.0]}
    return thin(paper, keep=smaller, seeds=2) if scale == "smoke" else paper


def p2p_movielens(scale: str) -> Sweep:
    """Table 1: MovieLens-100K by user, gradients clipped at C = 10 as in the paper, and at less.

    Private runs start from 0, which predicts every user's mean, or from the private warm start, paid out of the same
    budget. Updates an agent, clipping and the warm start are tuned on a split of the training ratings.
    """
    norms = [2.5, 5.0, 10.0]
    clipped = pd.concat([_clipped("clipped", "laplace", norms), _clipped("gaussian", "gaussian", norms)])
    cold = grid(budget=EPSILONS, start_share=0.0, start_step_size=1.0, num_updates=UPDATES, start="zero")
    steps = [0.3, 1.0, 3.0]
    warm = grid(
        budget=EPSILONS,
        start_share=[0.8, 0.95],
        start_step_size=steps,
        num_updates=[1, 2, 4],
        start="propagation",
    )
    cold["max_updates"], warm["max_updates"] = max(UPDATES), 4
    private = pd.concat([cold, warm], ignore_index=True).merge(clipped, how="cross").assign(mu=MU, num_ticks=943)
    share = private["start_share"] * private["budget"]
    private = calibrated(private.assign(target_epsilon=private["budget"] - share), share)
    once = one_release(grid(budget=EPSILONS, step_size=steps, mu=MU).merge(clipped, how="cross"))
    parts = grid(instances=["test", "validation"])
    parts["task"] = parts["instances"].map({"test": "movielens", "validation": "movielens_validation"})
    paper = Sweep(
        name="p2p_movielens",
        reproduces="Bellet et al. 2018, Table 1",
        tasks={"movielens": movielens, "movielens_validation": partial(movielens, part="validation")},
        entries={
            "CD": Entry(
                ALGORITHMS["coordinate_descent"],
                parts.merge(grid(mu=MU, num_ticks=943), how="cross"),
                num_rounds=512,
                eval_every=512,
            ),
            "private CD": Entry(
                ALGORITHMS["coordinate_descent"],
                parts.merge(private, how="cross"),
            ),
            "one release": Entry(
                ALGORITHMS["model_propagation"], parts.merge(once, how="cross"), num_rounds=1, eval_every=1
            ),
            "local": Entry(
                ALGORITHMS["local_models"],
                parts[parts["instances"] == "test"].merge(grid(solver="newton", mu=MU), how="cross"),
                num_rounds=5,
                eval_every=5,
            ),
        },
        num_rounds=_all_updates,
        eval_every=4,
        delta=DELTA,
        seeds=5,
        notes="the paper does not give the regularisation of its movie features, nor where private runs start",
    )
    smaller = {"num_updates": [1.0, 4.0], "mechanism": ["laplace"], "clip_norm": [10.0], "start_share": [0.0, 0.8]}
    return thin(paper, keep=smaller, seeds=2) if scale == "smoke" else paper


SWEEPS = {
    "p2p_convergence": p2p_convergence,
    "p2p_private": p2p_private,
    "p2p_dimensions": p2p_dimensions,
    "p2p_movielens": p2p_movielens,
}
