"""The board: results of the suite's methods on its tasks by one protocol, kept so that they need not be rerun.

A board is a folder with one comparison per task, each stored with its protocol. A new method is run alone by the same
protocol and compared with the stored results. Methods of others are stored next to them as entries, one per method.
"""

import inspect
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bench.arguments import check, kinds
from bench.comparison.entries import TEST, entries
from bench.comparison.plan import Plan
from bench.comparison.problems import problem
from bench.comparison.request import BOARD, Request, make_request
from bench.comparison.result import at_end
from bench.comparison.stages import KEYS, TUNING, choose, with_spent
from bench.data.files import DataFiles
from bench.defaults import EPSILONS, NUM_SETTINGS
from bench.errors import InputError, unknown_name
from bench.files import read_regular, write_whole
from bench.privacy.events import check_delta
from bench.store import part_files

PROTOCOL = "protocol.json"
TASKS: dict[str, int] = {  # with the communication rounds of methods that do not set their own
    "synthetic": 1000,
    "digits": 500,
    "tags": 200,
    "odd_even": 35,
    "odd_even_dirichlet": 35,
    "few_images": 20,
    "few_images_dirichlet": 20,
    "school": 200,
    "linear_p2p": 1,
    "movielens": 1,
}
SPLITS = 5
BY_PROTOCOL = ("epsilons", "seeds", "num_settings", "rounds", "baselines", "neighbors", "delta")  # options of a request


class Protocol(NamedTuple):
    """The conditions that are the same for every method on a task.

    task: its name.
    epsilons: the finite ones; the noise-free case is always added.
    seeds: number of data splits.
    settings: the most settings tried for a method.
    rounds: of methods that do not set their own.
    delta, neighbors, unit: of the privacy statement.
    """

    task: str
    epsilons: list[float]
    seeds: int
    settings: int
    rounds: int
    delta: float
    neighbors: str
    unit: str


def protocol_of(request: Request) -> Protocol:
    """The protocol of a request."""
    unit, neighbors, delta, _ = request.statement
    return Protocol(
        task=request.problem.name,
        epsilons=list(request.epsilons),
        seeds=request.num_splits,
        settings=request.num_settings,
        rounds=request.num_rounds,
        delta=delta,
        neighbors=neighbors,
        unit=unit,
    )


def board_request(task: str, *, out: str | os.PathLike, data_files: DataFiles | None = None, **options: Any) -> Request:
    """The request that compares all methods of the suite on a task of the board.

    Args:
        task: one of TASKS.
        out: results folder; the board is out/board.
        data_files: where data may come from.
        options: arguments of `make_request` that replace the board's.

    Raises:
        InputError: for a task that the board does not have.
    """
    if task not in TASKS:
        raise unknown_name("task of the board", task, TASKS)
    known = problem(task).baselines
    assert known is not None, task
    whole: dict[str, Any] = {
        "epsilons": EPSILONS,
        "seeds": SPLITS,
        "num_settings": NUM_SETTINGS,
        "rounds": TASKS[task],
        "baselines": [label for label, variant in known.items() if not variant.against],
        "name": task,
    }
    request = make_request(task=task, out=out, data_files=data_files, **whole | options)
    return request._replace(scale=BOARD)


def request_against(
    against: str | os.PathLike, methods: Any, said: Mapping[str, Any], rest: Mapping[str, Any]
) -> Request:
    """The request that compares new methods with a board by its protocol.

    Args:
        against: folder of the board; "board" is the one in the results folder.
        methods: as in `make_request`.
        said: options of `make_request` that the board determines; values that differ both from the board's and from
            the defaults are refused.
        rest: the other options.

    Raises:
        InputError: where the board has no such task, or was run with other options than requested.
    """
    on = problem(rest["task"], rest["data_files"])
    folder = Path(rest["out"]) / BOARD if str(against) == BOARD else Path(against)
    protocol = read_protocol(folder / on.name)
    boards = {
        "epsilons": protocol.epsilons,
        "seeds": protocol.seeds,
        "num_settings": protocol.settings,
        "rounds": protocol.rounds,
        "neighbors": protocol.neighbors,
        "delta": protocol.delta,
        "baselines": [],
    }
    usual = {name: parameter.default for name, parameter in inspect.signature(make_request).parameters.items()}
    for name, value in said.items():
        if not any(_same(value, other) for other in (boards[name], usual[name])):
            raise InputError(f"{name} is {value}, but the board was run with {boards[name]}: leave it out")
    return make_request(methods, **dict(rest) | boards)._replace(against=folder)


def _same(one: Any, other: Any) -> bool:
    """Whether two values of an option are the same, in a list or not."""
    one, other = (
        list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value] for value in (one, other)
    )
    return one == other


def write_protocol(request: Request) -> None:
    """Write the protocol of a comparison, before anything is run.

    Raises:
        InputError: where the folder has results of another protocol.
    """
    path, ours = request.folder / PROTOCOL, protocol_of(request)
    if not request.fresh and path.exists() and (theirs := read_protocol(request.folder)) != ours:
        differ = [name for name in Protocol._fields if getattr(theirs, name) != getattr(ours, name)]
        raise InputError(
            f"{request.folder} was run with {', '.join(f'{name} {getattr(theirs, name)}' for name in differ)}: ask for "
            "the same, give --fresh, or choose another --out"
        )
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, (json.dumps(ours._asdict(), indent=1) + "\n").encode())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another --out") from None


def read_protocol(folder: Path) -> Protocol:
    """The protocol of the results in a folder of the board.

    Raises:
        InputError: where the folder has no readable protocol.
    """
    try:
        found = Protocol(**json.loads(read_regular(folder / PROTOCOL)))
        for name, annotation in Protocol.__annotations__.items():
            check(name, getattr(found, name), kinds(annotation))
        check_delta("delta", found.delta)
        if not found.epsilons or not all(0 < epsilon < math.inf for epsilon in found.epsilons):
            raise ValueError(f"epsilons are {found.epsilons}")
        for name in ("seeds", "settings", "rounds"):
            if getattr(found, name) < 1:
                raise ValueError(f"{name} is {getattr(found, name)}")
        return found
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{folder} is not the folder of a board's task, as it has no {PROTOCOL}: run `python -m bench board` first"
        ) from None
    except RecursionError:
        raise InputError(f"{folder / PROTOCOL} is damaged: run the board again with --fresh") from None
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{folder / PROTOCOL} cannot be read ({error}): run the board again with --fresh") from None


class Earlier(NamedTuple):
    """The stored results of a board on a task.

    tuning: rows as in `Tuning.runs`.
    evaluations: rows as in `Comparison.evaluations`.
    left_out: methods with missing runs.
    """

    tuning: pd.DataFrame
    evaluations: pd.DataFrame
    left_out: list[str]


def read_board(folder: Path, plan: Plan) -> Earlier:
    """The results of a board's methods, as rows that can be combined with those of a plan.

    Args:
        folder: of the task.
        plan: on the same task, by the same protocol.

    Raises:
        InputError: where the board was run with another protocol, other data or other versions of its methods.
    """
    request = plan.request
    if (theirs := read_protocol(folder)) != protocol_of(request):
        raise InputError(f"{folder} was run with another protocol, {theirs}: leave those options out")
    for stage in (TUNING, TEST):
        if not part_files.parts_in(folder / stage):
            raise InputError(f"{folder} has no runs in {stage}: run `python -m bench board {folder.name}` first")
    tuning = pd.concat(list(_looks(folder)), ignore_index=True)
    chosen = choose(tuning, metric=request.problem.tuned_by, best=request.problem.best)
    evaluations = with_spent(part_files.read(folder / TEST).merge(chosen, on=KEYS))
    added = list(entries(folder))
    tuning = pd.concat([tuning, *(tried for tried, _ in added)], ignore_index=True)
    evaluations = pd.concat([evaluations, *(tested for _, tested in added)], ignore_index=True)
    _check_same(folder, evaluations, plan)
    by_method = at_end(evaluations).groupby("algorithm")["target_epsilon"]
    left_out = [str(label) for label, ends in by_method if len(ends) < ends.nunique() * theirs.seeds]
    tuning, evaluations = (rows[~rows["algorithm"].isin(left_out)] for rows in (tuning, evaluations))
    return Earlier(tuning, evaluations, left_out)


def _looks(folder: Path) -> Iterator[pd.DataFrame]:
    """The tuning runs of all stages of the search."""
    yield at_end(part_files.read(folder / TUNING)).assign(look=0)
    for path in sorted(folder.glob(f"{TUNING}_*/")):
        yield at_end(part_files.read(path)).assign(look=int(path.name.rpartition("_")[2]))


def _check_same(folder: Path, runs: pd.DataFrame, plan: Plan) -> None:
    """Refuse results of other data or of another version of a method."""
    task = plan.request.problem.test_tasks()(0)
    known = plan.request.problem.baselines or {}
    again = f"run `python -m bench board {plan.request.problem.name}` again"
    others = runs[runs["checksum"] != task.checksum]
    if len(others):
        names = ", ".join(sorted(set(others["task"])))
        raise InputError(
            f"{folder} was run on {names} with another checksum than that of {task.name} here: get the same data "
            f"(`python -m bench data list` says where they were found), or {again}"
        )
    for label, versions in runs.groupby("algorithm")["version"]:
        if label in known and set(versions) != {known[str(label)].method.version}:
            version = known[str(label)].method.version
            raise InputError(
                f"{folder} has version {versions.iloc[0]:g} of {label}, but this is version {version}: {again}"
            )
