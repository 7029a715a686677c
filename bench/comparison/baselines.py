"""The suite's baselines for each privacy unit, and the values that their arguments are tuned over."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Method
from bench.algorithms.dp_dsgd import OUTSIDERS
from bench.algorithms.parts.silos import total_rounds
from bench.algorithms.search_space import OWN_EPOCHS, OWN_STEPS, Interval
from bench.comparison.search import Choices, Space
from bench.data.task import Task
from bench.privacy.events import ADD_OR_REMOVE, REPLACE

Count = Callable[[Task, Mapping[str, Any]], int]
NONE_FIXED: Mapping[str, Any] = MappingProxyType({})
OF_MOMENTUM = ("server_step_size", "beta1")  # the arguments of a server with momentum that are tuned


class Variant(NamedTuple):
    """A method with some arguments fixed and some tuned; its other arguments come from the problem and the caller.

    method: the method to run.
    args: fixed arguments that define the variant; nothing else may change them.
    space: argument -> values that it is tuned over, or an interval of them, where the task has none for its role.
    num_rounds: (task, arguments) -> communication rounds, where the arguments determine them; None means those of the
        comparison.
    num_releases: (task, arguments) -> number of releases of a run, as counted by the method's event; None means one per
        round.
    on_request: whether it runs only where the caller names it among the baselines.
    against: the adversary that its noise is calibrated for, in the words of its release, where others of its unit
        protect against a stronger one. The board then does not rank it together with them.
    """

    method: Method
    args: Mapping[str, Any]
    space: Space
    num_rounds: Count | None = None
    num_releases: Count | None = None
    on_request: bool = False
    against: str = ""


class Level(NamedTuple):
    """Defaults for the tasks of one privacy unit, which a problem can override.

    neighbors: neighbouring relation.
    against: whom the unit's methods protect against, unless a method names a weaker adversary.
    adversaries: the words for this in the methods' releases.
    samplers: neighbouring relation -> value of the argument `sampler` for which privacy is proven under it.
    rounds: communication rounds of methods that do not set their own.
    space: role of an argument -> what it is tuned over, for every method that has it (`bench.algorithms.base.Role`).
    defaults: task -> values of arguments by name, for every method that has them.
    baselines: task -> the suite's methods for it, by their names in the legend.
    """

    neighbors: str
    against: str
    adversaries: Sequence[str]
    samplers: Mapping[str, str]
    rounds: int
    space: Space
    defaults: Callable[[Task], dict[str, Any]]
    baselines: Callable[[Task], dict[str, Variant]]


LOCAL_STEPS = 1000  # of every user without the others, at least


def lengths(number: int) -> list[int]:
    """Return the numbers of steps alone that are tried, for users who learn alone or tune a model; held-out data say
    which is best."""
    return [max(1, round(number * share)) for share in (1 / 16, 1 / 4, 1, 4)]


def variant(name: str, args: Mapping[str, Any] = NONE_FIXED, space: Space | None = None, **fields: Any) -> Variant:
    """Return a variant of one of the suite's methods, tuned over the method's own space unless another is given."""
    method = ALGORITHMS[name]
    return Variant(method, args, method.space if space is None else space, **fields)


def of_users(personal: Choices, local_steps: int | None, local: str = "dual") -> dict[str, Variant]:
    """Return the user-level methods; relatives of DP-FedAvg on request.

    Args:
        personal: ratios of step sizes that PPSGD is tuned over.
        local_steps: steps of local learning for users with stored examples where they are not tuned, independent of the
            number of rounds. With a stream (None), users learn only in the rounds that draw them, since only then do
            they receive examples.
        local: form of the local models for stored examples, "dual" or "dense".
    """
    form = {"local": local} if local_steps else {}
    if local_steps:
        local_learning = variant("local_learning", form, num_rounds=alone(local_steps))
    else:
        local_learning = variant("ppsgd", form | {"personalization": 0.0})
    steps = ALGORITHMS["dp_fedopt"].space
    on_request = {
        "DP-FedAvg in turn": variant("dp_fedavg", {"sampler": "cyclic"}),
        "DP-FedAvg with banded noise": variant("dp_fedavg", {"sampler": "cyclic", "noise": "banded_sqrt"}),
        "DP-FedAvg with banded noise, sampled": variant(
            "dp_fedavg", {"sampler": "cyclic_poisson", "noise": "banded_sqrt"}
        ),
        "DP-FedAvg with adaptive clipping": variant("dp_fedavg", {"clipping": "adaptive"}),
        "FedAvgM": variant("dp_fedopt", {"optimiser": "momentum"}, {name: steps[name] for name in OF_MOMENTUM}),
        "FedAdam": variant("dp_fedopt", {"optimiser": "adam"}),
        "FedYogi": variant("dp_fedopt", {"optimiser": "yogi"}),
        "FedProx": variant("dp_fedprox"),
        "DP-FedSAM": variant("dp_fedsam"),
        "BLUR and LUS": variant("dp_fedblur"),
        "Fed-SMP": variant("dp_fedsmp"),
        "DP-Fed-LS": variant("dp_fedls"),
        # Those with user-specific steps need stored examples.
        **({"Ditto": variant("ditto"), "Fine-tuning": variant("fine_tuning")} if local_steps else {}),
    }
    return {
        "PPSGD": variant("ppsgd", form, {"personalization": personal}),
        "Global private SGD": variant("ppsgd", form | {"personalization": math.inf}),
        "DP-FedAvg": variant("dp_fedavg"),
        "Local learning": local_learning,
        **{name: each._replace(on_request=True) for name, each in on_request.items()},
    }


def alone(steps: int) -> Count:
    """Return the number of rounds of learning alone: its argument, or else these."""
    return lambda task, args: args["total_steps"] or steps


def of_silos(rounds: Sequence[int] = (2, 5, 14, 35), num_records: int = 0) -> dict[str, Variant]:
    """Return the record-level methods of silos.

    Args:
        rounds: values that `phase_rounds` is tuned over.
        num_records: batch size of local learning; 0 leaves local learning out, for tasks that measure a single model.
    """
    plain, one_phase = {"sampler": "all", "smoothing": "none"}, {"phase_rounds": list(rounds)}
    two_phases = {"phase_rounds": [5, 10, 20], "regularization": Interval(1e-4, 1e-2)}
    own = {"batch_size": num_records, "local": "dense"}
    local_learning = variant("local_learning", own, num_rounds=alone(LOCAL_STEPS))
    variants = {
        "One-pass MB-SGD": variant("minibatch_sgd", plain | {"sampler": "once"}, one_phase),
        "Multi-pass MB-SGD": variant("minibatch_sgd", plain, one_phase),
        "Localized MB-SGD": variant("localized", plain | {"num_phases": 2}, two_phases),
        **({"Local learning": local_learning} if num_records else {}),
        "Accelerated MB-SGD": variant("accelerated", plain, one_phase, on_request=True),
    }
    return {name: each._replace(num_rounds=each.num_rounds or total_rounds) for name, each in variants.items()}


def of_schools() -> dict[str, Variant]:
    """Return the methods on silos of unequal size, which use all their records in every step: a model of each, and one
    of all.

    With Poisson samples the privacy loss differs by the size of a silo, and computing it for every size takes minutes.
    """
    own = {"sampler": "all", "start": "own"}
    return {
        "MR-MTL": variant("mr_mtl", own),
        "FedAvg of records": variant("mr_mtl", own | {"regularization": 0.0, "start": "mean"}),
        "Private local learning": variant("mr_mtl", own | {"regularization": 0.0}),
        "Local learning": variant("local_learning", {"local": "dense"}, num_rounds=alone(LOCAL_STEPS)),
    }


def of_networks() -> dict[str, Variant]:
    """DP-SGD at every client: with averaging after every epoch and once at the end, clipping by layer, with other
    servers, local objectives and control variates, with a model for each client; and each client alone, with and
    without privacy. How often those average that do not say it in their name is the same for all (`num_epochs` of the
    task)."""
    steps = ALGORITHMS["dpsgd_fedopt"].space
    on_request = {
        "DP-SGD + FedAvgM": variant(
            "dpsgd_fedopt", {"optimiser": "momentum"}, {name: steps[name] for name in OF_MOMENTUM}
        ),
        "DP-SGD + FedAdam": variant("dpsgd_fedopt", {"optimiser": "adam"}),
        "DP-SGD + FedProx": variant("dpsgd_fedprox"),
        "DP-FedAdamW": variant("dpsgd_fedadamw"),
        "DP-SCAFFOLD": variant("dpsgd_scaffold"),
        "DP-SGD + FedAvg (by layer)": variant("dpsgd_fedavg", {"num_epochs": 1.0, "clipping": "per_layer"}),
        "MR-MTL": variant("dpsgd_mrmtl"),
        "Private local learning": variant("dpsgd_mrmtl", {"regularization": 0.0}),
    }
    variants = {
        "DP-SGD + FedAvg (E = 1)": variant("dpsgd_fedavg", {"num_epochs": 1.0}),
        "DP-SGD + FedAvg (E = 20)": variant("dpsgd_fedavg", {"num_epochs": 20.0}),
        **{name: each._replace(on_request=True) for name, each in on_request.items()},
        "Local learning": variant("local_networks"),
    }
    return {name: each._replace(num_rounds=lambda task, args: args["total_epochs"]) for name, each in variants.items()}


def of_peers() -> dict[str, Variant]:
    """Return the methods of agents on a graph; all noise is Gaussian, and gradients are clipped in the L2 norm.

    Those on request learn one model for all agents. DECOR only protects against observers who share no noise.
    """
    gaussian = {"mechanism": "gaussian"}

    def all_updates(task: Task, args: Mapping[str, Any]) -> int:
        """Return the number of rounds in which every agent makes all its updates."""
        return -(-task.num_clients * args["max_updates"] // args["num_ticks"])

    def rounds(number: int) -> Count:
        return lambda task, args: number

    def descent(updates: int) -> Variant:
        args = gaussian | {"max_updates": updates, "num_updates": float(updates), "start": "zero"}
        each = rounds(updates)
        return variant("coordinate_descent", args, num_rounds=all_updates, num_releases=each)

    one_model, space = {"num_rounds": rounds(30), "on_request": True}, ALGORITHMS["dp_dsgd"].space
    return {
        "Coordinate descent (1 update)": descent(1),
        "Coordinate descent (4 updates)": descent(4),
        "Model propagation (one release)": variant(
            "model_propagation",
            gaussian | {"local": "noisy_step", "start": "solution"},
            {"step_size": Interval(0.05, 1.0)},
            num_rounds=rounds(1),
            num_releases=rounds(1),
        ),
        "Local learning": variant("local_models", {"mu": 0.04}, num_rounds=rounds(20)),
        "DP-D-SGD": variant("dp_dsgd", {"pair_noise_ratio": 0.0}, **one_model),
        "DECOR (against outsiders)": variant(
            "dp_dsgd", {}, {**space, "pair_noise_ratio": Interval(1.0, 10.0)}, against=OUTSIDERS, **one_model
        ),
    }


def _fewest_examples(task: Task) -> int:
    return int(np.min(np.asarray(task.num_examples)))


def _users_of(task: Task) -> dict[str, Variant]:
    local = "dense" if task.gram is None else "dual"
    return of_users(Interval(1.0, 100.0), None if task.train is None else LOCAL_STEPS, local)


def _silos_of(task: Task) -> dict[str, Variant]:
    most = _fewest_examples(task)  # a record is used in one round of the one-pass method
    return of_silos([count for count in (1, 2, 5, 14, 35) if count <= most])


STEPS = Interval(1e-3, 10.0)
CLIP_NORMS = Interval(0.1, 10.0)
ALONE = {OWN_STEPS: lengths(LOCAL_STEPS)}
LEVELS = {
    "user": Level(
        neighbors=ADD_OR_REMOVE,
        against="everybody who sees the shared model",
        adversaries=("everybody who sees the shared model", "all other users together"),
        samplers={ADD_OR_REMOVE: "poisson", REPLACE: "fixed"},
        rounds=200,
        space={"step_size": STEPS, "server_step_size": STEPS, "clip_norm": CLIP_NORMS, **ALONE},
        defaults=lambda task: {
            "batch_size": min(10, int(np.max(np.asarray(task.num_examples)))),
            "num_sampled": min(50, max(1, task.num_clients // 4)),
            "num_steps": 5,
        },
        baselines=_users_of,
    ),
    "record": Level(
        neighbors=REPLACE,
        against="the server and the other silos",
        adversaries=("the server and the other silos",),
        samplers={REPLACE: "all"},
        rounds=35,
        space={"step_size": STEPS, "clip_norm": CLIP_NORMS, **ALONE},
        defaults=lambda task: {"num_sampled": task.num_clients, "batch_size": 1},
        baselines=_silos_of,
    ),
    "example": Level(
        neighbors=ADD_OR_REMOVE,
        against="the server",
        adversaries=("the server", "the server and the other silos"),
        samplers={ADD_OR_REMOVE: "poisson"},
        rounds=20,
        space={"step_size": STEPS, "clip_norm": CLIP_NORMS, **ALONE, OWN_EPOCHS: [20, 40, 80]},
        defaults=lambda task: {
            "total_epochs": 20,
            "batch_size": min(64, _fewest_examples(task)),
            "momentum": 0.5,
            "num_epochs": 1.0,
        },
        baselines=lambda task: of_networks(),
    ),
    "point": Level(
        neighbors=REPLACE,
        against="all other agents",
        adversaries=("all other agents together",),
        samplers={},
        rounds=1,
        space={"mu": Interval(0.01, 1.28), "regularization_scale": Interval(0.1, 100.0)},
        defaults=lambda task: {"clip_norm": 1.0, "lipschitz": 1.0, "num_ticks": task.num_clients},
        baselines=lambda task: of_peers(),
    ),
}
