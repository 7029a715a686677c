"""The tasks by name: those that sweeps run on, and those that methods are compared on."""

import math
from collections import ChainMap
from collections.abc import Callable, Iterable
from functools import partial

from bench.data.fetch.sources import DATASETS
from bench.data.task import Task
from bench.data.tasks import digits, odd_even, tags
from bench.data.tasks.bounded import bounded
from bench.data.tasks.cifar_users import cifar_users
from bench.data.tasks.gossip import GRAPHS, gossip
from bench.data.tasks.images import images
from bench.data.tasks.movielens import movielens
from bench.data.tasks.peers import linear_p2p
from bench.data.tasks.quadratic import quadratic
from bench.data.tasks.rare_features import rare_features
from bench.data.tasks.ratings import insteval
from bench.data.tasks.school import made_up_schools, school
from bench.data.tasks.shakespeare import shakespeare
from bench.data.tasks.softmax import softmax
from bench.data.tasks.synthetic import synthetic
from bench.errors import InputError, unknown_name
from bench.models.networks import NETWORKS

DIGITS: dict[str, Callable[..., Task]] = {
    "digits": digits.mnist_by_writer,
    "digits_by_style": digits.mnist_by_style,
    "emnist_digits": digits.emnist_digits,
}

TASKS: dict[str, Callable[[int], Task]] = {
    "synthetic_0.01": partial(synthetic, delta_std=0.01),
    "synthetic_0.1": partial(synthetic, delta_std=0.1),
    **DIGITS,
    **{f"{name}_cnn": partial(make, model="network") for name, make in DIGITS.items()},
    **{f"{name}_cnn_squared": partial(make, model="cnn") for name, make in DIGITS.items()},
    "bounded": bounded,
    "bounded_unequal": partial(bounded, largest=20, spread=0.3),
    "tags": tags.debian_tags,
    "stackoverflow_tags": tags.stackoverflow_tags,
    "made_up_tags": tags.made_up_tags,
    **{f"quadratic_{n}": partial(quadratic, num_records=n) for n in (128, 512, 2048)},
    **{f"softmax_{a}_{a}": partial(softmax, alpha=float(a), beta=float(a)) for a in (0, 1, 5)},
    "odd_even": partial(odd_even.odd_even, split_first=True),
    "odd_even_published": odd_even.odd_even,
    "odd_even_script_bound": partial(odd_even.odd_even, bound="one silo"),
    "odd_even_hinge": odd_even.odd_even_hinge,
    **{f"linear_p2p_{p}": partial(linear_p2p, num_features=p) for p in (2, 5, 10, 25, 50, 75, 100)},
    **{f"gossip_{graph}": partial(gossip, graph=graph) for graph in GRAPHS},
    "movielens": movielens,
    "rare_features": rare_features,
    "school": school,
    "made_up_schools": made_up_schools,
    **{
        f"{dataset}_{model}_10{suffix}": partial(images, dataset=dataset, model=model, disjoint=bool(suffix))
        for dataset, models in NETWORKS.items()
        for model in models
        for suffix in ("", "_disjoint")
    },
}

# What `compare` and `board` test methods on.
COMPARED: dict[str, Callable[..., Task]] = {
    "synthetic": partial(synthetic, delta_std=0.1, by_user=True),
    **DIGITS,
    **{f"{name}_cnn": partial(make, model="network") for name, make in DIGITS.items()},
    "tags": tags.debian_tags,
    "stackoverflow_tags": tags.stackoverflow_tags,
    "made_up_tags": tags.made_up_tags,
    "cifar_users": cifar_users,
    **{f"cifar_users_{share:g}": partial(cifar_users, concentration=share) for share in (0.1, 0.6)},
    "cifar_users_equal": partial(cifar_users, concentration=math.inf),
    "cifar_users_cnn": partial(cifar_users, model="cnn"),
    "shakespeare": shakespeare,
    "shakespeare_lstm": partial(shakespeare, model="lstm"),
    "insteval": insteval,
    "images": partial(images, dataset="mnist", model="scatter_linear", disjoint=True),
    "images_dirichlet": partial(images, dataset="mnist", model="scatter_linear", disjoint=True, concentration=0.3),
    "fashion": partial(images, dataset="fashion_mnist", model="scatter_linear", disjoint=True),
    "few_images": partial(images, dataset="mnist", model="scatter_linear", disjoint=True, share=0.1),
    "few_images_dirichlet": partial(
        images, dataset="mnist", model="scatter_linear", disjoint=True, concentration=0.3, share=0.1
    ),
    "odd_even": partial(odd_even.odd_even, split_first=True),
    "odd_even_dirichlet": partial(odd_even.odd_even_dirichlet, concentration=0.3),
    "school": school,
    "made_up_schools": made_up_schools,
    "linear_p2p": partial(linear_p2p, num_features=10),
    "movielens": movielens,
}


NAMED = ChainMap(TASKS, COMPARED)  # what `run` knows: sweeps' own tasks come first


def task_named(name: str) -> Callable[[int], Task]:
    """Return the function trial -> Task of a name, by which `run` finds it.

    Raises:
        InputError: where no task has this name.
    """
    if name not in NAMED:
        raise misnamed(name, "a task of `run`", NAMED)
    return NAMED[name]


def misnamed(name: str, wanted: str, names: Iterable[str], otherwise: str = "") -> InputError:
    """Return the error for a name that is not what a command wants: it says of which commands it is a task, if of any.

    Args:
        name: the name that was given.
        wanted: what the command wants, with its article ("a task of the board").
        names: the valid names.
        otherwise: what can be done instead of choosing from these.
    """
    commands = [f"`{command}`" for command, tasks in (("run", NAMED), ("compare", COMPARED)) if name in tasks]
    if not commands and name not in DATASETS:
        return unknown_name(wanted.removeprefix("a "), name, names)
    known = f"a task of {' and '.join(commands)}" if commands else "a data set"
    return InputError(f"{name} is {known}, not {wanted}: choose from {', '.join(sorted(names))}{otherwise}")
