"""Reads and checks the content of the board's page from the folders of its tasks."""

import json
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench import ranking
from bench.analysis.measured import PANEL, is_name, over_target, spent
from bench.errors import InputError, shown
from bench.files import AS_TEXT
from bench.store import part_files
from figures.pages.board import alone, attacks

BOARD = "board"  # the folder of the board in the results
PLACE = ["algorithm", "target_epsilon"]  # names a row of a task
TUNED = "tuned_epsilon"
PRICES = ("floats_up", "gradients", "examples", TUNED)  # costs of a run, which are no arguments
NUMBERS = ("target_epsilon", "low", "high", "repetitions", "rank", "gain", "gain_low", "gain_high", "delta")
TRUE_OR_FALSE = ("decided", "reveals_nothing", "not_private")
REQUIRED = ["algorithm", *PANEL, *NUMBERS, *TRUE_OR_FALSE, "best_baseline", "metric", "best", "source", "commit"]
PROTOCOL = {  # keys of protocol.json and their types
    "task": str,
    "epsilons": list,
    "seeds": int,
    "settings": int,
    "rounds": int,
    "delta": float,
    "neighbors": str,
    "unit": str,
}
CLOSE = 1e-5  # relative difference allowed between a score in a table of six digits and that of the runs


@dataclass(frozen=True)
class Chosen:
    """The settings of one method on a task.

    tuned: one row per epsilon (0 where it reveals nothing) and split, a column for each argument that was tuned.
    fixed: all other arguments, "batch_size = 10, clipping = fixed".
    """

    tuned: pd.DataFrame
    fixed: str


@dataclass(frozen=True)
class BoardTask:
    """One task of the board, with its results.

    name: of its folder, and in commands.
    protocol: what protocol.json says.
    rows: those of comparison.csv, the metric's column called "score".
    scores: one row per method, epsilon and split: algorithm, target_epsilon, trial, score.
    chosen: by method.
    pictures: PNG files by name, without the ending.
    points: the ids of the tested settings.
    attacks: one row per method and epsilon that was attacked: algorithm, target_epsilon, and columns attack_*.
    alone: one row per row: what it gains over learning alone (`figures.pages.board.alone`).
    """

    name: str
    protocol: dict[str, Any]
    rows: pd.DataFrame
    scores: pd.DataFrame
    chosen: dict[str, Chosen]
    pictures: dict[str, bytes]
    points: frozenset[str] = frozenset()
    attacks: pd.DataFrame = field(default_factory=pd.DataFrame)
    alone: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def metric(self) -> str:
        return self.rows["metric"].iloc[0]

    @property
    def table(self) -> pd.DataFrame:
        """The rows, the metric's column called by its name."""
        return self.rows.rename(columns={"score": self.metric})

    @property
    def with_attacks(self) -> pd.DataFrame:
        """The rows, with the columns of the attacks where there are any."""
        return self.rows if self.attacks.empty else self.rows.merge(self.attacks, on=PLACE, how="left")

    @property
    def sign(self) -> float:
        """1.0 where the larger score is the better, -1.0 where the smaller is."""
        return ranking.SIGN[self.rows["best"].iloc[0]]

    @property
    def panels(self) -> list[tuple[str, str]]:
        """The pairs (unit of privacy, neighbouring relation); each is ranked separately."""
        return sorted(set(self.rows[PANEL].itertuples(index=False, name=None)))


@dataclass(frozen=True)
class Board:
    """All tasks, by name, and a sentence on each folder that could not be used."""

    tasks: list[BoardTask]
    left_out: list[str]

    @property
    def panels(self) -> list[tuple[str, str]]:
        return sorted({panel for task in self.tasks for panel in task.panels})

    def rows(self, panel: tuple[str, str] | None = None) -> pd.DataFrame:
        """Return the rows of all tasks, of one unit of privacy or of all, with "name" of the task."""
        rows = pd.concat([task.with_attacks.assign(name=task.name) for task in self.tasks], ignore_index=True)
        return rows if panel is None else rows[(rows[PANEL] == list(panel)).all(axis=1)].reset_index(drop=True)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The score of every method on every split, as a table for `bench.ranking`, with metric and delta."""
        names = dict(zip(PANEL, ranking.COMPARED, strict=True)) | {"target_epsilon": "epsilon", "algorithm": "method"}
        pieces = [
            task.rows[[*PANEL, *PLACE, "metric", "best", "delta"]].merge(task.scores, on=PLACE).assign(task=task.name)
            for task in self.tasks
        ]
        table = pd.concat(pieces, ignore_index=True).rename(columns=names | {"trial": "split"})
        columns = ["task", *ranking.COMPARED, "epsilon", "method", "split", "score", "metric", "best", "delta"]
        return table[columns].sort_values(columns[:6], ignore_index=True)

    def mean_ranks(self) -> dict[tuple[str, str], pd.DataFrame]:
        """`bench.ranking.mean_ranks` by unit of privacy and relation, with the names of columns that `rows` has."""
        table = ranking.mean_ranks(self.scores).rename(columns={"method": "algorithm", "epsilon": "target_epsilon"})
        parts = {panel: table[(table[ranking.COMPARED] == list(panel)).all(axis=1)] for panel in self.panels}
        return {panel: part.drop(columns=ranking.COMPARED).reset_index(drop=True) for panel, part in parts.items()}


def collect(results: Path) -> Board:
    """Return the board in a folder of results; tasks that cannot be used are left out, and named.

    Raises:
        InputError: where there is no task that can be used.
    """
    folder = results / BOARD
    first = f"run `{command('board', results)}` first, or choose --results"
    if not folder.is_dir():
        raise InputError(f"there is no board in {results}: {first}")
    tasks, left_out = [], []
    for path in sorted(folder.iterdir()):
        if not path.is_dir() or path.name[0] in "._":
            continue
        try:
            tasks.append(task(path))
            found = attacks.read(path / attacks.TABLE, tasks[-1].protocol["delta"], tasks[-1].points)
            tasks[-1] = replace(tasks[-1], attacks=found)
        except InputError as error:  # attacks that cannot be used leave the task as it is
            left_out.append(str(error))
    if not tasks:
        more = f", and {len(left_out) - 1} more like it" if len(left_out) > 1 else ""
        raise InputError(f"{left_out[0]}{more}" if left_out else f"no task in {folder}: {first}")
    return Board(tasks, left_out)


def command(words: str, results: Path) -> str:
    """Return a command of the suite, with the option for results that are not in the default folder."""
    return f"python -m bench {words}" + ("" if results == Path("results") else f" --out {results}")


def task(folder: Path) -> BoardTask:
    """Return one task of the board, with its results.

    Raises:
        InputError: for a file that is missing, damaged, or of another run than the others.
    """
    name, protocol = folder.name, _protocol(folder / "protocol.json")
    rows = _rows(folder / "comparison.csv", protocol)
    runs, arguments = _runs(folder / "test", protocol)
    metric = rows["metric"].iloc[0]
    if metric not in runs:
        raise InputError(f"{folder / 'test'} has no column {metric!r}: run `python -m bench board {name}` again")
    scores = _scores(runs, rows, metric)
    _check_means(folder, scores, rows)
    tried = _tried(folder, runs, list({name for own in arguments.values() for name in own}))
    chosen = {
        method: _chosen(runs[runs["algorithm"] == method], tried[tried["algorithm"] == method], own)
        for method, own in arguments.items()
    }
    pictures = {path.stem: path.read_bytes() for path in sorted(folder.glob("*.png"))}
    points, over_alone = frozenset(runs["point"].astype(str)), alone.gains(rows, runs, metric)
    return BoardTask(name, protocol, rows, scores, chosen, pictures, points, alone=over_alone)


def _protocol(path: Path) -> dict[str, Any]:
    again = f"run `python -m bench board {path.parent.name}` again"
    if not path.is_file():
        raise InputError(f"{path} is missing: {again}")
    try:
        protocol = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read ({error}): {again}") from None
    for name, kind in PROTOCOL.items():
        value = protocol.get(name) if isinstance(protocol, dict) else None
        if not isinstance(value, (int, float) if kind is float else kind) or isinstance(value, bool):
            raise InputError(f"{path} does not say {name!r} as {kind.__name__}: {again}")
    if not all(isinstance(value, int | float) for value in protocol["epsilons"]):
        raise InputError(f"{path} has 'epsilons' that are not numbers: {again}")
    if protocol["task"] != path.parent.name:
        raise InputError(f"{path} is about task {protocol['task']!r}: rename the folder, or {again}")
    return protocol


def _table(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path, dtype=AS_TEXT, low_memory=False)
    except (OSError, ValueError) as error:  # what pandas raises for a file without a table is a ValueError
        why = str(error).strip().replace("\n", " ")
        raise InputError(
            f"{path} cannot be read ({why}): run `python -m bench board {path.parent.name}` again"
        ) from None


def _rows(path: Path, protocol: dict[str, Any]) -> pd.DataFrame:
    """Return the table of a task, checked for what the page needs, and against the protocol."""
    again = f"run `python -m bench board {path.parent.name}` again"
    rows = _table(path)
    missing = [name for name in REQUIRED if name not in rows]
    if missing or rows.empty:
        raise InputError(f"{path} has no {'column ' + repr(missing[0]) if missing else 'row'}: {again}")
    metric, best = rows["metric"].iloc[0], rows["best"].iloc[0]
    if best not in ranking.SIGN or metric not in rows:
        raise InputError(f"{path} has no column for metric {metric!r}, best {best!r}: {again}")
    numbers = [*NUMBERS, metric]
    wrong = [name for name in numbers if not pd.api.types.is_numeric_dtype(rows[name])]
    wrong += [name for name in TRUE_OR_FALSE if not pd.api.types.is_bool_dtype(rows[name])]
    if wrong or rows[[*PLACE, *PANEL, "repetitions"]].isna().any(axis=None) or rows.duplicated([*PANEL, *PLACE]).any():
        raise InputError(f"{path} is damaged{f' (column {wrong[0]!r})' if wrong else ''}: {again}")
    for name in rows["algorithm"].unique():
        if not is_name(name):
            raise InputError(f"{path} has a method called {shown(name)}, which no table can show: {again}")
    for name, column in (("unit", PANEL[0]), ("neighbors", PANEL[1])):
        others = sorted(set(rows[column]) - {protocol[name]})
        if (
            len(others) == rows[column].nunique()
        ):  # others beside it are methods of another unit, in panels of their own
            raise InputError(f"{path} has {name} {others[0]}, protocol.json says {protocol[name]}: {again}")
    here = {
        "epsilons": sorted(set(rows["target_epsilon"]) - {0.0, math.inf}),
        "seeds": int(rows["repetitions"].max()),
        "delta": rows["delta"].iloc[0],
    }
    stated = protocol | {"epsilons": sorted(map(float, protocol["epsilons"]))}
    for name, value in here.items():
        if np.shape(value) != np.shape(stated[name]) or not np.allclose(value, stated[name], rtol=1e-5):
            raise InputError(f"{path} has {name} {value}, protocol.json says {stated[name]}: {again}")
    rows = rows.rename(columns={metric: "score"}).astype({"target_epsilon": float, "score": float})
    return rows.assign(best_baseline=rows["best_baseline"].astype(object).fillna("")).sort_values([*PANEL, *PLACE])


def _runs(folder: Path, protocol: dict[str, Any]) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return the tested runs at their end, and the arguments of each method, found by their place among a part's
    columns."""
    again = f"run `python -m bench board {folder.parent.name}` again"
    arguments: dict[str, list[str]] = {}
    frames, problems = [], []
    for _, part in part_files.readable_parts(folder, problems, again):
        names = part.column_names
        missing = {*PLACE, *PANEL, "reading", "num_rounds", "privacy_unit"} - set(names)
        if missing:
            raise InputError(f"{folder} has no column {min(missing)!r}: {again}")
        frames.append(part.to_pandas())
        own = [name for name in names[names.index(PANEL[1]) + 1 : names.index("privacy_unit")] if name not in PRICES]
        for method in frames[-1]["algorithm"].unique():
            arguments[method] = list(dict.fromkeys([*arguments.get(method, []), *own]))
    if problems or not frames:
        raise InputError(problems[0] if problems else f"no runs in {folder}: {again}")
    runs = pd.concat(frames, ignore_index=True)
    runs = runs[(runs["rounds"] == runs["num_rounds"]) & (runs["trial"] < protocol["seeds"])]
    if runs.duplicated([*PLACE, "trial"]).any():
        raise InputError(f"{folder} has several runs of one method, epsilon and split: move it away, and {again}")
    runs = runs.astype({"target_epsilon": float}).reset_index(drop=True)
    if len(over := over_target(runs)):
        first = over.iloc[0]
        where = f"{shown(first['algorithm'])} at epsilon {first['target_epsilon']:g}"
        raise InputError(f"{folder} has a run of {where} that spent {spent(over).iloc[0]:.4g}: {again} with --fresh")
    return runs, arguments


def _scores(runs: pd.DataFrame, rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the score of every row's method on every split; a method that reveals nothing has one score for all
    epsilons."""
    runs = runs.rename(columns={metric: "score"})[[*PLACE, "trial", "score"]]
    silent = runs[runs["target_epsilon"] == 0].drop(columns="target_epsilon")
    places = rows[PLACE].drop_duplicates()
    private = runs[runs["target_epsilon"] > 0].merge(places, on=PLACE)
    return pd.concat([private, places.merge(silent, on="algorithm")], ignore_index=True)


def _check_means(folder: Path, scores: pd.DataFrame, rows: pd.DataFrame) -> None:
    """Check that the table was computed from these runs.

    Raises:
        InputError: where it was not.
    """
    finite = scores.assign(score=scores["score"].astype(float).replace([np.inf, -np.inf], np.nan))
    found = finite.groupby(PLACE)["score"].agg(lambda of_splits: of_splits.mean(skipna=False))
    beside = rows.set_index(PLACE)["score"].astype(float)
    agree = np.isclose(found.reindex(beside.index), beside, rtol=CLOSE, atol=1e-12, equal_nan=True)
    missing = ~beside.index.isin(found.index)
    if missing.any() or not agree.all():
        name, epsilon = beside.index[~agree | missing][0]
        raise InputError(
            f"{folder / 'comparison.csv'} is not of the runs in {folder / 'test'} ({name} at epsilon {epsilon:g}): "
            f"run `python -m bench board {folder.name}` again"
        )


def _tried(folder: Path, runs: pd.DataFrame, arguments: list[str]) -> pd.DataFrame:
    """Return the methods and arguments of the tuning runs; of the tested runs where there are no others."""
    again, problems = f"run `python -m bench board {folder.name}` again", []
    frames = [
        part.select([name for name in ("algorithm", *arguments) if name in part.column_names]).to_pandas()
        for stage in sorted(folder.glob("tuning*/"))
        for _, part in part_files.readable_parts(stage, problems, again)
    ]
    if problems:
        raise InputError(problems[0])
    return pd.concat(frames, ignore_index=True) if frames else runs


def _chosen(runs: pd.DataFrame, tried: pd.DataFrame, arguments: list[str]) -> Chosen:
    """Return the chosen settings, and the arguments that all runs share. `tried`: the tuning runs, whose arguments
    differ."""
    present = [name for name in arguments if not runs[name].isna().all()]
    varied = [name for name in present if name in tried and tried[name].nunique(dropna=False) > 1]
    varied += [name for name in present if name not in varied and runs[name].nunique(dropna=False) > 1]
    ordered = runs.sort_values(["target_epsilon", "trial"], ignore_index=True)
    fixed = ", ".join(f"{name} = {written(runs[name].iloc[0])}" for name in present if name not in varied)
    return Chosen(ordered[["target_epsilon", "trial", *varied]], fixed)


def written(value: Any) -> str:
    """Return a value of an argument as a reader sees it."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
