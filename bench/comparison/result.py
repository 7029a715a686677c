"""What a comparison showed, and what a reader of it must know."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from bench.comparison.plan import Plan


class Comparison(NamedTuple):
    """A comparison that has been run.

    plan: what was compared.
    tuning: one row per method, epsilon, setting and split: the run by the held-out data, at its end.
    runs: one row per method, epsilon and split: the tested run, at its end.
    """

    plan: Plan
    tuning: pd.DataFrame
    runs: pd.DataFrame

    @property
    def baselines(self) -> list[str]:
        """The names of the methods that stand for what there is already."""
        return [label for label, candidate in self.plan.candidates.items() if candidate.is_baseline]

    @property
    def num_settings(self) -> dict[str, int]:
        """How many settings of each method were tried."""
        return {label: len(candidate.settings) for label, candidate in self.plan.candidates.items()}

    @property
    def at_grid_ends(self) -> list[str]:
        """Values that were chosen at the end of what was tried, in words: a better one may lie beyond."""
        lines = []
        for label, candidate in self.plan.candidates.items():
            runs = self.runs[self.runs["algorithm"] == label]
            for argument, tried in candidate.space.items():
                numbers = [value for value in tried if isinstance(value, int | float) and math.isfinite(value)]
                if len(numbers) < 3:
                    continue
                for end in (min(numbers), max(numbers)):
                    count = int(np.isclose(runs[argument].astype(float), end).sum())
                    if 4 * count >= len(runs):
                        lines.append(
                            f"{label}: {argument} = {end:g}, the end of its grid, in {count} of {len(runs)} runs"
                        )
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
            label: [baseline for baseline in self.baselines if factories[baseline] == make]
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
        ]
