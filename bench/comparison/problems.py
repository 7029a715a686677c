"""The problems of the suite, by the names used for comparisons."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import flax.linen as nn

from bench.algorithms import ALGORITHMS
from bench.algorithms.loading import load_network
from bench.algorithms.search_space import OWN_STEP, OWN_STEPS, Interval
from bench.comparison.baselines import (
    LOCAL_STEPS,
    Variant,
    lengths,
    of_networks,
    of_peers,
    of_schools,
    of_silos,
    of_users,
)
from bench.comparison.problem import Problem, from_tasks
from bench.comparison.search import Choices, searched
from bench.data.files import DataFiles, with_files
from bench.data.read.tables import CLIENT, LABEL, is_table
from bench.data.task import Task
from bench.data.tasks import bag_of_words, digits, odd_even, ratings, shakespeare
from bench.data.tasks import cifar_users as cifar
from bench.data.tasks.by_network import NUM_COMMON, Hits
from bench.data.tasks.by_user import BY_USER
from bench.data.tasks.clients_file import (
    ERRORS_BY_USER,
    TEST,
    VALIDATION,
    clients_file,
    clients_table,
    clients_with_network,
    sums_of_squares,
)
from bench.data.tasks.images import PICTURES, client_size, largest_weight
from bench.data.tasks.registry import COMPARED, TASKS, misnamed
from bench.data.tasks.synthetic import risks
from bench.errors import InputError
from bench.models import digits_cnn
from bench.models.user_networks import PictureCNN

PERSONAL = Interval(1.0, 100.0)  # ratio of the step sizes of PPSGD
OWN_EXAMPLES = "every user's own test examples"
BY_WEIGHT = {  # how users are weighted, by the end of a metric's name
    "per_user": "as the mean over users",
    "worst_tenth": "as the mean over the tenth of the users with the worst scores",
    "small_users": "as the mean over the third of the users with the fewest examples",
    "large_users": "as the mean over the third of the users with the most examples",
}
NUM_TESTS = 10_000  # test images of MNIST and Fashion-MNIST, the same in every trial


def _users(
    name: str,
    make: Callable[[int], Task],
    steps: str,
    *,
    server_steps: str = "",
    own_steps: str = "",
    test_ratio: float,
    data: str = "",
    held_out: str,
    remark: str = "",
    metric: str = "test_accuracy",
    tuned_by: str = "validation_accuracy",
    clip_norm: float = 10.0,
    personal: Choices = PERSONAL,
    local_steps: int | None = LOCAL_STEPS,
    local: str = "dual",
    by_user: Callable = digits.test_hits,
    also: tuple[str, ...] = BY_USER,
    own: str = OWN_EXAMPLES,
    pooled: str = "all examples together",
) -> Problem:
    """Return a problem of users with personal models.

    Args:
        steps: the interval of step sizes.
        server_steps, own_steps: those of the server, and those of users' own models; "" takes `steps`. A momentum makes
            the server's steps longer, and the interval is that of the longer ones.
        local_steps: the least steps of a user alone; None for a stream.
        local: form of the local models, as for `ppsgd`.
        own, pooled: whose data `metric` is measured on, and how users are weighted.
    """
    return Problem(
        name=name,
        test=make,
        metric=metric,
        tuned_by=tuned_by,
        privacy_unit="user",
        delta=1e-4,
        defaults={"batch_size": 10, "num_sampled": 50},
        space={
            "step_size": searched(steps),
            "server_step_size": searched(server_steps or steps),
            "clip_norm": Interval(clip_norm / 30, clip_norm * 3),
            OWN_STEP: searched(own_steps or steps),
            OWN_STEPS: lengths(local_steps or LOCAL_STEPS),
        },
        baselines=of_users(personal, local_steps, local),
        by_user=by_user,
        also=also,
        measured_on={
            metric: f"{own}, {pooled}",
            **{name: f"{own}, {words}" for name in also for end, words in BY_WEIGHT.items() if name.endswith(end)},
        },
        test_ratio=test_ratio,
        data=data,
        held_out=held_out,
        remark=remark,
    )


def _silos(
    name: str,
    num_records: int,
    *,
    data: str,
    remark: str = "",
    steps: str = "log:1:1000",
    measured_on: Mapping[str, str],
) -> Problem:
    """Return a problem of 25 silos.

    Args:
        num_records: records of a silo.
        measured_on: the metric, and then those measured beside it, with what each is measured on.
    """
    metric, *also = measured_on
    return Problem(
        name=name,
        test=COMPARED[name],
        tuning=partial(COMPARED[name], part="validation"),
        metric=metric,
        also=tuple(also),
        common=also[0] if also else "",
        measured_on=measured_on,
        privacy_unit="record",
        delta=1 / num_records**2,
        defaults={"num_sampled": len(odd_even.PAIRS), "batch_size": 1},
        space={"step_size": searched(steps)},
        baselines=of_silos(num_records=50),
        test_ratio=(1 - odd_even.TRAIN) / odd_even.TRAIN,
        data=data,
        held_out="a fifth of the training images, split between the silos in the same way",
        remark=remark,
    )


def _images(name: str) -> Problem:
    """Return a problem of ten clients with images."""
    make = COMPARED[name]
    assert isinstance(make, partial)
    dataset, share = make.keywords["dataset"], make.keywords.get("share", 1.0)
    concentration = make.keywords.get("concentration", math.inf)  # how similar the clients' classes are
    size = client_size(dataset, 10, share=share)
    classes = "" if math.isinf(concentration) else f", classes by Dirichlet({concentration:g})"
    everywhere = {"test_accuracy": "the test images of the data set, the same for every client"}
    # Where classes differ, clients are tested on what they meet, and beside it all alike.
    local = {"local_test_accuracy": "every client's own mix of classes, as the mean over clients"}
    measured_on = everywhere if math.isinf(concentration) else {**local, **everywhere}
    metric, *also = measured_on
    return Problem(
        name=name,
        test=make,
        tuning=partial(make, part="validation"),
        metric=metric,
        also=tuple(also),
        common=also[0] if also else "",
        measured_on=measured_on,
        privacy_unit="example",
        delta=1e-5,
        defaults={"total_epochs": 20, "batch_size": 64, "momentum": 0.5, "num_epochs": 1.0},
        space={"step_size": Interval(0.02, 4.0)},
        baselines=of_networks(),
        # Clients that keep few images have others in every trial; else only the deal of the same images differs.
        test_ratio=0.0 if share < 1 else NUM_TESTS / PICTURES[dataset].num_train,
        num_tests=NUM_TESTS,
        largest_weight=None if math.isinf(concentration) else largest_weight,
        data=f"{PICTURES[dataset].title}, ten clients with {size:,} images each{classes}",
        held_out="10,000 held-out training images",
    )


def _peers(
    name: str,
    metric: str,
    *,
    tuning: Mapping[str, str],
    data: str,
    held_out: str,
    num_ticks: int,
    measured_on: str,
    test_ratio: float,
    clip_norm: float = 1.0,
) -> Problem:
    """Return a problem of agents on a graph. `tuning`: the arguments that make the task to tune on of the other."""
    return Problem(
        name=name,
        test=COMPARED[name],
        tuning=partial(COMPARED[name], **tuning),
        metric=metric,
        measured_on={metric: measured_on},
        privacy_unit="point",
        delta=math.exp(-5),
        defaults={"clip_norm": clip_norm, "lipschitz": clip_norm, "num_ticks": num_ticks},
        baselines=of_peers(),
        test_ratio=test_ratio,
        data=data,
        held_out=held_out,
    )


def _users_alike(
    name: str,
    steps: str,
    *,
    common: str,
    make: Callable[[int], Task] | None = None,
    also: tuple[str, ...] = BY_USER,
    **facts: Any,
) -> Problem:
    """Return a problem of users that also measures the models of all users on the same examples.

    Args:
        steps: the interval of step sizes.
        common: what these examples are.
        make: trial -> the task; default that of this name.
        also: the other metrics beside the metric.
        facts: further arguments of `_users`.
    """
    kind = facts.get("metric", "test_accuracy").removeprefix("test_")
    on = _users(name, make or COMPARED[name], steps, also=(*also, f"common_{kind}"), **facts)
    alike = f"{common}, the same for the model of every user, as the mean over users"
    return dataclasses.replace(
        on,
        common=f"common_{kind}",
        measured_on={**on.measured_on, f"common_{kind}": alike},
    )


def _networks(name: str, module: nn.Module, steps: str, **facts: Any) -> Problem:
    """Return a problem of users with a network; arguments as for `_users_alike`."""
    on = _users_alike(name, steps, local="dense", by_user=Hits(module), **facts)
    rep, five = ALGORITHMS["dp_fedrep"], {"num_steps": 5}
    of_layers = {
        "DP-FedAvg (by layer)": Variant(ALGORITHMS["dp_fedavg"], five | {"clipping": "per_layer"}, {}, on_request=True),
        "PPSGD with own heads": Variant(ALGORITHMS["ppsgd"], {"local": "head"}, {"personalization": PERSONAL}),
        "FedRep": Variant(rep, five, {}),
        "FedPer": Variant(rep, five | {"order": "together"}, {}),
    }
    return dataclasses.replace(on, baselines={**(on.baselines or {}), **of_layers})


def _cifar_users(name: str, classes: str) -> Problem:
    return _users_alike(
        name,
        "log:0.01:3",
        test_ratio=cifar.NUM_TEST / (cifar.SIZE - cifar.NUM_TEST - cifar.NUM_VALIDATION),
        data=f"CIFAR-10, {cifar.NUM_USERS} users with {cifar.SIZE} pictures each, {classes}",
        held_out=f"{cifar.NUM_VALIDATION} of every user's pictures",
        server_steps="log:0.03:30",
        own_steps="log:1e-4:3",
        local_steps=600,
        clip_norm=0.3,
        also=BY_USER[:2],  # all users have equally many pictures
        common=CIFAR_COMMON,
    )


def _shakespeare(name: str, model: str) -> Problem:
    module, context = shakespeare.MODELS[model]
    return _networks(
        name,
        module,
        "log:0.03:10",
        test_ratio=TEST / (1 - TEST - VALIDATION),
        data=f"the next character of a speech from the last {context}, one role of a play per user",
        held_out="a tenth of every role's speeches",
        own_steps="log:1e-3:3",
        local_steps=300,
        clip_norm=3.0,
        common=f"{NUM_COMMON} test characters of all roles",
    )


def _digits(name: str, test_ratio: float, data: str) -> Problem:
    return _users(
        name,
        COMPARED[name],
        "log:1e-4:1e-1",
        own_steps="log:1e-5:1e-2",
        test_ratio=test_ratio,
        data=data,
        held_out=REMAINDER,
        clip_norm=3.0,
    )


def _digits_cnn(name: str, test_ratio: float, data: str) -> Problem:
    return _networks(
        name,
        digits_cnn.Classifier(),
        "log:1e-3:1",
        test_ratio=test_ratio,
        data=f"{data}, by a convolutional network",
        held_out=REMAINDER,
        local_steps=200,  # each of them costs as much as 17 rounds
        clip_norm=1.0,
        common=f"{NUM_COMMON} test images of all users",
    )


def _tags(name: str, test_ratio: float) -> Problem:
    return _users(
        name,
        COMPARED[name],
        "log:1:300",
        test_ratio=test_ratio,
        data="tags of documents, predicted from their words",
        held_out=REMAINDER,
        local_steps=300,  # a step costs sixty times as much as on digits
        by_user=bag_of_words.test_hits,
        clip_norm=0.01,
    )


def _schools(name: str, test_ratio: float, data: str) -> Problem:
    return Problem(
        name=name,
        test=COMPARED[name],
        tuning=partial(COMPARED[name], part="validation"),
        metric="test_squared_error",
        measured_on={"test_squared_error": "every school's own held-out pupils, all pupils together"},
        privacy_unit="example",
        delta=1e-3,
        rounds=200,
        defaults={"batch_size": 32},
        space={"step_size": Interval(0.01, 1.0), OWN_STEP: Interval(1e-3, 0.1), "clip_norm": Interval(0.1, 3.0)},
        baselines=of_schools(),
        test_ratio=test_ratio,
        data=data,
        held_out="a fifth of every school's training pupils",
    )


DIGITS = {  # name -> test images for each that is trained on, and what the data are
    "digits": (0.118, "handwritten digits, one writer per user"),  # 6,997 for 59,390
    "digits_by_style": (0.117, "handwritten digits, one slant and stroke width per user"),  # 6,903 for 58,770
    "emnist_digits": (0.119, "handwritten digits of EMNIST, one writer per user"),  # in the whole file
}
SHAKESPEARE = {"shakespeare": "window", "shakespeare_lstm": "lstm"}
CIFAR_COMMON = f"{cifar.NUM_COMMON:,} test pictures of the data set"
REMAINDER = "each user's leftover examples (n mod 10)"
PROBLEMS: dict[str, Callable[[], Problem]] = {
    "synthetic": lambda: _users(
        "synthetic",
        COMPARED["synthetic"],
        "log:0.05:2",
        test_ratio=0.0,  # every trial draws users and examples
        data="linear regression, 1,000 users who differ in 5 of 100 coefficients",
        held_out="held-out examples",
        remark="The test is the exact risk.",
        metric="excess_risk",
        tuned_by="validation_loss",
        personal=Interval(0.1, 10.0),
        local_steps=None,
        by_user=risks,
        also=("excess_risk_worst_tenth",),
        own="the exact risk of every user's own distribution",
        pooled="as the mean over users",
    ),
    **{name: partial(_digits, name, ratio, data) for name, (ratio, data) in DIGITS.items()},
    **{f"{name}_cnn": partial(_digits_cnn, f"{name}_cnn", ratio, data) for name, (ratio, data) in DIGITS.items()},
    "cifar_users": lambda: _cifar_users("cifar_users", "classes by Dirichlet(0.3)"),
    "cifar_users_0.1": lambda: _cifar_users("cifar_users_0.1", "classes by Dirichlet(0.1)"),
    "cifar_users_0.6": lambda: _cifar_users("cifar_users_0.6", "classes by Dirichlet(0.6)"),
    "cifar_users_equal": lambda: _cifar_users("cifar_users_equal", "equal shares of the classes"),
    "cifar_users_cnn": lambda: _networks(
        "cifar_users_cnn",
        PictureCNN(),
        "log:1e-3:1",
        test_ratio=cifar.NUM_TEST / (cifar.SIZE - cifar.NUM_TEST - cifar.NUM_VALIDATION),
        data=f"CIFAR-10, {cifar.NUM_USERS} users, classes by Dirichlet(0.3), by a convolutional network",
        held_out=f"{cifar.NUM_VALIDATION} of every user's pictures",
        local_steps=200,
        clip_norm=1.0,
        also=BY_USER[:2],
        common=CIFAR_COMMON,
    ),
    **{name: partial(_shakespeare, name, model) for name, model in SHAKESPEARE.items()},
    "insteval": lambda: _users_alike(
        "insteval",
        "log:0.003:3",
        server_steps="log:0.03:30",
        own_steps="log:3e-4:1",
        test_ratio=TEST / (1 - TEST - VALIDATION),
        data="ratings of lectures, one student per user",
        held_out="a tenth of every student's ratings",
        local_steps=100,
        metric="test_squared_error",
        tuned_by="validation_squared_error",
        by_user=ratings.sums_of_squares,
        also=ERRORS_BY_USER,
        common=f"{ratings.NUM_COMMON} test ratings of all users",
        clip_norm=1.0,
    ),
    "tags": lambda: _tags("tags", 0.262),  # 3,550 test documents for 13,540 that are trained on
    "stackoverflow_tags": lambda: _tags("stackoverflow_tags", 0.25),  # not known: the file has a split of its own
    "made_up_tags": lambda: _tags("made_up_tags", 0.0),  # every trial draws users and documents
    "images": lambda: _images("images"),
    "images_dirichlet": lambda: _images("images_dirichlet"),
    "fashion": lambda: _images("fashion"),
    "few_images": lambda: _images("few_images"),
    "few_images_dirichlet": lambda: _images("few_images_dirichlet"),
    "odd_even": lambda: _silos(
        "odd_even",
        odd_even.NUM_RECORDS,
        data="odd against even digits of MNIST, 25 silos",
        remark="The images were split before the silos drew theirs.",
        measured_on={"test_error": "every silo's own test records, as the mean over silos"},
    ),
    "odd_even_dirichlet": lambda: _silos(
        "odd_even_dirichlet",
        odd_even.NUM_DEALT,
        data="odd against even digits of MNIST, 25 disjoint silos, digits by Dirichlet(0.3)",
        measured_on={
            "local_test_error": "every silo's own mix of digits, as the mean over silos",
            "test_error": "all digits alike, on the same test images for every silo",
        },
    ),
    # A fifth of every school is rounded up: 3,124 pupils for 12,238, and 3,798 for 14,928.
    "school": lambda: _schools("school", 0.255, "exam scores of pupils in 139 schools"),
    "made_up_schools": lambda: _schools("made_up_schools", 0.254, "made-up scores of pupils in 139 schools"),
    "linear_p2p": lambda: _peers(
        "linear_p2p",
        "test_accuracy",
        tuning={"instances": "validation"},
        data="generated linear classification, 100 agents on a graph",
        held_out="other problems of the same kind",
        measured_on="every agent's own test points, as the mean over agents",
        num_ticks=100,
        test_ratio=0.0,  # every trial draws agents and points
    ),
    "movielens": lambda: _peers(
        "movielens",
        "test_rmse",
        tuning={"part": "validation"},
        data="film ratings of 943 agents on a graph",
        held_out="a fifth of the training ratings",
        measured_on="every user's own held-out ratings, as the mean over users of their root mean squared errors",
        num_ticks=943,
        test_ratio=0.25,
        clip_norm=2.5,
    ),
}


def names_of_unit(unit: str) -> list[str]:
    """Return the names of the problems that protect this privacy unit."""
    return [name for name, make in PROBLEMS.items() if make().privacy_unit == unit]


def problem(task: Any, data_files: DataFiles | None = None) -> Problem:
    """Return the problem that a caller names or passes.

    Args:
        task: a name in PROBLEMS; a file or folder with a user's own clients; a Problem; or a Task or function trial ->
            Task with one metric test_X and one validation_X.
        data_files: where data may come from; default DataFiles().

    Raises:
        InputError: for any other type, an unknown name, or a file that cannot be used.
    """
    meant = _meant(task)
    makers = {field: getattr(meant, field) for field in ("test", "tuning")}
    informed = {field: make and with_files(make, data_files) for field, make in makers.items()}
    return meant if informed == makers else dataclasses.replace(meant, **informed)


def _meant(task: Any) -> Problem:
    if isinstance(task, Problem):
        return task
    if isinstance(task, Task) or (callable(task) and not isinstance(task, type)):
        return from_tasks(task)
    if not isinstance(task, str):
        raise InputError(
            f"task is {task!r}: give a name, 'FILE.npz', 'FILE.csv', a bench.Problem, a Task, or a function "
            "trial -> Task"
        )
    if task in PROBLEMS:
        return PROBLEMS[task]()
    if task.endswith(".npz") or is_table(Path(task)) or Path(task).is_file():
        return own_clients(task)
    names, otherwise = [*PROBLEMS, "FILE.npz", "FILE.csv", "FILE.parquet"], ""
    if task in TASKS:
        otherwise = ", or pass a bench.Problem of it, which says which data tune a method and what is private"
    raise misnamed(task, "a task of `compare`", names, otherwise)


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
) -> Problem:
    """Return the problem of a user's own clients.

    Args:
        path: an npz file of arrays, a CSV or Parquet file, or a folder of those.
        client, label: names of columns, default "client" and "label"; not for npz files.
        regression: whether to predict labels as numbers; not for npz files, nor with a network.
        network: a flax module, a function that returns one, or FILE.py:NAME of either: inputs [example, ...] -> logits
            [example, class]. Without it the model is linear.

    Raises:
        InputError: for an option that does not apply to npz files, or a network that cannot be loaded.
    """
    path = Path(path)
    if path.is_file() and path.suffix != ".npz" and not is_table(path):
        raise InputError(f"{path} is no file of clients: give an npz file, or a CSV or Parquet file")
    if network is not None and regression:
        raise InputError("a network is for classes: leave out --regression, or --network for a linear model of numbers")
    if path.suffix == ".npz":
        if regression or client is not None or label is not None:
            raise InputError(f"{path} has no columns, and its targets are classes: give a CSV or Parquet file")
        make = partial(clients_file, path=path)
    else:
        columns = {"client": client or CLIENT, "label": label or LABEL}
        make = partial(clients_table, path=path, **columns, regression=regression)
    measured: dict = {}
    if network is not None:
        module, _ = load_network(network)
        columns = {} if path.suffix == ".npz" else {"client": client or CLIENT, "label": label or LABEL}
        make = partial(_own_network, path=path, network=network, **columns)
        return _users_alike(
            path.name,
            "log:1e-3:1",
            make=make,
            local="dense",
            by_user=Hits(module),
            clip_norm=1.0,
            test_ratio=TEST / (1 - TEST - VALIDATION),
            held_out="a tenth of each client's examples",
            common=f"{NUM_COMMON} test examples of all clients",
        )
    if regression:
        measured = {"metric": "test_squared_error", "tuned_by": "validation_squared_error"}
        measured |= {"by_user": sums_of_squares, "also": ERRORS_BY_USER}
    ratio = TEST / (1 - TEST - VALIDATION)
    return _users(
        path.name, make, "log:1e-4:1", test_ratio=ratio, held_out="a tenth of each client's examples", **measured
    )
