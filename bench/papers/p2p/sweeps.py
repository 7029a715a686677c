"""The experiments of Bellet et al. 2018 (section 5, appendix D), and the smoke scale derived from them.

Budgets are those of the published legends: epsilon of the coordinate descent, split equally over an agent's updates
by Theorem 1, and 0.05 more where a private warm start comes first. `bench.papers.p2p.noise` says how noise is found.
"""

import math
from collections.abc import Callable
from functools import partial

import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.data.tasks.movielens import movielens
from bench.data.tasks.peers import linear_p2p
from bench.papers.p2p import noise
from bench.papers.p2p.noise import (
    CLIPPED,
    DELTA,
    GAUSSIAN,
    NOISE,
    ONE_RELEASE,
    PUBLISHED,
    START_EPSILON,
    calibrations,
    for_coordinates,
    of_one_release,
)
from bench.sweeps.spec import Entry, Sweep, grid, thin, with_tasks

EPSILONS = [1.0, 0.5, 0.1]
UPDATES = [1, 2, 4, 8, 16]  # per agent, the published grid
FEATURES = [2, 5, 10, 25, 50, 75, 100]
MU = 0.04
MUS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64]
CLIP_NORMS = [1.0, 10.0, 100.0]
TICKS = 100  # per round, in sweeps where only the end matters


def _all_updates(task, args) -> int:
    """Rounds until every agent has used all its updates."""
    return task.num_clients * args["max_updates"] // args["num_ticks"]


def p2p_convergence(scale: str) -> Sweep:
    """Figure 1: coordinate descent against ADMM without privacy, 100 features, from local models.

    Runs start from the exact minimisers of the local objectives, and from 100 short gradient steps towards them, where
    the published curves begin (objective 6.5; the minimisers have 23). The paper gives no penalty for ADMM, so a grid
    is run.
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
        seeds=10,
        notes="the paper gives neither the penalty of ADMM nor the solver of the local models",
    )
    return thin(paper, keep={"penalty": [0.05]}, seeds=2) if scale == "smoke" else paper


def p2p_private(scale: str) -> Sweep:
    """Figures 2a and 2b: epsilon 0.5 in T/n = 1, 2, 4, 8 updates per agent, from a constant and from the warm start.

    Beyond the paper: twice the budget from the warm start, which ends where the published Figure 2b does, and an
    agent's budget split by Proposition 2, as printed and with the weights in the order of the recursion.
    """
    published = calibrations([PUBLISHED], [])
    runs = pd.concat(
        [
            grid(start=["constant", "propagation"], allocation="equal", target_epsilon=0.5).merge(
                calibrations([PUBLISHED, CLIPPED], CLIP_NORMS), how="cross"
            ),
            grid(start="propagation", allocation="equal", target_epsilon=1.0).merge(published, how="cross"),
            grid(start="propagation", allocation=["published", "unrolled"], target_epsilon=0.5).merge(
                published, how="cross"
            ),
        ],
        ignore_index=True,
    )
    points = grid(max_updates=[1, 2, 4, 8]).merge(runs, how="cross").assign(mu=MU, start_value=0.015, num_ticks=20)
    paper = Sweep(
        name="p2p_private",
        reproduces="Bellet et al. 2018, Figures 2a and 2b",
        tasks={"linear_p2p_100": linear_p2p},
        entries={
            "private CD": Entry(
                ALGORITHMS["coordinate_descent"],
                points,
                complete=noise.of_private,
                computed=(*NOISE, "budget", "num_updates"),
            )
        },
        num_rounds=_all_updates,
        eval_every=1,
        delta=DELTA,
        seeds=10,
        notes="neither the constant nor the private warm start is in the paper: the constant was chosen so that the "
        "curves match at round 0, which the warm start does not",
    )
    smaller = {"max_updates": [2], "allocation": ["equal"]}
    return thin(paper, keep=smaller, seeds=2) if scale == "smoke" else paper


def _entry(
    method: str,
    tasks: pd.DataFrame,
    points: pd.DataFrame,
    rounds: int | None = None,
    complete: Callable[[pd.DataFrame], pd.DataFrame] = lambda points: points,
    computed: tuple[str, ...] = (),
) -> Entry:
    """Return the points on every task, as in `with_tasks`, evaluated before and after so many rounds."""
    free = tasks.drop(columns="task").merge(points, how="cross")
    return Entry(
        ALGORITHMS[method],
        free,
        rounds,
        rounds,
        complete=lambda points: complete(with_tasks(points, tasks)),
        computed=computed,
    )


def _problems(features: list[int]) -> pd.DataFrame:
    """Return the names of tasks by number of features, and by instances, to test and to tune on."""
    problems = grid(num_features=features, instances=["test", "validation"])
    endings = problems["instances"].map({"test": "", "validation": "_validation"})
    return problems.assign(task="linear_p2p_" + problems["num_features"].astype(str) + endings)


def _tasks_of(problems: pd.DataFrame) -> dict:
    """Return the tasks of these names."""
    return {
        name: partial(linear_p2p, num_features=p, instances=instances)
        for p, instances, name in problems.itertuples(index=False)
    }


def _warm(points: pd.DataFrame) -> pd.DataFrame:
    """Return points that begin with the private warm start, with their noise."""
    points = points.assign(max_updates=max(UPDATES), start="propagation")
    return noise.calibrated(noise.scaled(points))


def _to_test(tasks: pd.DataFrame) -> pd.DataFrame:
    return tasks[tasks["instances"] == "test"]


def p2p_dimensions(scale: str) -> Sweep:
    """Figures 2c, 3 and 4: accuracy by number of features, privacy and size of the local data set.

    mu is tuned for the run without privacy, and updates per agent (and clipping) for each budget, on other problem
    instances of the same kind.
    """
    problems = _problems([2, 25] if scale == "smoke" else FEATURES)
    private = grid(target_epsilon=EPSILONS, num_updates=UPDATES, mu=MUS, num_ticks=TICKS)
    private = private.merge(calibrations([PUBLISHED, CLIPPED, GAUSSIAN], CLIP_NORMS), how="cross")
    one_shot = grid(budget=[epsilon + START_EPSILON for epsilon in EPSILONS], mu=MUS, step_size=0.05)
    one_shot = one_shot.merge(calibrations([CLIPPED, GAUSSIAN], CLIP_NORMS), how="cross")
    local = grid(solver=["newton", "descent"], mu=MU, step_size=0.7)
    perturbed = local.merge(grid(target_epsilon=EPSILONS, bound=10.0), how="cross")

    paper = Sweep(
        name="p2p_dimensions",
        reproduces="Bellet et al. 2018, Figures 2c, 3 and 4",
        tasks=_tasks_of(problems),
        entries={
            "CD": _entry("coordinate_descent", problems, grid(mu=MUS, num_ticks=TICKS), 40),
            "private CD": _entry("coordinate_descent", problems, private, None, _warm, (*NOISE, "budget")),
            "one release": _entry("model_propagation", problems, one_shot, 1, of_one_release, ONE_RELEASE),
            "local": _entry("local_models", _to_test(problems), local, 100),
            "local DP": _entry("local_dp", _to_test(problems), perturbed, 100, for_coordinates, ("noise_multiplier",)),
        },
        num_rounds=max(UPDATES),
        eval_every=max(UPDATES),
        delta=DELTA,
        seeds=10,
        notes="the warm start's mechanism is not in the paper; its noise ignores the size of the inputs",
    )
    smaller = {"mu": [MU], "num_updates": [1, 8], "calibration": [PUBLISHED, CLIPPED], "clip_norm": [math.inf, 10.0]}
    return thin(paper, keep=smaller, seeds=2) if scale == "smoke" else paper


def p2p_perturbed(scale: str) -> Sweep:
    """Appendix D.1: local models from perturbed inputs, and coordinate descent on the same perturbed inputs, which the
    paper could not use to improve on them significantly. mu is tuned on other problem instances.
    """
    noisy = grid(target_epsilon=EPSILONS, bound=10.0)
    joint = noisy.merge(grid(mu=[MU / 64, MU / 16, MU / 4, MU], learning="together", num_ticks=TICKS), how="cross")
    problems = _problems(FEATURES[::2])
    perturbed = partial(_entry, "local_dp", complete=for_coordinates, computed=("noise_multiplier",))
    paper = Sweep(
        name="p2p_perturbed",
        reproduces="Bellet et al. 2018, appendix D.1, learning together from perturbed data (no figure in the paper)",
        tasks=_tasks_of(problems),
        entries={
            "alone": perturbed(_to_test(problems), noisy.assign(mu=MU), 30),
            "together": perturbed(problems, joint, 20),
        },
        num_rounds=20,
        eval_every=20,
        delta=DELTA,
        seeds=10,
        notes="the paper gives no numbers for collaborative learning on perturbed data",
    )
    smaller = {"num_features": [2, 10], "mu": [MU], "target_epsilon": [1.0]}
    return thin(paper, keep=smaller, seeds=2) if scale == "smoke" else paper


def p2p_inputs(scale: str) -> Sweep:
    """Return the setting of Figure 2c by the range of the inputs, which the paper does not give: uniform on [-r, r]^p.

    The published noise is for gradients of L1 norm 1, which inputs of L1 norm up to r p have where r is at most 1/p.
    mu, the same for all p and budgets of a range, and the updates per agent are tuned on other problem instances.
    """
    features = [2] if scale == "smoke" else [2, 10, 100]
    ranges = {p: [1 / p, 1.0, 10.0, 100.0] for p in features}
    private = grid(target_epsilon=EPSILONS, num_updates=[1, 4, 16], mu=MUS[::2], num_ticks=TICKS)
    private = private.merge(calibrations([PUBLISHED], []), how="cross")
    of_ranges = pd.concat([grid(num_features=p, input_range=ranges[p]) for p in features], ignore_index=True)
    problems = of_ranges.merge(grid(instances=["test", "validation"]), how="cross")
    problems["task"] = ["_".join(map(str, labels)) for labels in problems.itertuples(index=False)]
    tasks = {
        str(name): partial(linear_p2p, num_features=int(p), input_range=float(size), instances=str(instances))
        for p, size, instances, name in problems.itertuples(index=False)
    }
    paper = Sweep(
        name="p2p_inputs",
        reproduces="Bellet et al. 2018, the setting of Figure 2c by the range of the inputs",
        tasks=tasks,
        entries={
            "CD": _entry("coordinate_descent", problems, grid(mu=MUS[::2], num_ticks=TICKS), 40),
            "private CD": _entry("coordinate_descent", problems, private, None, _warm, (*NOISE, "budget")),
            "local": _entry("local_models", _to_test(problems), grid(solver="newton", mu=MU), 100),
        },
        num_rounds=max(UPDATES),
        eval_every=max(UPDATES),
        delta=DELTA,
        seeds=5,
        notes="the paper says that inputs are uniform around the origin, and not how far",
    )
    smaller = {"mu": [MU], "num_updates": [1.0, 4.0], "target_epsilon": [1.0], "input_range": [0.5, 10.0]}
    return thin(paper, keep=smaller, seeds=2) if scale == "smoke" else paper


def p2p_agents(scale: str) -> Sweep:
    """Coordinate descent without privacy by the number of agents, whose updates per agent remain the same: the paper
    expects it to scale gracefully, and runs 100."""
    numbers = [25, 50] if scale == "smoke" else [25, 50, 100, 200, 400]
    entries = {
        f"CD, n = {n}": Entry(
            ALGORITHMS["coordinate_descent"],
            grid(task=str(n), num_agents=n, mu=MU, num_ticks=n, start="descent", start_step_size=0.005),
        )
        for n in numbers
    }
    return Sweep(
        name="p2p_agents",
        reproduces="Bellet et al. 2018, section 2.3, the number of agents (no figure in the paper)",
        tasks={str(n): partial(linear_p2p, num_features=20, num_agents=n) for n in numbers},
        entries=entries,
        num_rounds=64 if scale != "smoke" else 4,
        eval_every=1,
        delta=DELTA,
        seeds=10 if scale != "smoke" else 2,
        notes="the paper has no experiment with other numbers of agents",
    )


def p2p_movielens(scale: str) -> Sweep:
    """Table 1: MovieLens-100K by user, gradients clipped at C = 10 as in the paper, and at less.

    Private runs start from 0, which predicts every user's mean, or from the private warm start, paid out of the same
    budget. Updates per agent, clipping and the warm start are tuned on a split of the training ratings.
    """
    clipped = calibrations([CLIPPED, GAUSSIAN], [2.5, 5.0, 10.0])
    cold = grid(budget=EPSILONS, start_share=0.0, start_step_size=1.0, num_updates=UPDATES, start="zero")
    steps = [0.3, 1.0, 3.0]
    warm = grid(budget=EPSILONS, start_share=[0.8, 0.95], start_step_size=steps, num_updates=[1, 2, 4])
    warm["start"] = "propagation"
    private = pd.concat([cold, warm], ignore_index=True).merge(clipped, how="cross").assign(mu=MU, num_ticks=943)
    one_shot = grid(budget=EPSILONS, step_size=steps, mu=MU).merge(clipped, how="cross")
    shares = partial(noise.of_shares, cold=max(UPDATES), warm=4)
    tasks = pd.DataFrame({"instances": ["test", "validation"], "task": ["movielens", "movielens_validation"]})
    paper = Sweep(
        name="p2p_movielens",
        reproduces="Bellet et al. 2018, Table 1",
        tasks={"movielens": movielens, "movielens_validation": partial(movielens, part="validation")},
        entries={
            "CD": _entry("coordinate_descent", tasks, grid(mu=MU, num_ticks=943), 512),
            "private CD": _entry("coordinate_descent", tasks, private, None, shares, (*NOISE, "target_epsilon")),
            "one release": _entry("model_propagation", tasks, one_shot, 1, of_one_release, ONE_RELEASE),
            "local": _entry("local_models", _to_test(tasks), grid(solver="newton", mu=MU), 5),
        },
        num_rounds=_all_updates,
        eval_every=4,
        delta=DELTA,
        seeds=10,
        notes="the paper gives neither the regularisation of its movie features nor the starting point of private runs",
    )
    smaller = {"num_updates": [1, 4], "calibration": [CLIPPED], "clip_norm": [10.0], "start_share": [0.0, 0.8]}
    return thin(paper, keep=smaller, seeds=2) if scale == "smoke" else paper


SWEEPS = {
    "p2p_convergence": p2p_convergence,
    "p2p_private": p2p_private,
    "p2p_dimensions": p2p_dimensions,
    "p2p_perturbed": p2p_perturbed,
    "p2p_inputs": p2p_inputs,
    "p2p_agents": p2p_agents,
    "p2p_movielens": p2p_movielens,
}
