"""Data that take the place of others which this machine lacks, and what to do about it.

A task of "the best available" data is made of the first of several data sets that is here. So its results depend on the
machine, and results of one data set must not be mixed with, or replaced by, results of another.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from bench.data.fetch import retrieval
from bench.data.fetch.sources import known
from bench.data.files import DataFiles
from bench.data.task import Task
from bench.data.tasks import digits, school, tags
from bench.data.tasks.registry import TASKS
from bench.errors import InputError

# The function that chooses -> name of the task -> the data set that it needs, in order of preference; "" needs none.
CHOICES: Mapping[Callable[..., Task], Mapping[str, str]] = MappingProxyType(
    {
        digits.best_available: {
            "emnist_digits": "federated_emnist",
            "mnist_by_writer": "qmnist_writers",
            "mnist_by_style": "",
        },
        school.best_available: {"school": "school", "made_up_schools": ""},
        tags.best_available: {
            "stackoverflow_tags": "federated_stackoverflow",
            "debian_tags": "debian_packages",
            "made_up_tags": "",
        },
    }
)


def chosen_here(make: Callable[..., Task], data_files: DataFiles | None = None) -> str | None:
    """Return the name of the task that a function makes on this machine, without making it, but fetching its data.

    None for a function that does not choose.
    """
    if isinstance(make, partial):
        data_files = make.keywords.get("data_files") or data_files
    for name, dataset in _choices(make).items():
        try:
            if not dataset or retrieval.available(dataset, data_files):
                return name
        except InputError:  # about the user's files: whoever reads them says it
            return None
    return None


def alternatives(name: str) -> set[str]:
    """Return the other tasks that a function that makes this task may make in its place."""
    return {other for choices in CHOICES.values() if name in choices for other in choices} - {name}


def remedy(name: str) -> str:
    """Return how to get the data of a task, in words; "" where they are always here or nothing is known of them."""
    needed = next((choices[name] for choices in CHOICES.values() if choices.get(name)), "")
    if not needed:
        return ""
    dataset = known(needed)
    fetched = f"`python -m bench data get {needed}`, or by " if dataset.sources else ""
    return f"get {needed} by {fetched}--data-dir with {dataset.file_names}"


def as_task(make: Callable[..., Task], name: str) -> str:
    """Return the name by which `--task` makes the same problem of the data of a choice."""
    given = make.keywords if isinstance(make, partial) else {}
    wanted = {key: value for key, value in given.items() if key != "data_files"}
    for task, function in TASKS.items():
        keywords = function.keywords if isinstance(function, partial) else {}
        if _function(function).__name__ == name and keywords == wanted:
            return task
    return name


def _choices(make: Callable[..., Task]) -> Mapping[str, str]:
    """Return what a function chooses from; nothing where it does not choose."""
    return next((choices for function, choices in CHOICES.items() if function is _function(make)), {})


def _function(make: Callable[..., Task]) -> Callable[..., Task]:
    return _function(make.func) if isinstance(make, partial) else make
