"""What a comparison showed, and what a reader of it must know."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from bench.comparison import convergence
from bench.comparison.plan import Plan
from bench.comparison.search import Setting

FEWEST = 3  # values of an argument of which one can lie at an end


class Tuning(NamedTuple):
    """What was tried.

    runs: one row per method, epsilon, setting and split: the run by the held-out data, at its end; "look" is 0 for
        settings all over the space, and counts the closer looks at those near the best.
    settings: by the name in the legend; the number of a setting is its place.
    """

    runs: pd.DataFrame
    settings: Mapping[str, Sequence[Setting]]

    @property
    def num_settings(self) -> dict[str, int]:
        """How many settings of each method were tried, at one epsilon on one split."""
        counts = self.runs.groupby(["algorithm", "target_epsilon", "trial"])["setting"].nunique()
        return {str(label): int(of_label.max()) for label, of_label in counts.groupby("algorithm")}


class Comparison(NamedTuple):
    """A comparison that has been run.

    plan: what was compared.
    tuning: what was tried on held-out data.
    evaluations: one row per method, epsilon, split and evaluation of the tested run.
    of_board: names of the methods that were run before, for a board, and are in no plan.
    left_out: those of the board whose runs are not all there.
    """

    plan: Plan
    tuning: Tuning
    evaluations: pd.DataFrame
    of_board: Sequence[str] = ()
    left_out: Sequence[str] = ()

    @property
    def runs(self) -> pd.DataFrame:
        """One row per method, epsilon and split: the tested run, at its end."""
        return at_end(self.evaluations)

    @property
    def baselines(self) -> list[str]:
        """The names of the methods that stand for what there is already."""
        planned = [label for label, candidate in self.plan.candidates.items() if candidate.is_baseline]
        return [*planned, *self.of_board]

    @property
    def at_grid_ends(self) -> list[str]:
        """Values that were chosen at the end of what was tried, in words: a better one may lie beyond."""
        lines = []
        for label, candidate in self.plan.candidates.items():
            for argument in candidate.space:
                ends = _ends(self.tuning.runs, self.runs, label, argument)
                for end in ("smallest", "largest"):
                    places = [
                        f"{count} of {of} splits at {at_epsilon(epsilon)}"
                        for (epsilon, which), (count, of) in ends.items()
                        if which == end and 2 * count >= of
                    ]
                    if places:
                        lines.append(f"{label}: {argument} is the {end} that was tried, on {', '.join(places)}")
        return lines

    @property
    def still_improving(self) -> list[str]:
        """Methods whose score improves to the end of their rounds, in words."""
        problem, lines = self.plan.request.problem, []
        grown = convergence.growth(self.evaluations, metric=problem.metric, best=problem.best)
        for label, rows in grown[grown["still_improving"]].groupby("algorithm"):
            by_epsilon = rows[["target_epsilon", "last_quarter"]].itertuples(index=False, name=None)
            places = ", ".join(f"{gained:.2g} at {at_epsilon(epsilon)}" for epsilon, gained in by_epsilon)
            lines.append(f"{label} still improved in the last quarter of its rounds, by {places}")
        return lines

    @property
    def diverged(self) -> list[str]:
        """Methods of which no chosen run ended with a finite score: what was tried does not show what they can do."""
        scores = self.runs[self.plan.request.problem.metric].astype(float).groupby(self.runs["algorithm"])
        return [label for label, of_method in scores if not np.isfinite(of_method).any()]

    @property
    def same_as_baselines(self) -> dict[str, list[str]]:
        """Of methods that were asked for and stand behind baselines, too, with other arguments: those baselines."""
        factories = {label: candidate.method.make for label, candidate in self.plan.candidates.items()}
        same = {
            label: [baseline for baseline in self.baselines if factories.get(baseline) == make]
            for label, make in factories.items()
            if label not in self.baselines
        }
        return {label: baselines for label, baselines in same.items() if baselines}

    @property
    def not_private(self) -> list[str]:
        """Methods that promise nothing with these arguments, and so were run without noise alone."""
        return [label for label, candidate in self.plan.candidates.items() if list(candidate.epsilons) == [math.inf]]

    @property
    def notes(self) -> list[str]:
        """What a reader of the table must know of these runs, a line each."""
        declared = [
            label
            for label, candidate in self.plan.candidates.items()
            if not (candidate.is_baseline or label in self.not_private)
        ]
        return [
            *(f"{label} is not all there on the board, and left out" for label in self.left_out),
            *(f"{label}, a method of the suite, is left out: {reason}" for label, reason in self.plan.unfit.items()),
            *(
                f"{label} is the method behind {', '.join(names)}, with its own defaults: --set changes them"
                for label, names in self.same_as_baselines.items()
            ),
            *(f"{label} promises nothing with these arguments: run without noise alone" for label in self.not_private),
            *(
                [f"Epsilon of {', '.join(declared)} as declared: `python -m bench audit` asks whether it is true"]
                if declared
                else []
            ),
            *(
                f"{label} diverged with all that was tried: give more --settings, or --tune smaller"
                for label in self.diverged
            ),
            *(f"A better value may lie beyond: {line}" for line in self.at_grid_ends),
            *(f"More rounds may change the order: {line}" for line in self.still_improving),
        ]


def _ends(
    tuning: pd.DataFrame, runs: pd.DataFrame, label: str, argument: str
) -> dict[tuple[float, str], tuple[int, int]]:
    """(epsilon, "smallest" or "largest") -> on how many splits the chosen value is that, and of how many.

    Words, and arguments of which fewer than three values were tried, have no ends.
    """
    keys = ["target_epsilon", "trial"]
    tried = tuning[tuning["algorithm"] == label]
    tried = tried.assign(value=pd.to_numeric(tried[argument], errors="coerce").replace([np.inf, -np.inf], np.nan))
    spans = tried.groupby(keys)["value"].agg(["min", "max", "nunique"])
    mine = runs[runs["algorithm"] == label].set_index(keys)[argument]
    chosen = spans.assign(value=pd.to_numeric(mine, errors="coerce"))
    chosen = chosen[(chosen["nunique"] >= FEWEST) & chosen["value"].notna()]
    ends = {}
    for epsilon, rows in chosen.groupby("target_epsilon"):
        for column, word in (("min", "smallest"), ("max", "largest")):
            ends[epsilon, word] = int(np.isclose(rows["value"], rows[column]).sum()), len(rows)
    return ends


def at_end(evaluations: pd.DataFrame) -> pd.DataFrame:
    """The last evaluation of each run."""
    return evaluations[evaluations["rounds"] == evaluations["num_rounds"]].reset_index(drop=True)


def at_epsilon(epsilon: float) -> str:
    """An epsilon in words: 0 is of methods that reveal nothing."""
    return "no noise" if math.isinf(epsilon) else "any ε" if epsilon == 0 else f"ε = {epsilon:g}"
