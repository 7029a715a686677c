"""The content of the board's page, read from the folders of its tasks."""

import inspect
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench import ranking
from bench.analysis.measured import PANEL, user_level_first
from bench.comparison.baselines import Variant
from bench.comparison.board import own_runs
from bench.comparison.problems import problem
from bench.comparison.protocol import Protocol, read_protocol
from bench.comparison.result import at_end
from bench.errors import InputError, in_one_line
from bench.files import AS_TEXT
from bench.sweeps.spec import parameters
from figures.pages.board import alone, attacks

BOARD = "board"  # the folder of the board in the results
PLACE = ["algorithm", "target_epsilon"]  # names a row of a task
TUNED = "tuned_epsilon"
KEYS = ["target_epsilon", "trial"]  # names a tested run of a method
KINDS = {  # columns of comparison.csv that the page needs
    **dict.fromkeys(("algorithm", "best_baseline", "metric", "best", "source", "commit", *PANEL), str),
    "repetitions": float,
    **dict.fromkeys(("target_epsilon", "low", "high", "rank", "gain", "gain_low", "gain_high", "delta"), float),
    **dict.fromkeys(("decided", "reveals_nothing"), bool),
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

    protocol: by which all methods were run; its name is that of the folder, and in commands.
    rows: those of comparison.csv, the metric's column called "score".
    scores: one row per method, epsilon and split: algorithm, target_epsilon, trial, score.
    chosen: by method.
    pictures: PNG files by name, without the ending.
    alone: one row per row: what it gains over learning alone (`figures.pages.board.alone`).
    attacks: one row per method and epsilon that was attacked: algorithm, target_epsilon, and columns attack_*.
    """

    protocol: Protocol
    rows: pd.DataFrame
    scores: pd.DataFrame
    chosen: dict[str, Chosen]
    pictures: dict[str, bytes]
    alone: pd.DataFrame
    attacks: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def name(self) -> str:
        return self.protocol.task

    @property
    def panel(self) -> tuple[str, str]:
        """The unit of privacy and the neighbouring relation."""
        return self.protocol.unit, self.protocol.neighbors

    @property
    def metric(self) -> str:
        return self.rows["metric"].iloc[0]

    @property
    def table(self) -> pd.DataFrame:
        """The rows, the metric's column called by its name."""
        return self.rows.rename(columns={"score": self.metric})


@dataclass(frozen=True)
class Board:
    """All tasks, by name, and a sentence on each folder that could not be used."""

    tasks: list[BoardTask]
    left_out: list[str]

    @property
    def panels(self) -> list[tuple[str, str]]:
        """The pairs (unit of privacy, neighbouring relation); each is ranked separately."""
        return sorted({task.panel for task in self.tasks}, key=user_level_first)

    def rows(self, panel: tuple[str, str] | None = None) -> pd.DataFrame:
        """Return the rows of all tasks, of one unit of privacy or of all, with "name" of the task, and the columns of
        the attacks where there are any."""
        chosen = [task for task in self.tasks if panel in (None, task.panel)]
        tables = [
            (task.rows if task.attacks.empty else task.rows.merge(task.attacks, on=PLACE, how="left")).assign(
                name=task.name
            )
            for task in chosen
        ]
        return pd.concat(tables, ignore_index=True)

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

    def ranked(self, panel: tuple[str, str]) -> list[str]:
        """Return the names of the tasks that all methods of a unit were run on: a mean rank is over these alone."""
        methods = self.rows(panel).groupby("name")["algorithm"].unique().map(set)
        return list(methods.index[methods == set().union(*methods)])

    def mean_ranks(self) -> dict[tuple[str, str], pd.DataFrame]:
        """`bench.ranking.mean_ranks` over the tasks of `ranked`, by unit of privacy and relation, with the names of
        columns that `rows` has; without a row where no task has all methods."""
        names = {"method": "algorithm", "epsilon": "target_epsilon"}
        over = {panel: self.scores[self.scores["task"].isin(self.ranked(panel))] for panel in self.panels}
        tables = {panel: ranking.mean_ranks(scores) if len(scores) else scores for panel, scores in over.items()}
        return {panel: table.rename(columns=names).drop(columns=ranking.COMPARED) for panel, table in tables.items()}


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
        if path.is_dir() and path.name[0] not in "._":
            try:
                tasks.append(task(path, left_out))
            except InputError as error:
                left_out.append(str(error))
    if not tasks:
        more = f", and {len(left_out) - 1} more like it" if len(left_out) > 1 else ""
        raise InputError(f"{left_out[0]}{more}" if left_out else f"no task in {folder}: {first}")
    return Board(tasks, left_out)


def command(words: str, results: Path) -> str:
    """Return a command of the suite, with the option for results that are not in the default folder."""
    return f"python -m bench {words}" + ("" if results == Path("results") else f" --out {results}")


def task(folder: Path, left_out: list[str]) -> BoardTask:
    """Return one task of the board, with its results. `left_out`: attacks that cannot be used are named in it.

    Raises:
        InputError: for results that cannot be used, or a table that is not of these runs.
    """
    protocol = read_protocol(folder)
    if protocol.task != folder.name:
        raise InputError(f"{folder} has the protocol of task {protocol.task!r}: rename the folder")
    on = problem(folder.name)
    own = own_runs(folder, protocol, on)
    if own.left_out:
        raise InputError("; ".join(f"{folder}: {label} cannot be ranked: {why}" for label, why in own.left_out.items()))
    runs, path = at_end(own.evaluations), folder / "comparison.csv"
    try:
        rows = pd.read_csv(path, dtype={**KINDS, **AS_TEXT}, low_memory=False)
        metric = rows["metric"].iloc[0]
        scores = _scores(runs, protocol, metric)
        rows = rows.rename(columns={metric: "score"}).sort_values(PLACE).fillna({"best_baseline": ""})
        _check_rows(rows[[*KINDS, "score"]], scores)
    except (OSError, ValueError, LookupError) as error:
        again = f"run `python -m bench board {folder.name}` again"
        raise InputError(f"{path} cannot be used ({in_one_line(error)}): {again}") from None
    try:
        attacked = attacks.read(folder / attacks.TABLE, protocol.delta, {*runs["point"]})
    except InputError as error:  # the task is shown without them
        left_out.append(str(error))
        attacked = pd.DataFrame()
    chosen = {
        str(label): _settings(runs[runs["algorithm"] == label], own.tuning[own.tuning["algorithm"] == label], variant)
        for label, variant in (on.baselines or {}).items()
        if (runs["algorithm"] == label).any()
    }
    pictures = {path.stem: path.read_bytes() for path in sorted(folder.glob("*.png"))}
    return BoardTask(protocol, rows, scores, chosen, pictures, alone.gains(rows, runs, metric), attacked)


def _scores(runs: pd.DataFrame, protocol: Protocol, metric: str) -> pd.DataFrame:
    """Return the score of every method on every split at every epsilon; what reveals nothing has one for all."""
    runs = runs.rename(columns={metric: "score"})[[*PLACE, "trial", "score"]]
    silent = runs[runs["target_epsilon"] == 0].drop(columns="target_epsilon")
    epsilons = pd.DataFrame({"target_epsilon": [*protocol.epsilons, np.inf]})
    return pd.concat([runs[runs["target_epsilon"] > 0], silent.merge(epsilons, how="cross")], ignore_index=True)


def _check_rows(rows: pd.DataFrame, scores: pd.DataFrame) -> None:
    """Raise ValueError where a table lacks text, or was not computed from the runs with these scores."""
    for name, kind in KINDS.items():
        if kind is str and rows[name].isna().any():
            raise ValueError(f"it has rows without {name}")
    if not np.isfinite(rows["repetitions"]).all():
        raise ValueError("it has repetitions that are no number")
    finite = scores.assign(mean=scores["score"].astype(float).replace([np.inf, -np.inf], np.nan))
    means = finite.groupby(PLACE)["mean"].agg(lambda of_splits: of_splits.mean(skipna=False)).reset_index()
    both = rows.merge(means, on=PLACE, how="outer", indicator=True, validate="1:1")
    agree = np.isclose(both["mean"], both["score"].astype(float), rtol=CLOSE, atol=1e-12, equal_nan=True)
    wrong = both[~agree | (both["_merge"] != "both")]
    if len(wrong):
        name, epsilon = wrong[PLACE].iloc[0]
        raise ValueError(f"it is not of the runs in test, {name} at epsilon {epsilon:g}")


def _settings(runs: pd.DataFrame, tried: pd.DataFrame, variant: Variant) -> Chosen:
    """Return the chosen settings of a method, and the arguments that all runs share.

    Args:
        runs: the tested runs; an argument that they lack had its default, since it is newer than they are.
        tried: the tuning runs, whose arguments differ.
        variant: the method.
    """
    defaults = {name: parameter.default for name, parameter in parameters(variant.method)[0].items()}
    known = {name: default for name, default in defaults.items() if default not in (inspect.Parameter.empty, None)}
    runs, tried = (rows.reindex(columns=[*KEYS, *defaults]).astype(object).fillna(known) for rows in (runs, tried))
    present = [name for name in defaults if not runs[name].isna().all()]
    varied = [name for name in present if max(runs[name].nunique(), tried[name].nunique()) > 1]
    ordered = runs.sort_values(KEYS, ignore_index=True)
    fixed = ", ".join(f"{name} = {written(runs[name].iloc[0])}" for name in present if name not in varied)
    return Chosen(ordered[[*KEYS, *varied]], fixed)


def written(value: Any) -> str:
    """Return a value of an argument as text for a reader."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
