"""A sweep's points, resolved on its tasks and checked before anything is compiled."""

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bench.algorithms.base import Method
from bench.data.task import Task
from bench.errors import InputError, check_name
from bench.store.complete_runs import Shape, as_text, point_id
from bench.sweeps.columns import RESERVED, is_reserved
from bench.sweeps.spec import Sweep, arguments, defaults_of, parameters, with_computed


class Point(NamedTuple):
    """One row of a sweep's table on its task.

    Attributes:
        id: a digest of `asked`, and so the same on every machine; `known_as` has another that its rows have already.
        algorithm: the method's name in the legend.
        method: what runs.
        static, traced: the method's arguments, those fixed when compiling and those that vary within a program.
        labels: the other columns.
        num_rounds: communication rounds.
        eval_every: rounds between evaluations.
        at_start: whether models are evaluated before the first round, too.
        asked: the columns that identify its runs, defaults and NaN for labels that it lacks included.
        computed: the columns that are computed from them, arguments and labels.
    """

    id: str
    algorithm: str
    method: Method
    static: tuple[tuple[str, Any], ...]
    traced: dict[str, float]
    labels: dict[str, Any]
    num_rounds: int
    eval_every: int
    at_start: bool = True
    asked: dict[str, Any] = {}  # noqa: RUF012
    computed: dict[str, Any] = {}  # noqa: RUF012

    @property
    def args(self) -> dict[str, Any]:
        return dict(self.static) | self.traced

    @property
    def shape(self) -> Shape:
        """What the rows of a run of this point look like."""
        defaults = defaults_of(self.method) | {"method": self.method.make.__name__}
        needed = {name: value for name, value in self.args.items() if as_text(defaults.get(name)) != as_text(value)}
        columns = (frozenset(needed) | RESERVED | {"epsilon"}) - {"method"}
        evaluations = self.num_rounds // self.eval_every + 1
        return Shape(evaluations, columns, self.asked, self.computed, defaults)

    def known_as(self, row: Mapping[str, Any]) -> "Point":
        """Return the point with the id and the computed numbers of a run of it that was made elsewhere, so that further
        runs of it belong to the same group."""
        rows = {name: row.get(name) for name in self.computed}
        finite = {name: value for name, value in rows.items() if isinstance(value, float) and not math.isnan(value)}
        traced = self.traced | {name: value for name, value in finite.items() if name in self.traced}
        labels = self.labels | {name: value for name, value in finite.items() if name in self.labels}
        return self._replace(id=row["point"], traced=traced, labels=labels)


def shapes_of(points: Iterable[Point]) -> dict[str, Shape]:
    """Return point id -> shape of the rows of a run."""
    return {point.id: point.shape for point in points}


def resolve(sweep: Sweep, tasks: Mapping[str, Task]) -> dict[str, list[Point]]:
    """Return the sweep's points by task. Every value is in its range, and fits the others and the task.

    Raises:
        InputError: for the first value that is out of range or does not fit, for an unknown task, or a duplicate point.
    """
    for field in ("eval_every", "seeds", "trials"):
        value = getattr(sweep, field)
        if value is not None and value < 1:
            raise InputError(f"{field} of sweep {sweep.name} is {value}: it must be at least 1")
    out: dict[str, list[Point]] = {name: [] for name in tasks}
    for algorithm, entry in sweep.entries.items():
        points, computed = with_computed(entry.points), {*entry.computed}
        keywords, traced = parameters(entry.method)
        for label in points.columns.difference(list(keywords)):
            if is_reserved(label):
                raise InputError(
                    f"the points of {algorithm} have a column {label}, a name reserved in the results: rename it"
                )
            if matches := difflib.get_close_matches(label, keywords, 1, 0.88):
                raise InputError(f"the points of {algorithm} have a column {label}: did you mean {matches[0]}?")
        for number, record in enumerate(points.to_dict("records")):
            row = {str(column): value for column, value in record.items()}
            name = row.pop("task", next(iter(sweep.tasks)))
            check_name(f"task of sweep {sweep.name}", name, sweep.tasks)
            task, args = tasks[name], arguments(entry.method, row)
            entry.method.fits(task, **args)
            if number == 0:  # a release that no accountant can handle is refused before anything is run
                entry.method.readings(task, delta=sweep.delta, **args)
            labels = {k: v for k, v in row.items() if k not in args and v == v}  # NaN: this point has no such label
            num_rounds = sweep.num_rounds if entry.num_rounds is None else entry.num_rounds
            num_rounds = num_rounds(task, args) if callable(num_rounds) else num_rounds
            eval_every = sweep.eval_every if entry.eval_every is None else entry.eval_every
            eval_every = eval_every(num_rounds) if callable(eval_every) else eval_every
            if eval_every is not None and eval_every < 1:
                raise InputError(f"eval_every of {algorithm} in {sweep.name} is {eval_every}: it must be at least 1")
            if num_rounds < 1 or num_rounds % (eval_every or num_rounds):
                raise InputError(
                    f"the number of rounds of {sweep.name} is {num_rounds}: it must be a positive multiple of "
                    f"eval_every = {eval_every}"
                )
            free_args = {name: value for name, value in args.items() if name not in computed}
            free_labels = {name: value for name, value in row.items() if name not in args and name not in computed}
            asked = {
                **free_args,
                **free_labels,
                "algorithm": algorithm,
                "method": entry.method.make.__name__,
                "version": entry.method.version,
                "task": task.name,
                "checksum": task.checksum,
                "num_rounds": num_rounds,
                "delta": sweep.delta,
            }
            point = Point(
                id=point_id(asked, defaults_of(entry.method)),
                algorithm=algorithm,
                method=entry.method,
                static=tuple(sorted((k, v) for k, v in args.items() if k not in traced)),
                traced={k: v for k, v in args.items() if k in traced},
                labels=labels,
                num_rounds=num_rounds,
                eval_every=eval_every or num_rounds,
                at_start=sweep.at_start,
                asked=asked,
                computed={name: value for name, value in (labels | args).items() if name in computed},
            )
            out[name].append(point)
    ids = [point.id for points in out.values() for point in points]
    if len(set(ids)) < len(ids):
        duplicate = next(point for points in out.values() for point in points if ids.count(point.id) > 1)
        raise InputError(
            f"sweep {sweep.name} has the same point twice, {duplicate.algorithm} with {duplicate.args}: remove one"
        )
    return out


def points_of(sweeps: Iterable[Sweep]) -> dict[str, Point]:
    """Return the points that sweeps have now, by id.

    Raises:
        InputError: as `resolve`, and where their data are not available.
    """
    points = {}
    for sweep in sweeps:
        trial = sweep.repetitions()[0][0]
        tasks = {name: sweep.task(name, trial) for name in sweep.tasks}
        points |= {point.id: point for group in resolve(sweep, tasks).values() for point in group}
    return points
