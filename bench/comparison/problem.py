"""A problem to compare methods on: tasks for testing and tuning, a metric, and what is protected."""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.identity import digest_of
from bench.algorithms.search_space import OWN_STEP, check_space
from bench.analysis import metric_limits
from bench.comparison.baselines import LEVELS, Level, Variant
from bench.comparison.columns import check_free
from bench.comparison.resampled import resampled
from bench.comparison.search import Space
from bench.data.task import Task
from bench.errors import InputError, calling, check_name, shown, unknown_name
from bench.models.additive import Additive
from bench.models.linear import Personal
from bench.privacy.events import SENSITIVITY, check_delta

BEST = {"accuracy": "max", "error": "min", "loss": "min", "risk": "min", "rmse": "min"}  # by how a metric's name ends


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A task to compare methods on, tuned on data that the test does not see.

    The privacy unit determines the defaults: the neighbouring relation is "add-or-remove one" for "user" and "example",
    and "replace one" for "record" and "point"; the unit also determines which methods of the suite are the baselines,
    and what they are tuned over.

    Attributes:
        name: of the problem.
        test: trial -> the task for testing: a fresh split or draw for each trial, always of the same shapes.
        metric: the test metric; one of those that the task's `metrics` returns.
        by_user: (params, task) -> (totals, weights), each [user], whose sums' ratio is `metric`; differences between
            methods then get intervals over users as well as splits. None: over splits alone.
        measured_on: metric -> what it is measured on, in a few words to follow "measured on": whose test data, and how
            clients are weighted; "" says nothing. All but `metric` are only measured in the test and shown beside it;
            nothing is chosen by them.
        common: the one of `measured_on` that is measured on a test that all clients have in common, where `metric` is
            measured on what each client meets; the figure shows both. "": none.
        test_ratio: test examples for each training example, where every trial splits the same data set anew; 0 where
            every trial has data of its own. Intervals of gains are the wider the larger it is, since such splits are no
            independent repetitions (`bench.analysis.significance`). Default that of a fifth for the test.
        num_tests: number of test examples, where all trials are tested on the same ones and `metric` is the share of
            right or of wrong answers; intervals of gains then cover their choice. 0: every trial has its own.
        largest_weight: task for testing -> by how much the test example that `metric` weighs most counts more than one
            of num_tests, where they do not count alike. None: they do.
        tuning: trial -> the task for tuning: the same with held-out training data, or other data of the same kind.
            None: the tasks of `test`, which must then have a metric on held-out data.
        tuned_by: the metric for tuning, which never uses the test data. Default `metric`, measured on `tuning`.
        best: "max" or "min"; the default follows from the end of the metric's name: accuracy, error, loss, risk, rmse.
        privacy_unit: "user", "record", "example" or "point".
        neighbors: neighbouring relation; default that of the unit.
        delta: of (epsilon, delta)-DP.
        rounds: communication rounds of methods that do not set their own; default that of the unit.
        defaults: argument -> value, for every method that has it; all others are those of the unit.
        space: role of an argument -> values to tune over, for every method that has it, whatever the method's own; all
            others are those of the unit. A role is an argument's name where the method says nothing else
            (`bench.algorithms.base.Role`). "local_step_size", the step of users' own models, is "step_size" by default.
        baselines: name in the legend -> baseline; default the methods of the suite that fit the unit and the task.
        data: what the data are, in a few words, for the titles of figures.
        held_out: what the settings are chosen by, to follow "tuned on", for the figure.
        remark: a further sentence for the figure.

    Raises:
        InputError: for a field that cannot be used, and where tuning would use the test data.
    """

    name: str
    test: Callable[[int], Task]
    metric: str
    tuning: Callable[[int], Task] | None = None
    tuned_by: str = ""
    best: str = ""
    privacy_unit: str = "user"
    neighbors: str = ""
    delta: float = 1e-5
    rounds: int = 0
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    space: Space = dataclasses.field(default_factory=dict)
    baselines: Mapping[str, Variant] | None = None
    data: str = ""
    held_out: str = "held-out data of the task"
    remark: str = ""
    by_user: Callable | None = None
    common: str = ""
    measured_on: Mapping[str, str] = dataclasses.field(default_factory=dict)
    test_ratio: float = 0.25
    num_tests: int = 0
    largest_weight: Callable[[Task], float] | None = None

    def __post_init__(self):
        if not self.name or "/" in self.name or not self.name.isprintable():
            raise InputError(f"a problem has the name {shown(self.name)}: give a name that a folder can have")
        if not 0 <= self.test_ratio < math.inf:
            raise InputError(
                f"test_ratio of problem {self.name} is {self.test_ratio}: give the test examples for each training "
                "example, or 0 where every trial has data of its own"
            )
        if self.num_tests < 0 or (self.num_tests and metric_limits.limits(self.metric) != (0.0, 1.0)):
            raise InputError(
                f"num_tests of problem {self.name} is {self.num_tests}: give the number of test examples that all "
                "trials share, of a metric that is a share of them, an accuracy or error; or leave it out"
            )
        if self.delta != 0:
            check_delta(f"delta of problem {self.name}", self.delta)
        for label, variant in (self.baselines or {}).items():
            if not isinstance(variant, Variant):
                raise InputError(
                    f"baseline {label} of problem {self.name} is {shown(variant)}: give a "
                    "bench.comparison.baselines.Variant"
                )
        check_free(f"problem {self.name} has a metric", (self.metric, self.tuned_by, *self.measured_on))
        if self.common and self.common not in self.also:
            raise unknown_name(f"metric as common of problem {self.name}", self.common, self.also)
        check_space(f"`space` of problem {self.name}", self.space)
        check_name("privacy unit", self.privacy_unit, LEVELS)
        for field, default in (
            ("tuned_by", self.metric),
            ("best", _best(self.metric)),
            ("neighbors", self.level.neighbors),
            ("rounds", self.level.rounds),
        ):
            if not getattr(self, field):
                object.__setattr__(self, field, default)
        if self.tuned_by == self.metric and self.tuning in (None, self.test):
            raise InputError(
                f"problem {self.name} would be tuned on its test set, by {self.metric}: give tuning=, a function "
                "trial -> Task on held-out data, or tuned_by=, a metric of held-out data"
            )
        if self.best not in ("max", "min"):
            raise InputError(f"best of problem {self.name} is {self.best!r}: is {self.metric} best at its max or min?")
        check_name("neighbouring relation", self.neighbors, SENSITIVITY)

    @property
    def title(self) -> str:
        """The name, followed by what the data are."""
        return f"{self.name}: {self.data}" if self.data else self.name

    @property
    def also(self) -> tuple[str, ...]:
        """The metrics that are measured beside `metric`."""
        return tuple(name for name in self.measured_on if name != self.metric)

    @property
    def level(self) -> Level:
        """The defaults of this privacy unit."""
        return LEVELS[self.privacy_unit]

    @property
    def shared_space(self) -> Space:
        """Role -> what it is tuned over, the same for all methods."""
        space = {**self.level.space, **self.space}
        if "step_size" in space:
            space.setdefault(OWN_STEP, space["step_size"])
        return space

    def test_tasks(self) -> Callable[[int], Task]:
        """trial -> the task for testing; it only measures `metric`, also on drawn users, and `also`."""
        drawn = (self.metric, self.by_user) if self.by_user else None
        return _measured_by((self.metric, *self.also), self.test, self.name, drawn)

    def check_held_out(self, test: Task, tuning: Task) -> None:
        """Refuse a problem whose tasks for testing and tuning have the same metric and the same data.

        Raises:
            InputError: saying what is missing.
        """
        if self.metric != self.tuned_by:
            return
        tested, tuned = (
            jax.tree.leaves(task if task.evaluation is None else task.evaluation) for task in (test, tuning)
        )
        if len(tested) == len(tuned) and all(map(np.array_equal, tested, tuned)):
            raise InputError(
                f"test and tuning of problem {self.name} use the same data: give tuning= a task on held-out data, or "
                "on data of the same kind"
            )

    def tuning_tasks(self) -> Callable[[int], Task]:
        """trial -> the task for tuning; it only measures `tuned_by`."""
        return _measured_by((self.tuned_by,), self.tuning or self.test, self.name)


@dataclasses.dataclass(frozen=True)
class SomeMetrics:
    """A selection of a task's metrics; equal selections compare equal, so that tasks share a compiled program.

    drawn: a metric that is also measured on drawn users, with the function that gives its parts by user.
    """

    metrics: Callable
    names: tuple[str, ...]
    drawn: tuple[str, Callable] | None = None

    def __call__(self, params, task: Task) -> dict:
        measured = self.metrics(params, task)
        for name in self.names:
            if name not in measured:
                raise InputError(f"task {task.name} measures {', '.join(measured)}, not {name}")
        chosen = {name: measured[name] for name in self.names}
        if self.drawn is None:
            return chosen
        metric, by_user = self.drawn
        return chosen | resampled(metric, *by_user(params, task))


def _measured_by(
    metrics: tuple[str, ...], make: Callable[[int], Task], name: str, drawn: tuple[str, Callable] | None = None
) -> Callable[[int], Task]:
    """Return the tasks, restricted to these metrics and those on drawn users, with a name and a checksum that is the
    same for all trials."""

    @functools.cache
    def default_checksum() -> str:
        code = digest_of(make, code_only=True)  # before it may keep what it makes
        return digest_of(code, made(make, 0, name)).hex()[:16]

    def measured(trial: int) -> Task:
        task = made(make, trial, name)
        assert task.metrics is not None
        return dataclasses.replace(
            task,
            metrics=SomeMetrics(task.metrics, metrics, drawn),
            name=task.name or name,
            checksum=task.checksum or default_checksum(),
        )

    return measured


def made(make: Callable[[int], Task], trial: int, name: str) -> Task:
    """Return the task that a function trial -> Task gives.

    Raises:
        InputError: where the function fails, or gives something else.
    """
    with calling(f"the task function of {name}", condition=f" on trial {trial}"):
        return checked(make(trial), name)


def _best(metric: str) -> str:
    """ "max" or "min" by the end of a metric's name; "" where that does not tell."""
    return next((best for ending, best in BEST.items() if metric.endswith(ending)), "")


def checked(task: Any, name: str) -> Task:
    """Return the task if it is a Task with metrics.

    Raises:
        InputError: naming where it comes from.
    """
    if not isinstance(task, Task):
        raise InputError(f"{name} returns {type(task).__name__} for a trial: return a bench.data.task.Task")
    if task.metrics is None:
        raise InputError(f"task {task.name or name} has no metrics: give it a function (params, task) -> dict")
    for leaf in jax.tree.leaves((task.train, task.network and task.network.pool)):
        if jnp.issubdtype(leaf.dtype, jnp.inexact) and not (finite := np.isfinite(leaf)).all():
            row = np.argwhere(~finite)[0][0]
            raise InputError(
                f"the training data of {task.name or name} have a number that is not finite, in row {row}: leave that "
                "example out, or give it a number"
            )
    return task


def from_tasks(given: Task | Callable[[int], Any]) -> Problem:
    """Return the problem defined by a task, or by a function trial -> Task.

    It is tested by its metric test_X and tuned by its metric validation_X. The privacy unit is a point for agents on a
    graph, an example for a network, and else a user.

    Raises:
        InputError: where the metrics do not determine this.
    """
    name = getattr(given, "name", "") or getattr(given, "__name__", "") or "task"
    task = checked(given, name) if isinstance(given, Task) else made(given, 0, name)
    names = _metric_names(task)
    tested = [name for name in names if name.startswith("test_") and name.replace("test_", "validation_", 1) in names]
    if len(tested) != 1 or not _best(tested[0]):
        raise InputError(
            f"cannot tell which metrics tune and test {name}, which measures {', '.join(names) or 'nothing readable'}: "
            "name them, bench.Problem(name=..., test=..., metric=..., tuned_by=..., best=...)"
        )
    unit = "point" if task.peers is not None else "user" if task.network is None else "example"
    once = isinstance(given, Task)
    return Problem(
        name=task.name or name,
        test=(lambda trial: task) if once else given,
        metric=tested[0],
        tuned_by=tested[0].replace("test_", "validation_", 1),
        privacy_unit=unit,
        held_out="held-out data of the task" + (", which has one split for all repetitions" if once else ""),
    )


def _metric_names(task: Task) -> list[str]:
    """Return the names of a task's metrics, found with any kind of parameters that they accept."""
    assert task.metrics is not None
    everybody = jax.tree.map(lambda leaf: jnp.zeros((task.num_clients, *leaf.shape)), task.init_params)
    shapes = (Additive(task.init_params), task.init_params, Personal(everybody, jnp.ones(())), everybody)
    for params in shapes:
        try:
            return list(jax.eval_shape(task.metrics, params, task))
        except (TypeError, ValueError, AttributeError, IndexError, KeyError):
            continue  # the metrics expect parameters of another family of methods
    return []
