"""The results of a comparison, and the notes that its reader needs."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from bench.comparison.plan import Plan
from bench.comparison.report import convergence
from bench.comparison.search import Setting, written

SHOWN = "g"  # format of the ends of an interval
FEWEST = 3  # values of an argument of which one can lie at an end


class Tuning(NamedTuple):
    """The tuning runs of a comparison.

    runs: one row per method, epsilon, setting and split: the final evaluation on held-out data; "look" is 0 for
        settings from the whole space, then counts the refinements near the best, and is one more for the runs of the
        best settings without noise with further seeds.
    settings: name in the legend -> list of settings; a setting's number is its index.
    """

    runs: pd.DataFrame
    settings: Mapping[str, Sequence[Setting]]

    @property
    def num_settings(self) -> dict[str, int]:
        """The number of settings tried for each method, at one epsilon on one split."""
        counts = self.runs.groupby(["algorithm", "target_epsilon", "trial"])["setting"].nunique()
        return {str(label): int(of_label.max()) for label, of_label in counts.groupby("algorithm")}


class Comparison(NamedTuple):
    """A comparison that has been run.

    plan: what was compared.
    tuning: the tuning runs.
    evaluations: one row per method, epsilon, split and evaluation of the test run, also of methods that are not in the
        plan, since they were run earlier for a board.
    left_out: methods and entries of the board that are not ranked -> what is wrong with their runs.
    """

    plan: Plan
    tuning: Tuning
    evaluations: pd.DataFrame
    left_out: Mapping[str, str] = MappingProxyType({})

    @property
    def runs(self) -> pd.DataFrame:
        """One row per method, epsilon and split: the tested run, at its end."""
        return at_end(self.evaluations)

    @property
    def growth(self) -> pd.DataFrame:
        """The improvement of each method in the last quarter of its runs: `report.convergence.growth`."""
        problem = self.plan.request.problem
        return convergence.growth(self.evaluations, metric=problem.metric, best=problem.best)

    @property
    def baselines(self) -> list[str]:
        """The names of the methods that count as baselines."""
        methods = dict.fromkeys([*self.plan.candidates, *self.evaluations["algorithm"]])
        return [label for label in methods if label not in self.requested]

    @property
    def adversaries(self) -> dict[str, str]:
        """Whom the noise of each method protects against: the unit's own words, or those of a method that differs."""
        level, released = self.plan.request.problem.level, self.runs.get("protects_against")
        words = dict.fromkeys([*self.requested, *self.baselines], "")
        words |= {label: candidate.against for label, candidate in self.plan.candidates.items()}
        if released is not None:  # the entries of a board have their own
            words |= dict(zip(self.runs["algorithm"][released.notna()], released.dropna(), strict=True))
        return {
            label: level.against if against in ("", *level.adversaries) else against for label, against in words.items()
        }

    @property
    def at_grid_ends(self) -> list[str]:
        """Descriptions of chosen values at the edge of the range tried, beyond which a better one may lie."""
        lines = []
        for label, candidate in self.plan.candidates.items():
            for argument in candidate.space:
                momentum = candidate.roles[argument].momentum
                tried, tested = (_long(rows, argument, momentum) for rows in (self.tuning.runs, self.runs))
                ends = _ends(tried, tested, label, argument)
                for end in ("smallest", "largest"):
                    places = [
                        f"{count} of {of} splits at {at_epsilon(epsilon)}"
                        for epsilon, count, of in ends[[end, "splits"]].itertuples(name=None)
                        if 2 * count >= of
                    ]
                    if places:
                        lines.append(f"{label}: {argument} is the {end} that was tried, on {', '.join(places)}")
        return lines

    @property
    def searched(self) -> pd.DataFrame:
        """What each method was tuned over: argument, values, and the methods; one row for all that share a role."""
        found: dict[tuple[str, str], list[str]] = {}
        for label, candidate in self.plan.candidates.items():
            for argument, tried in candidate.space.items():
                found.setdefault((candidate.roles[argument].name, written(tried, SHOWN)), []).append(label)
        rows = [(role, tried.replace(",", ", "), ", ".join(labels)) for (role, tried), labels in sorted(found.items())]
        return pd.DataFrame(rows, columns=["argument", "values", "methods"])

    @property
    def own_left_out(self) -> list[str]:
        """Requested methods whose own values of an argument gave way to those that all methods share, in words."""
        return [
            f"{label} was tuned over {written(candidate.space[name], SHOWN)} for {name}, as all here, and not over "
            f"its own: --set {label}:{name}={written(tried, SHOWN)} takes that"
            for label, candidate in self.plan.candidates.items()
            for name, tried in candidate.method.space.items()
            if label in self.requested
            and name in candidate.space
            and tried != candidate.space[name]
            and candidate.space[name] is self.plan.request.space.get(candidate.roles[name].name)
        ]

    @property
    def num_tests(self) -> float:
        """The number of test examples that all splits share; fewer where some of them count more than others."""
        problem, splits = self.plan.request.problem, range(self.plan.request.protocol.seeds)
        if problem.largest_weight is None:
            return problem.num_tests
        return problem.num_tests / max(problem.largest_weight(task) for task in map(problem.test_tasks(), splits))

    @property
    def still_improving(self) -> list[str]:
        """Methods whose score improves to the end of their rounds, each with the improvement in words."""
        lines, grown = [], self.growth
        for label, rows in grown[grown["still_improving"]].groupby("algorithm"):
            by_epsilon = rows[["target_epsilon", "last_quarter"]].itertuples(index=False, name=None)
            places = ", ".join(f"{gained:.2g} at {at_epsilon(epsilon)}" for epsilon, gained in by_epsilon)
            lines.append(f"{label} by {places}")
        return lines

    @property
    def diverged(self) -> list[str]:
        """Methods whose chosen runs all diverged, so that the settings tried do not show what they can achieve."""
        scores = self.runs[self.plan.request.problem.metric].astype(float).groupby(self.runs["algorithm"])
        return [label for label, of_method in scores if not np.isfinite(of_method).any()]

    @property
    def requested(self) -> list[str]:
        """The names of the methods that are compared with the baselines."""
        return list(self.plan.request.methods)

    @property
    def not_private(self) -> list[str]:
        """Methods that are not private with these arguments, and so were only run without noise."""
        return [label for label, candidate in self.plan.candidates.items() if list(candidate.epsilons) == [math.inf]]

    @property
    def notes(self) -> list[str]:
        """Notes on these runs for readers of the table, one line each."""
        declared = [label for label in self.requested if label not in self.not_private]
        lines = [
            *self.own_left_out,
            *(f"{label}, of the board, is left out: {why}" for label, why in self.left_out.items()),
            *(f"{label}, a method of the suite, is left out: {reason}" for label, reason in self.plan.unfit.items()),
            *(
                f"{label} is not private with these arguments and was only run without noise"
                for label in self.not_private
            ),
        ]
        if fixed := self.plan.request.fixed:
            values = ", ".join(f"{name}={value}" for name, value in fixed.items())
            lines.append(f"Fixed for every method that has the argument, the baselines too: {values}")
        if declared:
            names = ", ".join(declared)
            lines.append(f"Epsilon of {names} is as declared by the method: `python -m bench audit` tests it")
        lines += [
            *self._together(
                "{} diverged with all settings tried: give more --settings, or smaller values by --set; or, where that "
                "does not help, look for a client whose data are in other units",
                self.diverged,
            ),
            *self._together("A better value may lie beyond: {}", self.at_grid_ends),
            *self._together(
                "More rounds may change the order, since scores still improved in the last quarter of the rounds: {}",
                self.still_improving,
            ),
        ]
        # Those about the requested methods come first.
        return sorted(lines, key=lambda line: not any(label in line for label in self.requested))

    def _together(self, words: str, lines: Sequence[str]) -> list[str]:
        """Return notes with these words: one for each line about a requested method, and one for all other lines."""
        own = [line for line in lines if any(label in line for label in self.requested)]
        others = "; ".join(line for line in lines if line not in own)
        return [words.format(line) for line in (*own, others) if line]


def _long(rows: pd.DataFrame, argument: str, momentum: str) -> pd.DataFrame:
    """Return the rows with steps as long as they are with their momentum."""
    if not momentum or momentum not in rows:
        return rows
    return rows.assign(**{argument: rows[argument] / (1 - rows[momentum].astype(float))})


def _ends(tuning: pd.DataFrame, runs: pd.DataFrame, label: str, argument: str) -> pd.DataFrame:
    """Return by epsilon the number of splits on which the "smallest" and the "largest" value was chosen, and of
    "splits".

    Words, and arguments with fewer than three values tried, are skipped. A smallest value of 0 is no end: below it no
    argument has a meaning.
    """
    keys = ["target_epsilon", "trial"]
    tried = tuning[tuning["algorithm"] == label]
    tried = tried.assign(value=pd.to_numeric(tried[argument], errors="coerce").replace([np.inf, -np.inf], np.nan))
    spans = tried.groupby(keys)["value"].agg(["min", "max", "nunique"])
    tested = runs[runs["algorithm"] == label].set_index(keys)[argument]
    chosen = spans.assign(value=pd.to_numeric(tested, errors="coerce"))
    chosen = chosen[(chosen["nunique"] >= FEWEST) & chosen["value"].notna()]
    value = chosen["value"]
    at_ends = {"smallest": np.isclose(value, chosen["min"]) & (value != 0), "largest": np.isclose(value, chosen["max"])}
    return chosen.assign(**at_ends, splits=1)[[*at_ends, "splits"]].groupby("target_epsilon").sum()


def at_end(evaluations: pd.DataFrame) -> pd.DataFrame:
    """Return the last evaluation of each run."""
    return evaluations[evaluations["rounds"] == evaluations["num_rounds"]].reset_index(drop=True)


def at_epsilon(epsilon: float) -> str:
    """Return a description of an epsilon; 0 stands for methods that release nothing."""
    return "no noise" if math.isinf(epsilon) else "any ε" if epsilon == 0 else f"ε = {epsilon:g}"
