"""The problems of the suite, by the names used for comparisons."""

import dataclasses
import logging
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import flax.linen as nn

from bench.algorithms.loading import load_network
from bench.algorithms.search_space import OWN_STEP, OWN_STEPS, Interval
from bench.comparison.baselines import (
    LOCAL_STEPS,
    lengths,
    of_networks,
    of_peers,
    of_schools,
    of_silos,
    of_users,
    variant,
)
from bench.comparison.problem import Problem, from_tasks
from bench.comparison.search import searched
from bench.data.read.tables import CLIENT, LABEL, is_table
from bench.data.task import Task
from bench.data.tasks import digits, odd_even
from bench.data.tasks.by_network import NUM_COMMON, Hits
from bench.data.tasks.by_user import BY_USER
from bench.data.tasks.clients_file import (
    ERRORS_BY_USER,
    TEST,
    VALIDATION,
    clients_file,
    clients_with_network,
    described,
    dual_pays,
    num_train,
    read_clients,
    sums_of_squares,
)
from bench.data.tasks.images import PICTURES, client_size, largest_weight
from bench.data.tasks.registry import TASKS, compared, misnamed
from bench.errors import InputError, unknown_name
from bench.inputs.values import distinct_pairs, value

log = logging.getLogger(__name__)
PERSONAL = "log:1:100"  # ratio of the step sizes of PPSGD
OWN_EXAMPLES = "every user's own test examples"
BY_WEIGHT = {  # how users are weighted, by the end of a metric's name
    "per_user": "as the mean over users",
    "worst_tenth": "as the mean over the tenth of the users with the worst scores",
    "small_users": "as the mean over the third of the users with the fewest examples",
    "large_users": "as the mean over the third of the users with the most examples",
}
ON_COMMON = "the same for the model of every user, as the mean over users"
NUM_TESTS = 10_000  # test images of MNIST and Fashion-MNIST, the same in every trial


def _users(
    name: str,
    make: Callable[[int], Task],
    *,
    steps: str,
    server_steps: str = "",
    own_steps: str = "",
    clip_norm: float = 10.0,
    personal: str = PERSONAL,
    local_steps: int | None = LOCAL_STEPS,
    local: str = "dual",
    metric: str = "test_accuracy",
    also: tuple[str, ...] = BY_USER,
    own: str = OWN_EXAMPLES,
    pooled: str = "all examples together",
    common: str = "",
    **fields: Any,
) -> Problem:
    """Return a problem of users with personal models.

    Args:
        steps: the interval of step sizes.
        server_steps, own_steps: those of the server, and those of users' own models; "" takes `steps`. A momentum makes
            the server's steps longer, and the interval is that of the longer ones.
        personal: the interval of the ratio of the step sizes of PPSGD.
        local_steps: the least steps of a user alone; None for a stream.
        local: form of the local models, as for `ppsgd`.
        own, pooled: whose data `metric` is measured on, and how users are weighted.
        common: examples that the models of all users are also measured on; "" for none.
        fields: of the problem.
    """
    shared = {f"common_{metric.removeprefix('test_')}": f"{common}, {ON_COMMON}"} if common else {}
    usual = {
        "tuned_by": metric.replace("test_", "validation_", 1),
        "delta": 1e-4,
        "defaults": {"batch_size": 10, "num_sampled": 50},
        "by_user": digits.test_hits,
    }
    return Problem(
        name=name,
        test=make,
        metric=metric,
        space={
            "step_size": searched(steps),
            "server_step_size": searched(server_steps or steps),
            "clip_norm": Interval(clip_norm / 30, clip_norm * 3),
            OWN_STEP: searched(own_steps or steps),
            OWN_STEPS: lengths(local_steps or LOCAL_STEPS),
        },
        baselines=of_users(searched(personal), local_steps, local),
        common="".join(shared),
        measured_on={
            metric: f"{own}, {pooled}",
            **{name: f"{own}, {words}" for name in also for end, words in BY_WEIGHT.items() if name.endswith(end)},
            **shared,
        },
        **usual | fields,
    )


def _networks(name: str, make: Callable[[int], Task], *, module: nn.Module, **facts: Any) -> Problem:
    """Return a problem of users with a network; arguments as for `_users`."""
    on = _users(name, make, local="dense", by_user=Hits(module), **facts)
    of_layers = {
        "DP-FedAvg (by layer)": variant("dp_fedavg", {"clipping": "per_layer"}, on_request=True),
        "PPSGD with own heads": variant("ppsgd", {"local": "head"}, {"personalization": searched(PERSONAL)}),
        "FedRep": variant("dp_fedrep", {}, {}),
        "FedPer": variant("dp_fedrep", {"order": "together"}, {}),
    }
    return dataclasses.replace(on, baselines={**(on.baselines or {}), **of_layers})


def _tuned_on_less(
    name: str,
    make: Callable[..., Task],
    measured_on: Mapping[str, str],
    tuning: Mapping[str, str] = MappingProxyType({"part": "validation"}),
    **fields: Any,
) -> Problem:
    """Return a problem that is tuned on a task of its own.

    Args:
        measured_on: the metric, and then one that is measured on a test that all clients have in common, if any, with
            what each is measured on.
        tuning: the arguments that make the task to tune on of the other.
        fields: of the problem.
    """
    metric, *also = measured_on
    return Problem(
        name=name,
        test=make,
        tuning=partial(make, **tuning),
        metric=metric,
        common="".join(also),
        measured_on=measured_on,
        **fields,
    )


def _silos(name: str, make: Callable[..., Task], *, num_records: int, **fields: Any) -> Problem:
    """Return a problem of 25 silos with so many records each."""
    return _tuned_on_less(
        name,
        make,
        privacy_unit="record",
        delta=1 / num_records**2,
        space={"step_size": searched("log:1:1000")},
        baselines=of_silos(num_records=50),
        test_ratio=(1 - odd_even.TRAIN) / odd_even.TRAIN,
        held_out="a fifth of the training images, split between the silos in the same way",
        **fields,
    )


def _images(name: str, make: Callable[..., Task]) -> Problem:
    """Return a problem of ten clients with images."""
    assert isinstance(make, partial)
    dataset, share = make.keywords["dataset"], make.keywords.get("share", 1.0)
    concentration = make.keywords.get("concentration", math.inf)  # how similar the clients' classes are
    size = client_size(PICTURES[dataset].num_train, 10, share=share)
    classes = "" if math.isinf(concentration) else f", classes by Dirichlet({concentration:g})"
    everywhere = {"test_accuracy": "the test images of the data set, the same for every client"}
    # Where classes differ, clients are tested on what they meet, and beside it all alike.
    local = {"local_test_accuracy": "every client's own mix of classes, as the mean over clients"}
    return _tuned_on_less(
        name,
        make,
        everywhere if math.isinf(concentration) else {**local, **everywhere},
        privacy_unit="example",
        space={"step_size": Interval(0.02, 4.0)},
        baselines=of_networks(),
        # Clients that keep few images have others in every trial; else only the deal of the same images differs.
        test_ratio=0.0 if share < 1 else NUM_TESTS / PICTURES[dataset].num_train,
        num_tests=NUM_TESTS,
        largest_weight=None if math.isinf(concentration) else largest_weight,
        data=f"{PICTURES[dataset].title}, ten clients with {size:,} images each{classes}",
        held_out="10,000 held-out training images",
    )


def _peers(name: str, make: Callable[..., Task], *, clip_norm: float = 1.0, **fields: Any) -> Problem:
    """Return a problem of agents on a graph."""
    return _tuned_on_less(
        name,
        make,
        privacy_unit="point",
        delta=math.exp(-5),
        defaults={"clip_norm": clip_norm, "lipschitz": clip_norm},
        baselines=of_peers(),
        **fields,
    )


def _schools(name: str, make: Callable[..., Task], **fields: Any) -> Problem:
    """Return a problem of schools of unequal size."""
    return _tuned_on_less(
        name,
        make,
        {"test_squared_error": "every school's own held-out pupils, all pupils together"},
        privacy_unit="example",
        delta=1e-3,
        rounds=200,
        defaults={"batch_size": 32},
        space={"step_size": Interval(0.01, 1.0), OWN_STEP: Interval(1e-3, 0.1), "clip_norm": Interval(0.1, 3.0)},
        baselines=of_schools(),
        held_out="a fifth of every school's training pupils",
        **fields,
    )


KINDS: dict[str, Callable[..., Problem]] = {  # kind of a task in the table -> (name, function, facts) -> the problem
    "users": _users,
    "users with a network": _networks,
    "clients with pictures": _images,
    "silos": _silos,
    "schools": _schools,
    "agents": _peers,
}


def problem_named(name: str) -> Problem:
    """Return the problem of a task of the table that methods are compared on."""
    of = TASKS[name]
    return KINDS[of.kind](name, of.make, **of.facts)


def problem(task: Any) -> Problem:
    """Return the problem that a caller names or passes.

    Args:
        task: a name of the table; a file or folder with a user's own clients; a Problem; or a Task or function trial ->
            Task with one metric test_X and one validation_X.

    Raises:
        InputError: for any other type, an unknown name, or a file that cannot be used.
    """
    if isinstance(task, Problem):
        return task
    if isinstance(task, Task) or (callable(task) and not isinstance(task, type)):
        return from_tasks(task)
    if not isinstance(task, str):
        raise InputError(
            f"task is {task!r}: give a name, 'FILE.npz', 'FILE.csv', a bench.Problem, a Task, or a function "
            "trial -> Task"
        )
    if task in compared():
        return problem_named(task)
    path, colon, options = (task, "", "") if Path(task).exists() else task.partition(":")
    if path.endswith(".npz") or is_table(Path(path)) or Path(path).is_file():
        return _own(path, distinct_pairs("task", options.split(",")) if colon else {})
    names, otherwise = [*compared(), "FILE.npz", "FILE.csv", "FILE.parquet"], ""
    if task in TASKS:
        otherwise = ", or pass a bench.Problem of it, which says which data tune a method and what is private"
    raise misnamed(task, "a task of `compare`", names, otherwise)


def _own(path: str, said: dict[str, Any]) -> Problem:
    """Return the problem of a user's own clients, by what the name of the task says of them."""
    for name in said:
        if name not in (known := ("client", "label", "regression", "network", "drop_small", "delta")):
            raise unknown_name("fact about data of your own", name, known)
    said |= {name: value(said[name]) for name in ("regression", "drop_small", "delta") if name in said}
    for name in ("regression", "drop_small"):
        if not isinstance(said.get(name, False), bool):
            raise InputError(f"{name} is {said[name]}: give True or False")
    return own_clients(path, **said)


def _own_network(trial: int, *, network: Any, **where: Any) -> Task:
    module, code = load_network(network)
    return clients_with_network(trial, module=module, code=code, **where)


def own_clients(
    path: str | Path,
    *,
    client: str | None = None,
    label: str | None = None,
    regression: bool = False,
    network: Any = None,
    drop_small: bool = False,
    delta: float = 1e-4,
) -> Problem:
    """Return the problem of a user's own clients, and log what their file has.

    Args:
        path: an npz file of arrays, a CSV or Parquet file, or a folder of those.
        client, label: names of columns, default "client" and "label"; not for npz files.
        regression: whether to predict labels as numbers; not for npz files, nor with a network.
        network: a flax module, a function that returns one, or FILE.py:NAME of either: inputs [example, ...] -> logits
            [example, class]. Without it the model is linear.
        drop_small: whether to leave out clients with fewer than five examples.
        delta: of (epsilon, delta)-DP.

    Raises:
        InputError: for a file that cannot be used, an option that does not apply to npz files, or a network that cannot
            be loaded.
    """
    path = Path(path)
    if path.is_file() and path.suffix != ".npz" and not is_table(path):
        raise InputError(f"{path} is no file of clients, which end in .npz, .csv or .parquet: give one of those")
    if network is not None and regression:
        raise InputError("a network is for classes: leave out regression, or the network for a linear model of numbers")
    if path.suffix == ".npz" and (regression or client is not None or label is not None):
        raise InputError(f"{path} has no columns, and its targets are classes: give a CSV or Parquet file")
    columns: dict[str, Any] = {"client": client or CLIENT, "label": label or LABEL}
    found = read_clients(path, **columns, regression=regression, network=network is not None, drop_small=drop_small)
    for line in described(found, path):
        log.warning("%s", line)
    facts: dict[str, Any] = {
        "defaults": {"batch_size": min(10, num_train(found.sizes.min())), "num_sampled": min(50, len(found.sizes))},
        "delta": delta,
        "test_ratio": TEST / (1 - TEST - VALIDATION),
        "held_out": "a tenth of each client's examples",
    }
    where: dict[str, Any] = {"path": path, **columns, "drop_small": drop_small}
    if network is not None:
        module, _ = load_network(network)
        facts |= {"steps": "log:1e-3:1", "local": "dense", "by_user": Hits(module), "clip_norm": 1.0}
        facts["common"] = f"{NUM_COMMON} test examples of all clients"
        return _users(path.name, partial(_own_network, network=network, **where), **facts)
    facts |= {"steps": "log:1e-4:1", "local": "dual" if dual_pays(found) else "dense"}
    if regression:
        facts |= {"metric": "test_squared_error", "by_user": sums_of_squares, "also": ERRORS_BY_USER}
    return _users(path.name, partial(clients_file, **where, regression=regression), **facts)
