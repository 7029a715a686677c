"""What methods are compared on: a task, how it is tuned and tested, and the baselines that fit it."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.algorithms import ALGORITHMS
from bench.algorithms.silos import total_rounds
from bench.comparison.candidates import Candidate
from bench.comparison.search import Space, values
from bench.data.problems import digits, odd_even, tags
from bench.data.problems.clients_file import clients_file
from bench.data.problems.images import images
from bench.data.problems.movielens import movielens
from bench.data.problems.peers import linear_p2p
from bench.data.problems.synthetic import synthetic
from bench.data.task import Task
from bench.errors import unknown_name
from bench.privacy.events import ADD_OR_REMOVE, REPLACE


class Problem(NamedTuple):
    """A task to compare methods on.

    name: of the task here.
    test: trial -> the task that is tested on.
    tuning: trial -> the task that is tuned on: the same with held-out training data, or other data of the same kind.
    metric: of the test.
    tuned_by: metric of the tuning; it never sees what the test sees.
    best: "max" or "min".
    privacy_unit, neighbors, delta: the statement that all methods make unless the caller wants another.
    rounds: communication rounds of methods that do not bring their own.
    defaults: values of arguments by name, for whichever method has them.
    samplers: by neighbouring relation, the value of an argument `sampler` for which it can be proven.
    space: values that an argument is tuned over, for whichever method has it.
    baselines: by the name in the legend.
    says: how the tuning data are held out, in words.
    """

    name: str
    test: Callable[[int], Task]
    tuning: Callable[[int], Task]
    metric: str
    tuned_by: str
    best: str
    privacy_unit: str
    neighbors: str
    delta: float
    rounds: int
    defaults: Mapping[str, Any]
    samplers: Mapping[str, str]
    space: Space
    baselines: Mapping[str, Candidate]
    says: str


LOCAL_STEPS = 1000  # of every user alone; on digits twice as many gain less than two points


def _user_level(personal: Sequence[float], local_steps: int | None) -> dict[str, Candidate]:
    """The user-level methods.

    Users with stored examples learn alone for `local_steps`, whatever the rounds, and keep their models in the dual
    form; those of a stream (None) learn only in the rounds that draw them, since that is when their examples come.
    """
    ppsgd, fixed = ALGORITHMS["ppsgd"], {"local": "dual"} if local_steps else {}
    if local_steps:
        alone = Candidate(ALGORITHMS["local_learning"], fixed, {}, lambda task, args: local_steps)
    else:
        alone = Candidate(ppsgd, fixed | {"personalization": 0.0}, {})
    return {
        "PPSGD": Candidate(ppsgd, fixed, {"personalization": personal}),
        "Global private SGD": Candidate(ppsgd, fixed | {"personalization": math.inf}, {}),
        "DP-FedAvg": Candidate(ALGORITHMS["dp_fedavg"], {"num_steps": 5}, {}),
        "Local learning": alone,
    }


def _users(
    name: str,
    make: Callable[[int], Task],
    steps: str,
    server_steps: str,
    says: str,
    personal: Sequence[float] = (1.0, 10.0, 100.0),
    local_steps: int | None = LOCAL_STEPS,
    **changes,
) -> Problem:
    """A problem of users with a model each, measured by accuracy unless changed."""
    alone = f"; users alone take {local_steps:,} steps" if local_steps else ""
    usual = Problem(
        name=name,
        test=make,
        tuning=make,
        metric="test_accuracy",
        tuned_by="validation_accuracy",
        best="max",
        privacy_unit="user",
        neighbors=ADD_OR_REMOVE,
        delta=1e-4,
        rounds=200,
        defaults={"batch_size": 10, "clip_norm": 10.0, "num_sampled": 50},
        samplers={ADD_OR_REMOVE: "poisson", REPLACE: "fixed"},
        space={"step_size": values(steps), "server_step_size": values(server_steps)},
        baselines=_user_level(personal, local_steps),
        says=says + alone,
    )
    return usual._replace(**changes)


def _silos() -> Problem:
    step = values("log:1:1000:8")
    sgd = ALGORITHMS["minibatch_sgd"]
    plain = {"sampler": "all", "smoothing": "none"}
    rounds = {"phase_rounds": [2, 5, 14, 35]}
    return Problem(
        name="odd_even",
        test=partial(odd_even.odd_even, split_first=True),
        tuning=partial(odd_even.odd_even, split_first=True, part="validation"),
        metric="test_error",
        tuned_by="test_error",
        best="min",
        privacy_unit="record",
        neighbors=REPLACE,
        delta=1 / odd_even.NUM_RECORDS**2,
        rounds=35,
        defaults={"num_sampled": len(odd_even.PAIRS), "clip_norm": 1.0, "batch_size": 1},
        samplers={REPLACE: "all"},
        space={"step_size": step},
        baselines={
            "One-pass MB-SGD": Candidate(sgd, plain | {"sampler": "once"}, rounds, total_rounds),
            "Multi-pass MB-SGD": Candidate(sgd, plain, rounds, total_rounds),
            "Localized MB-SGD": Candidate(
                ALGORITHMS["localized"],
                plain | {"num_phases": 2},
                {"phase_rounds": [5, 10, 20], "regularization": [1e-4, 1e-3, 1e-2]},
                total_rounds,
            ),
        },
        says="images split before the silos draw; tuned on a fifth of the training images, split off likewise",
    )


def _images(dataset: str = "mnist", model: str = "scatter_linear") -> Problem:
    method, make = ALGORITHMS["dpsgd_fedavg"], partial(images, dataset=dataset, model=model, disjoint=True)
    return Problem(
        name="images",
        test=make,
        tuning=partial(make, part="validation"),
        metric="test_accuracy",
        tuned_by="test_accuracy",
        best="max",
        privacy_unit="example",
        neighbors=ADD_OR_REMOVE,
        delta=1e-5,
        rounds=20,
        defaults={"clip_norm": 1.0, "total_epochs": 20, "batch_size": 64, "momentum": 0.5},
        samplers={ADD_OR_REMOVE: "poisson"},
        space={"step_size": values("log:0.03:1:8")},
        baselines={
            f"DP-SGD + FedAvg (E = {one})": Candidate(method, {"num_epochs": float(one)}, {}, _epochs)
            for one in (1, 20)
        },
        says="ten clients without a common picture; tuned on 10,000 pictures held out of the training set",
    )


def _epochs(task: Task, args: Mapping[str, Any]) -> int:
    return args["total_epochs"]


def _updates(task: Task, args: Mapping[str, Any]) -> int:
    return args["max_updates"]


def _all_updates(task: Task, args: Mapping[str, Any]) -> int:
    """Rounds in which every agent uses all its updates."""
    return -(-task.num_clients * args["max_updates"] // args["num_ticks"])


def _once(task: Task, args: Mapping[str, Any]) -> int:
    return 1


def _peers(name: str, test, tuning, metric: str, best: str, num_ticks: int, says: str, **changes) -> Problem:
    """A problem of agents on a graph; all noise is Gaussian, for gradients clipped in L2."""
    descent = ALGORITHMS["coordinate_descent"]
    gaussian = {"mechanism": "gaussian"}
    usual = Problem(
        name=name,
        test=test,
        tuning=tuning,
        metric=metric,
        tuned_by=metric,
        best=best,
        privacy_unit="point",
        neighbors=REPLACE,
        delta=math.exp(-5),
        rounds=1,
        defaults={"clip_norm": 1.0, "lipschitz": 1.0, "num_ticks": num_ticks},
        samplers={},
        space={"mu": [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28]},
        baselines={
            **{
                f"Coordinate descent ({updates} update{'s' if updates > 1 else ''})": Candidate(
                    descent,
                    gaussian | {"max_updates": updates, "num_updates": float(updates), "start": "zero"},
                    {},
                    _all_updates,
                    _updates,
                )
                for updates in (1, 4)
            },
            "Model propagation (one release)": Candidate(
                ALGORITHMS["model_propagation"],
                gaussian | {"local": "noisy_step", "start": "solution"},
                {"step_size": [0.05, 0.2, 1.0]},
                _once,
                _once,
            ),
            "Local learning": Candidate(ALGORITHMS["local_models"], {"mu": 0.04}, {}, lambda task, args: 20),
        },
        says=says,
    )
    return usual._replace(**changes)


REMAINDER = "tuned on the up to nine examples that are left of each user's when the others are used in tens"
PROBLEMS: dict[str, Callable[[], Problem]] = {
    "synthetic": lambda: _users(
        "synthetic",
        partial(synthetic, delta_std=0.1),
        "log:0.05:2:8",
        "log:0.05:2:8",
        "generated; tuned on held-out examples, tested by the exact risk",
        metric="excess_risk",
        tuned_by="validation_loss",
        best="min",
        personal=(0.3, 1.0, 3.0),
        local_steps=None,
    ),
    "digits": lambda: _users(
        "digits",
        digits.best_available,
        "log:1e-4:1e-1:8",
        "log:1e-4:1e-1:8",
        REMAINDER,
        defaults={"batch_size": 10, "clip_norm": 3.0, "num_sampled": 50},
    ),
    "tags": lambda: _users(
        "tags",
        tags.best_available,
        "log:1:300:8",
        "log:1:300:8",
        REMAINDER,
        local_steps=300,  # a step costs sixty times one on digits
        defaults={"batch_size": 10, "clip_norm": 0.01, "num_sampled": 50},
    ),
    "images": _images,
    "odd_even": _silos,
    "linear_p2p": lambda: _peers(
        "linear_p2p",
        partial(linear_p2p, num_features=10),
        partial(linear_p2p, num_features=10, instances="validation"),
        "test_accuracy",
        "max",
        100,
        "generated; tuned on other problems of the same kind",
    ),
    "movielens": lambda: _peers(
        "movielens",
        movielens,
        partial(movielens, part="validation"),
        "test_rmse",
        "min",
        943,
        "tuned on a fifth of the training ratings",
        defaults={"clip_norm": 2.5, "lipschitz": 2.5, "num_ticks": 943},
    ),
}


def problem(name: str) -> Problem:
    """A problem by its name, or one made of a user's own npz file of clients.

    Raises:
        InputError: for an unknown name, or a file that cannot be used.
    """
    if name.endswith(".npz"):
        own = partial(clients_file, path=Path(name))
        steps = "log:1e-4:1:8"
        return _users(Path(name).name, own, steps, steps, "tuned on a tenth of each client's examples, held out")
    if name not in PROBLEMS:
        raise unknown_name("task to compare on", name, [*PROBLEMS, "FILE.npz"])
    return PROBLEMS[name]()
