"""The board: the suite's methods on its tasks, at one protocol, kept so that nobody needs to run them again.

A board is a folder of comparisons, one a task, each with the protocol that it was run by. A new method is run alone by
the same protocol and joins them. What others ran of their own methods lies beside as entries, a file a method.
"""

import inspect
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bench.comparison.entries import TEST, entries
from bench.comparison.plan import Plan
from bench.comparison.problems import problem
from bench.comparison.request import BOARD, Request, make_request
from bench.comparison.result import at_end
from bench.comparison.stages import KEYS, TUNING, choose, with_spent
from bench.data.files import DataFiles
from bench.defaults import EPSILONS, NUM_SETTINGS
from bench.errors import InputError, unknown_name
from bench.locking import write_whole
from bench.sweeps import part_files

PROTOCOL = "protocol.json"
TASKS: dict[str, int] = {  # with the communication rounds of methods that bring none of their own
    "synthetic": 1000,
    "digits": 500,
    "tags": 200,
    "odd_even": 35,
    "odd_even_dirichlet": 35,
    "images": 20,
    "images_dirichlet": 20,
    "fashion": 20,
    "school": 200,
    "linear_p2p": 1,
    "movielens": 1,
}
SPLITS = 5
BY_PROTOCOL = ("epsilons", "seeds", "num_settings", "rounds", "baselines", "neighbors", "delta")  # options of a request


class Protocol(NamedTuple):
    """What every method gets on a task.

    task: its name. epsilons: finite ones, and no noise beside them. seeds: splits of the data. settings: that a method
    is tuned over at most. rounds: of methods that bring none of their own. delta, neighbors, unit: of the statement.
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
    """What a request gives every method."""
    unit, neighbors, delta = request.statement
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
    """The comparison of all the suite's methods on a task of the board.

    Args:
        task: one of TASKS.
        out: results folder; the board is out/board.
        data_files: where data may come from.
        options: of `make_request`, in place of the board's.

    Raises:
        InputError: for another task.
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
        "baselines": [label for label, variant in known.items() if not variant.against_outsiders],
        "name": task,
    }
    request = make_request(task=task, out=out, data_files=data_files, **whole | options)
    return request._replace(scale=BOARD)


def request_against(
    against: str | os.PathLike, methods: Any, said: Mapping[str, Any], rest: Mapping[str, Any]
) -> Request:
    """The comparison of new methods, run alone, by the protocol of a board.

    Args:
        against: folder of the board; "board" is that of the results.
        methods: as of `make_request`.
        said: options of `make_request` that the board says; those that differ from its own and from the usual values
            are refused.
        rest: the other options.

    Raises:
        InputError: where the board has no such task, or something else is asked for than it was run by.
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
    """Write down what is given to every method, before anything is run.

    Raises:
        InputError: where the folder has results by another protocol.
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
        raise InputError(f"cannot write {path}: {error.strerror}; choose --out") from None


def read_protocol(folder: Path) -> Protocol:
    """What the results in a folder of the board were run by.

    Raises:
        InputError: where it does not say.
    """
    try:
        return Protocol(**json.loads((folder / PROTOCOL).read_text()))
    except FileNotFoundError:
        raise InputError(
            f"{folder} is no task of a board: it has no {PROTOCOL}; run `python -m bench board` first"
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{folder / PROTOCOL} cannot be read ({error}): run the board again with --fresh") from None


class Earlier(NamedTuple):
    """What a board has of a task.

    tuning: rows as of `Tuning.runs`. evaluations: rows as of `Comparison.evaluations`.
    left_out: methods whose runs are not all there.
    """

    tuning: pd.DataFrame
    evaluations: pd.DataFrame
    left_out: list[str]


def read_board(folder: Path, plan: Plan) -> Earlier:
    """The methods on a board, as rows that those of a plan can stand beside.

    Args:
        folder: of the task.
        plan: on the same task, by the same protocol.

    Raises:
        InputError: where the board was run by another protocol, on other data or with other versions of methods.
    """
    request = plan.request
    if (theirs := read_protocol(folder)) != protocol_of(request):
        raise InputError(f"{folder} was run by another protocol, {theirs}: leave those options out")
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
    """The tuning runs of every look."""
    yield at_end(part_files.read(folder / TUNING)).assign(look=0)
    for path in sorted(folder.glob(f"{TUNING}_*/")):
        yield at_end(part_files.read(path)).assign(look=int(path.name.rpartition("_")[2]))


def _check_same(folder: Path, runs: pd.DataFrame, plan: Plan) -> None:
    """Refuse results of other data or of another version of a method."""
    task = plan.request.problem.test_tasks()(0)
    known = plan.request.problem.baselines or {}
    again = f"run `python -m bench board {plan.request.problem.name}` again"
    others = set(runs["checksum"]) - {task.checksum}
    if others:
        raise InputError(f"{folder} was run on other data than are here, by their checksum: {again}")
    for label, versions in runs.groupby("algorithm")["version"]:
        if label in known and set(versions) != {known[str(label)].method.version}:
            version = known[str(label)].method.version
            raise InputError(f"{folder} has {label} in version {versions.iloc[0]:g}, here is {version}: {again}")
