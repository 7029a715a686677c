"""The table of tasks: each with its function and all facts about it.

A new task is a module with its function, and a line here.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from bench.data.fetch.sources import DATASETS
from bench.data.partition import TEST, VALIDATION
from bench.data.task import Task
from bench.data.tasks import bag_of_words, digits, odd_even, ratings, shakespeare, tags
from bench.data.tasks import cifar_users as cifar
from bench.data.tasks.bounded import bounded
from bench.data.tasks.by_network import NUM_COMMON
from bench.data.tasks.by_user import BY_USER
from bench.data.tasks.clients_file import ERRORS_BY_USER
from bench.data.tasks.gossip import GRAPHS, gossip
from bench.data.tasks.images import images
from bench.data.tasks.movielens import movielens
from bench.data.tasks.peers import linear_p2p
from bench.data.tasks.quadratic import quadratic
from bench.data.tasks.rare_features import rare_features
from bench.data.tasks.school import made_up_schools, school
from bench.data.tasks.softmax import softmax
from bench.data.tasks.synthetic import risks, synthetic
from bench.errors import InputError, unknown_name
from bench.models import digits_cnn
from bench.models.networks import NETWORKS
from bench.models.user_networks import PictureCNN


class Listed(NamedTuple):
    """A task of the suite, with all facts about it.

    make: trial -> the task.
    kind: what its clients are, by which `compare` finds the function in `bench.comparison.problems` that describes the
        comparison; "" where sweeps alone run on it.
    facts: the arguments of that function.
    board: communication rounds on the board, of methods that do not set their own; None where the board does not have
        it.
    reduced: whether the board takes fewer epsilons and settings, for all methods, since all would take too long.
    """

    make: Callable[..., Task]
    kind: str = ""
    facts: Mapping[str, Any] = {}
    board: int | None = None
    reduced: bool = False


def listed(
    make: Callable[..., Task], kind: str = "", *, board: int | None = None, reduced: bool = False, **facts: Any
) -> Listed:
    """Return a line of the table, with the facts written as arguments."""
    return Listed(make, kind, facts, board, reduced)


REMAINDER = "each user's leftover examples (n mod 10)"
OWN_SPLIT = TEST / (1 - TEST - VALIDATION)
# Name -> function, test images for each that is trained on, and what the data are. The ratios are 6,997 for 59,390,
# 6,903 for 58,770, and that of all writers of EMNIST.
DIGITS = {
    "digits": (digits.mnist_by_writer, 0.118, "handwritten digits, one writer per user"),
    "digits_by_style": (digits.mnist_by_style, 0.117, "handwritten digits, one slant and stroke width per user"),
    "emnist_digits": (digits.emnist_digits, 0.119, "handwritten digits of EMNIST, one writer per user"),
}
TAGS: dict[str, Any] = {
    "steps": "log:1:300",
    "data": "tags of documents, predicted from their words",
    "held_out": REMAINDER,
    "local_steps": 300,  # a step costs sixty times as much as on digits
    "by_user": bag_of_words.test_hits,
    "clip_norm": 0.01,
}
CIFAR: dict[str, Any] = {
    "test_ratio": cifar.NUM_TEST / (cifar.SIZE - cifar.NUM_TEST - cifar.NUM_VALIDATION),
    "held_out": f"{cifar.NUM_VALIDATION} of every user's pictures",
    "also": BY_USER[:2],  # all users have equally many pictures
    "common": f"{cifar.NUM_COMMON:,} test pictures of the data set",
}
CIFAR_LINEAR = CIFAR | {
    "steps": "log:0.01:3",
    "server_steps": "log:0.03:30",
    "own_steps": "log:1e-4:3",
    "local_steps": 600,
    "clip_norm": 0.3,
}
CIFAR_DATA = f"CIFAR-10, {cifar.NUM_USERS} users"
MNIST = partial(images, dataset="mnist", model="scatter_linear", disjoint=True)
FASHION = partial(images, dataset="fashion_mnist", model="scatter_linear", disjoint=True)

TASKS: dict[str, Listed] = {
    "synthetic": listed(
        partial(synthetic, delta_std=0.1, by_user=True),
        "users",
        board=1000,
        steps="log:0.05:2",
        test_ratio=0.0,  # every trial draws users and examples
        data="linear regression, 1,000 users who differ in 5 of 100 coefficients",
        held_out="held-out examples",
        remark="The test is the exact risk.",
        metric="excess_risk",
        tuned_by="validation_loss",
        personal="log:0.1:10",
        local_steps=None,
        by_user=risks,
        also=("excess_risk_worst_tenth",),
        own="the exact risk of every user's own distribution",
        pooled="as the mean over users",
    ),
    **{
        name: listed(
            make,
            "users",
            board=500 if name == "digits" else None,
            steps="log:1e-4:1e-1",
            own_steps="log:1e-5:1e-2",
            test_ratio=test_ratio,
            data=data,
            held_out=REMAINDER,
            clip_norm=3.0,
        )
        for name, (make, test_ratio, data) in DIGITS.items()
    },
    **{
        f"{name}_cnn": listed(
            partial(make, model="network"),
            "users with a network",
            module=digits_cnn.Classifier(),
            steps="log:1e-3:1",
            test_ratio=test_ratio,
            data=f"{data}, by a convolutional network",
            held_out=REMAINDER,
            local_steps=200,  # each of them costs as much as 17 rounds
            clip_norm=1.0,
            common=f"{NUM_COMMON} test images of all users",
        )
        for name, (make, test_ratio, data) in DIGITS.items()
    },
    **{
        name: listed(
            partial(cifar.cifar_users, concentration=concentration),
            "users",
            board=200 if name == "cifar_users" else None,
            reduced=True,
            data=f"{CIFAR_DATA} with {cifar.SIZE} pictures each, {classes}",
            **CIFAR_LINEAR,
        )
        for name, concentration, classes in (
            ("cifar_users", 0.3, "classes by Dirichlet(0.3)"),
            ("cifar_users_0.1", 0.1, "classes by Dirichlet(0.1)"),
            ("cifar_users_0.6", 0.6, "classes by Dirichlet(0.6)"),
            ("cifar_users_equal", math.inf, "equal shares of the classes"),
        )
    },
    "cifar_users_cnn": listed(
        partial(cifar.cifar_users, model="cnn"),
        "users with a network",
        module=PictureCNN(),
        steps="log:1e-3:1",
        data=f"{CIFAR_DATA}, classes by Dirichlet(0.3), by a convolutional network",
        local_steps=200,
        clip_norm=1.0,
        **CIFAR,
    ),
    **{
        name: listed(
            partial(shakespeare.shakespeare, model=model),
            "users with a network",
            board=100 if name == "shakespeare" else None,
            reduced=True,
            module=shakespeare.MODELS[model][0],
            data=f"the next character of a speech from the last {shakespeare.MODELS[model][1]}, one role of a play per "
            "user",
            test_ratio=OWN_SPLIT,
            held_out="a tenth of every role's speeches",
            steps="log:0.03:10",
            own_steps="log:1e-3:3",
            local_steps=300,
            clip_norm=3.0,
            common=f"{NUM_COMMON} test characters of all roles",
        )
        for name, model in (("shakespeare", "window"), ("shakespeare_lstm", "lstm"))
    },
    "insteval": listed(
        ratings.insteval,
        "users",
        board=200,
        reduced=True,
        steps="log:0.003:3",
        server_steps="log:0.03:30",
        own_steps="log:3e-4:1",
        test_ratio=OWN_SPLIT,
        data="ratings of lectures, one student per user",
        held_out="a tenth of every student's ratings",
        local_steps=100,
        metric="test_squared_error",
        by_user=ratings.sums_of_squares,
        also=ERRORS_BY_USER,
        common=f"{NUM_COMMON} test ratings of all users",
        clip_norm=1.0,
    ),
    # 3,550 test documents for 13,540 that are trained on
    "tags": listed(tags.debian_tags, "users", board=200, test_ratio=0.262, **TAGS),
    # not known: the file has a split of its own
    "stackoverflow_tags": listed(tags.stackoverflow_tags, "users", test_ratio=0.25, **TAGS),
    # every trial draws users and documents
    "made_up_tags": listed(tags.made_up_tags, "users", test_ratio=0.0, **TAGS),
    "images": listed(MNIST, "clients with pictures"),
    "images_dirichlet": listed(partial(MNIST, concentration=0.3), "clients with pictures"),
    "fashion": listed(FASHION, "clients with pictures"),
    "few_images": listed(partial(MNIST, share=0.1), "clients with pictures", board=20, reduced=True),
    "few_images_dirichlet": listed(
        partial(MNIST, concentration=0.3, share=0.1), "clients with pictures", board=20, reduced=True
    ),
    "odd_even": listed(
        partial(odd_even.odd_even, split_first=True),
        "silos",
        board=35,
        num_records=odd_even.NUM_RECORDS,
        data="odd against even digits of MNIST, 25 silos",
        remark="The images were split before the silos drew theirs.",
        measured_on={"test_error": "every silo's own test records, as the mean over silos"},
    ),
    "odd_even_dirichlet": listed(
        partial(odd_even.odd_even_dirichlet, concentration=0.3),
        "silos",
        board=35,
        num_records=odd_even.NUM_DEALT,
        data="odd against even digits of MNIST, 25 disjoint silos, digits by Dirichlet(0.3)",
        measured_on={
            "local_test_error": "every silo's own mix of digits, as the mean over silos",
            "test_error": "all digits alike, on the same test images for every silo",
        },
    ),
    # A fifth of every school is rounded up: 3,124 pupils for 12,238, and 3,798 for 14,928.
    "school": listed(school, "schools", board=200, test_ratio=0.255, data="exam scores of pupils in 139 schools"),
    "made_up_schools": listed(
        made_up_schools, "schools", test_ratio=0.254, data="made-up scores of pupils in 139 schools"
    ),
    "linear_p2p": listed(
        partial(linear_p2p, num_features=10),
        "agents",
        board=1,
        tuning={"instances": "validation"},
        data="generated linear classification, 100 agents on a graph",
        held_out="other problems of the same kind",
        measured_on={"test_accuracy": "every agent's own test points, as the mean over agents"},
        test_ratio=0.0,  # every trial draws agents and points
    ),
    "movielens": listed(
        movielens,
        "agents",
        board=1,
        data="film ratings of 943 agents on a graph",
        held_out="a fifth of the training ratings",
        measured_on={
            "test_rmse": "every user's own held-out ratings, as the mean over users of their root mean squared errors"
        },
        test_ratio=0.25,
        clip_norm=2.5,
    ),
    # Sweeps alone run on these.
    **{f"synthetic_{std}": listed(partial(synthetic, delta_std=std)) for std in (0.01, 0.1)},
    **{f"{name}_cnn_squared": listed(partial(make, model="cnn")) for name, (make, *_) in DIGITS.items()},
    "bounded": listed(bounded),
    "bounded_unequal": listed(partial(bounded, largest=20, spread=0.3)),
    **{f"quadratic_{n}": listed(partial(quadratic, num_records=n)) for n in (128, 512, 2048)},
    **{f"softmax_{a}_{a}": listed(partial(softmax, alpha=float(a), beta=float(a))) for a in (0, 1, 5)},
    "odd_even_published": listed(odd_even.odd_even),
    "odd_even_script_bound": listed(partial(odd_even.odd_even, bound="one silo")),
    "odd_even_hinge": listed(odd_even.odd_even_hinge),
    **{f"linear_p2p_{p}": listed(partial(linear_p2p, num_features=p)) for p in (2, 5, 25, 50, 75, 100)},
    **{f"gossip_{graph}": listed(partial(gossip, graph=graph)) for graph in GRAPHS},
    "rare_features": listed(rare_features),
    **{
        f"{dataset}_{model}_10{suffix}": listed(partial(images, dataset=dataset, model=model, disjoint=bool(suffix)))
        for dataset, models in NETWORKS.items()
        for model in models
        for suffix in ("", "_disjoint")
        if not (suffix and model == "scatter_linear" and dataset != "cifar10")  # which are `images` and `fashion`
    },
}


def compared() -> list[str]:
    """Return the names of the tasks that methods are compared on."""
    return [name for name, task in TASKS.items() if task.kind]


def on_board() -> list[str]:
    """Return the names of the tasks of the board."""
    return [name for name, task in TASKS.items() if task.board is not None]


def task_named(name: str) -> Callable[[int], Task]:
    """Return the function trial -> Task of a name, by which `run` finds it.

    Raises:
        InputError: where no task has this name.
    """
    if name not in TASKS:
        raise misnamed(name, "a task of `run`", TASKS)
    return TASKS[name].make


def misnamed(name: str, kind: str, names: Iterable[str], otherwise: str = "") -> InputError:
    """Return the error for a name that a command cannot take; it says for which commands the name is a task, if any.

    Args:
        name: the name that was given.
        kind: what the command takes, with its article ("a task of the board").
        names: the valid names.
        otherwise: what can be done instead of choosing from these.
    """
    commands = [f"`{command}`" for command, tasks in (("run", TASKS), ("compare", compared())) if name in tasks]
    if not commands and name not in DATASETS:
        return unknown_name(kind.removeprefix("a "), name, names)
    actual_kind = f"a task of {' and '.join(commands)}" if commands else "a data set"
    return InputError(f"{name} is {actual_kind}, not {kind}: choose from {', '.join(sorted(names))}{otherwise}")
