"""The suite's baselines for each privacy unit, and the values that their arguments are tuned over."""

import math
from collections.abc import Callable, Mapping, Sequence
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


def of_users(personal: Choices, local_steps: int | None, local: str = "dual") -> dict[str, Variant]:
    """Return the user-level methods.

    Args:
        personal: ratios of step sizes that PPSGD is tuned over.
        local_steps: steps of local learning for users with stored examples where they are not tuned, independent of the
            number of rounds. With a stream (None), users learn only in the rounds that draw them, since only then do
            they receive examples.
        local: form of the local models for stored examples, "dual" or "dense".
    """
    ppsgd, form = ALGORITHMS["ppsgd"], {"local": local} if local_steps else {}
    if local_steps:
        local_learning = Variant(ALGORITHMS["local_learning"], form, {}, alone(local_steps))
    else:
        local_learning = Variant(ppsgd, form | {"personalization": 0.0}, {})
    return {
        "PPSGD": Variant(ppsgd, form, {"personalization": personal}),
        "Global private SGD": Variant(ppsgd, form | {"personalization": math.inf}, {}),
        "DP-FedAvg": Variant(ALGORITHMS["dp_fedavg"], {"num_steps": 5}, {}),
        "Local learning": local_learning,
        **_of_users_on_request(local_steps),
    }


def _of_users_on_request(local_steps: int | None) -> dict[str, Variant]:
    """Variants of DP-FedAvg with the same five local steps. Those with user-specific steps need stored examples."""
    averaging, five = ALGORITHMS["dp_fedavg"], {"num_steps": 5}
    opt, steps = ALGORITHMS["dp_fedopt"], ALGORITHMS["dp_fedopt"].space
    momentum = {name: steps[name] for name in ("server_step_size", "beta1")}
    variants = {
        "DP-FedAvg in turn": Variant(averaging, five | {"sampler": "cyclic"}, {}),
        "DP-FedAvg with banded noise": Variant(averaging, five | {"sampler": "cyclic", "noise": "banded_sqrt"}, {}),
        "DP-FedAvg with banded noise, sampled": Variant(
            averaging, five | {"sampler": "cyclic_poisson", "noise": "banded_sqrt"}, {}
        ),
        "DP-FedAvg with adaptive clipping": Variant(averaging, five | {"clipping": "adaptive"}, {}),
        "FedAvgM": Variant(opt, five | {"optimiser": "momentum"}, momentum),
        "FedAdam": Variant(opt, five | {"optimiser": "adam"}, steps),
        "FedYogi": Variant(opt, five | {"optimiser": "yogi"}, steps),
        "FedProx": Variant(ALGORITHMS["dp_fedprox"], five, ALGORITHMS["dp_fedprox"].space),
        "DP-FedSAM": Variant(ALGORITHMS["dp_fedsam"], five, ALGORITHMS["dp_fedsam"].space),
        "BLUR and LUS": Variant(ALGORITHMS["dp_fedblur"], five, ALGORITHMS["dp_fedblur"].space),
        "Fed-SMP": Variant(ALGORITHMS["dp_fedsmp"], five, ALGORITHMS["dp_fedsmp"].space),
        "DP-Fed-LS": Variant(ALGORITHMS["dp_fedls"], five, ALGORITHMS["dp_fedls"].space),
    }
    if local_steps:
        ditto, tuned = ALGORITHMS["ditto"], ALGORITHMS["fine_tuning"]
        variants["Ditto"] = Variant(ditto, {}, ditto.space)
        variants["Fine-tuning"] = Variant(tuned, five, tuned.space)
    return {name: variant._replace(on_request=True) for name, variant in variants.items()}


def alone(steps: int) -> Count:
    """Return the number of rounds of learning alone: its argument, or else these."""
    return lambda task, args: args["total_steps"] or steps


def of_silos(
    rounds: Sequence[int] = (2, 5, 14, 35), later: Sequence[int] = (5, 10, 20), num_records: int = 0
) -> dict[str, Variant]:
    """Return the record-level methods of silos.

    Args:
        rounds: values that `phase_rounds` is tuned over.
        later: the same for the method with two phases.
        num_records: batch size of local learning; 0 leaves local learning out, for tasks that measure a single model.
    """
    sgd, plain = ALGORITHMS["minibatch_sgd"], {"sampler": "all", "smoothing": "none"}
    phase_rounds = {"phase_rounds": list(rounds)}
    own = {"batch_size": num_records, "local": "dense"}
    local_learning = Variant(ALGORITHMS["local_learning"], own, {}, alone(LOCAL_STEPS))
    return {
        "One-pass MB-SGD": Variant(sgd, plain | {"sampler": "once"}, phase_rounds, total_rounds),
        "Multi-pass MB-SGD": Variant(sgd, plain, phase_rounds, total_rounds),
        "Localized MB-SGD": Variant(
            ALGORITHMS["localized"],
            plain | {"num_phases": 2},
            {"phase_rounds": list(later), "regularization": Interval(1e-4, 1e-2)},
            total_rounds,
        ),
        **({"Local learning": local_learning} if num_records else {}),
        "Accelerated MB-SGD": Variant(ALGORITHMS["accelerated"], plain, phase_rounds, total_rounds, on_request=True),
    }


def of_schools() -> dict[str, Variant]:
    """Return the methods on silos of unequal size, which use all their records in every step: a model of each, and one
    of all.

    With Poisson samples the privacy loss differs by the size of a silo, and computing it for every size takes minutes.
    """
    method, all_records = ALGORITHMS["mr_mtl"], {"sampler": "all"}
    private = all_records | {"start": "own", "regularization": 0.0}
    return {
        "MR-MTL": Variant(method, all_records | {"start": "own"}, method.space),
        "FedAvg of records": Variant(method, private | {"start": "mean"}, {}),
        "Private local learning": Variant(method, private, {}),
        "Local learning": Variant(ALGORITHMS["local_learning"], {"local": "dense"}, {}, alone(LOCAL_STEPS)),
    }


def of_networks() -> dict[str, Variant]:
    """DP-SGD at every client: with averaging after every epoch and once at the end, clipping by layer, with other
    servers, local objectives and control variates, with a model for each client; and each client alone, with and
    without privacy. How often those average that do not say it in their name is the same for all (`num_epochs` of the
    task)."""
    names = ("fedavg", "fedopt", "fedprox", "fedadamw", "scaffold", "mrmtl")
    method, server, prox, adamw, scaffold, own = (ALGORITHMS[f"dpsgd_{name}"] for name in names)
    momentum = {name: server.space[name] for name in ("server_step_size", "beta1")}

    def all_epochs(task: Task, args: Mapping[str, Any]) -> int:
        return args["total_epochs"]

    return {
        **{
            f"DP-SGD + FedAvg (E = {epochs})": Variant(method, {"num_epochs": float(epochs)}, {}, all_epochs)
            for epochs in (1, 20)
        },
        **{
            name: variant._replace(num_rounds=all_epochs, on_request=True)
            for name, variant in {
                "DP-SGD + FedAvgM": Variant(server, {"optimiser": "momentum"}, momentum),
                "DP-SGD + FedAdam": Variant(server, {"optimiser": "adam"}, server.space),
                "DP-SGD + FedProx": Variant(prox, {}, prox.space),
                "DP-FedAdamW": Variant(adamw, {}, adamw.space),
                "DP-SCAFFOLD": Variant(scaffold, {}, {}),
                "DP-SGD + FedAvg (by layer)": Variant(method, {"num_epochs": 1.0, "clipping": "per_layer"}, {}),
                "MR-MTL": Variant(own, {}, own.space),
                "Private local learning": Variant(own, {"regularization": 0.0}, {}),
            }.items()
        },
        "Local learning": Variant(ALGORITHMS["local_networks"], {}, {}, all_epochs),
    }


def of_peers() -> dict[str, Variant]:
    """Return the methods of agents on a graph; all noise is Gaussian, and gradients are clipped in the L2 norm."""
    gaussian = {"mechanism": "gaussian"}

    def all_updates(task: Task, args: Mapping[str, Any]) -> int:
        """Return the number of rounds in which every agent makes all its updates."""
        return -(-task.num_clients * args["max_updates"] // args["num_ticks"])

    def of_each(task: Task, args: Mapping[str, Any]) -> int:
        return args["max_updates"]

    def once(task: Task, args: Mapping[str, Any]) -> int:
        return 1

    return {
        **{
            f"Coordinate descent ({updates} update{'s' if updates > 1 else ''})": Variant(
                ALGORITHMS["coordinate_descent"],
                gaussian | {"max_updates": updates, "num_updates": float(updates), "start": "zero"},
                {},
                all_updates,
                of_each,
            )
            for updates in (1, 4)
        },
        "Model propagation (one release)": Variant(
            ALGORITHMS["model_propagation"],
            gaussian | {"local": "noisy_step", "start": "solution"},
            {"step_size": Interval(0.05, 1.0)},
            once,
            once,
        ),
        "Local learning": Variant(ALGORITHMS["local_models"], {"mu": 0.04}, {}, lambda task, args: 20),
        **_of_peers_on_request(),
    }


def _of_peers_on_request() -> dict[str, Variant]:
    """Methods that learn one model for all agents; DECOR only protects against observers who share no noise."""
    method, rounds = ALGORITHMS["dp_dsgd"], 30
    ratios = {"pair_noise_ratio": Interval(1.0, 10.0)}
    variants = {
        "DP-D-SGD": Variant(method, {"pair_noise_ratio": 0.0}, method.space),
        "DECOR (against outsiders)": Variant(method, {}, {**method.space, **ratios}, against=OUTSIDERS),
    }
    return {
        name: variant._replace(num_rounds=lambda task, args: rounds, on_request=True)
        for name, variant in variants.items()
    }


def _fewest_examples(task: Task) -> int:
    return int(np.min(np.asarray(task.num_examples)))


def _most_examples(task: Task) -> int:
    return int(np.max(np.asarray(task.num_examples)))


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
            "batch_size": min(10, _most_examples(task)),
            "num_sampled": min(50, max(1, task.num_clients // 4)),
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
