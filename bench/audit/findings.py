"""The bounds of the game on a way of accounting, and how much too little noise it would have detected."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import dp_accounting as dp
import numpy as np

from bench.audit import bounds
from bench.audit.bounds import SHIFT, Choice, Test
from bench.audit.game import PILOT, Game, play, play_on
from bench.audit.subject import Subject, spent
from bench.privacy.accounting import group_of_two
from bench.privacy.events import ParallelDpEvent, Release

OTHER_DELTAS = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2, 0.4)  # further deltas at which a declared epsilon is computed
FACTORS = tuple(2 ** (quarter / 4) for quarter in range(1, 9))  # divisors of the noise
FURTHER = 10.0  # times the runs: a test is chosen for so many, where more runs are planned
MOST_NEEDED = 1e12  # runs, that an estimate of the runs that are needed goes up to
MARGIN = 1.25  # of the runs that are made over those that seem to be needed


class Bound(NamedTuple):
    """A lower bound, and the epsilon declared at the same delta.

    how: "game" (error rates, at the declared delta), "other delta" (error rates, at the most informative delta),
        "Gaussian" (the game, for Gaussian noise without sampling), "two apart" (error rates, for data sets that are two
        neighbours apart), "more runs" and "more runs, Gaussian" (of a second, longer game), "one run",
        "one run, Gaussian".
    by: the kind of score, SHIFT, SCALE or FINITE.
    """

    how: str
    delta: float
    declared: float
    found: float
    by: str = SHIFT

    @property
    def refutes(self) -> bool:
        """Whether the lower bound exceeds the declared epsilon."""
        return bounds.is_declared(self.declared) and self.found > self.declared


class Finding(NamedTuple):
    """The result of the audit for one way of accounting on one task.

    family: of the task.
    epsilon: the declared epsilon, at the release's own delta.
    played: whether its neighbouring relation could be played: False where a unit that is removed leaves something
        behind. Then bounds are for two data sets that are two neighbours apart, which is all that can be said of them.
    detected: the least of FACTORS by which the noise could be too small for the game to refute it; inf where none is
        large enough, None where this was not computed.
    needed: about how many runs it would take to see noise too small by the least of FACTORS, or, where `detected` is
        inf, by the largest; inf where these runs do not tell, None where this was not computed.

    A release describes what is made public, and declares an epsilon for every delta. A bound at another delta, and a
    Gaussian one, refute that description, and with it the reason for the declared epsilon.
    """

    reading: str
    release: Release
    epsilon: float
    bounds: tuple[Bound, ...]
    detected: float | None = None
    needed: float | None = None
    family: str = ""
    played: bool = True

    @property
    def refuted(self) -> bool:
        """Whether some bound is larger than the declared epsilon."""
        return any(bound.refutes for bound in self.bounds)

    @property
    def worst(self) -> Bound:
        """The bound that exceeds what is declared most, at the declared delta if there is one."""
        refuting = [bound for bound in self.bounds if bound.refutes]
        return max(refuting, key=lambda bound: (bound.delta == self.release.delta, bound.found - bound.declared))


def by_game(release: Release, released: int, game: Game, significance: float, *, played: bool = True) -> list[Bound]:
    """Return the bounds of a game that is played under the release's own neighbouring relation.

    Args:
        release: one way of accounting.
        released: releases in a run.
        significance: of each bound. Ways of accounting with one relation share all bounds but that at another delta.
        played: whether the two data sets are neighbours; otherwise they are taken for neighbours of a third.
    """
    delta, declared = release.delta, spent(release, released)

    def counted(how: str, every: Mapping[float, float]) -> Bound:
        choice = bounds.choose(game.tests, every, significance)
        found = bounds.proven(choice, choice.test.others(), significance)
        return Bound(how, choice.delta, every[choice.delta], found, choice.test.kind)

    if not played:
        every = two_apart(declared_at(release, released))
        return [counted("two apart", every)] if every else []
    results = [counted("game", {delta: 0.0})._replace(declared=declared)]
    if is_gaussian(release, released):
        choice = bounds.choose_gaussian(game.tests, delta, significance)
        found = bounds.proven_gaussian(choice, choice.test.others(), significance)
        results.append(Bound("Gaussian", delta, declared, found, choice.test.kind))
    if bounds.is_declared(declared):
        results.append(counted("other delta", declared_at(release, released)))
    return results


def declared_at(release: Release, released: int) -> dict[float, float]:
    """Return delta -> the epsilon that a release declares at it, where it declares one."""
    every = {other: spent(release, released, other) for other in (release.delta, *OTHER_DELTAS)}
    return {other: epsilon for other, epsilon in every.items() if bounds.is_declared(epsilon)}


def two_apart(declared: Mapping[float, float]) -> dict[float, float]:
    """Return delta -> epsilon for two data sets that are neighbours of a third one, from that of neighbours."""
    pairs = [group_of_two(epsilon, delta) for delta, epsilon in declared.items() if epsilon < 100]
    return {delta: epsilon for epsilon, delta in pairs if delta < 1}


class Games:
    """Games with the noise of a subject divided by factors, each played once."""

    def __init__(self, subject: Subject, shapes: Sequence[str], *, runs: int, seed: int):
        self.subject, self.shapes, self.runs, self.seed = subject, shapes, runs, seed
        self._played: dict[tuple[str, float], Game] = {}

    def with_less_noise(self, factor: float) -> Subject:
        """Return the subject with its noise divided by the factor."""
        noise = self.subject.method.noise
        return self.subject._replace(args=self.subject.args | {noise: self.subject.args[noise] / factor})

    def game(self, relation: str, factor: float) -> Game:
        """Return the game under a relation, with the noise divided by the factor."""
        if (relation, factor) not in self._played:
            less = self.with_less_noise(factor)
            self._played[relation, factor] = play(less, relation, self.shapes, runs=self.runs, seed=self.seed)
        return self._played[relation, factor]


def least_detected(release: Release, released: int, games: Games, significance: float) -> float:
    """Return the least of FACTORS by which the noise could be too small for the game to refute a way of accounting; inf
    where none is large enough. Less noise is taken to be detected more easily.
    """
    found, tried = math.inf, list(FACTORS)
    while tried:
        middle = len(tried) // 2
        game = games.game(release.neighbors, tried[middle])
        if any(bound.refutes for bound in by_game(release, released, game, significance)):
            found, tried = tried[middle], tried[:middle]
        else:
            tried = tried[middle + 1 :]
    return found


def most_refuted(release: Release, released: int, games: Games, significance: float) -> float:
    """Return the largest of FACTORS by which the noise can be multiplied and the game still refutes a way of
    accounting; 1 where there is none.

    The factors are tried from the smallest on, up to the first that is not refuted, so that the probability of a factor
    that is too large is the significance, however many are tried.
    """
    largest = 1.0
    for factor in FACTORS:
        game = games.game(release.neighbors, 1 / factor)
        if not any(bound.refutes for bound in by_game(release, released, game, significance)):
            break
        largest = factor
    return largest


class Longer(NamedTuple):
    """A longer game with one test, which the runs of an earlier game choose.

    gaussian: whether the bound is that of Gaussian noise without sampling.
    declared: delta -> epsilon, the declared curve.
    significance: of its one bound.
    """

    release: Release
    gaussian: bool
    declared: Mapping[float, float]
    significance: float

    def choice(self, tests: Sequence[Test], runs: float) -> Choice:
        """Return the test and threshold that promise most in so many runs."""
        if self.gaussian:
            choice = bounds.choose_gaussian(tests, self.release.delta, self.significance, runs)
            return choice._replace(part=choice.part / max(self.declared[self.release.delta], bounds.SMALLEST))
        return bounds.choose(tests, self.declared, self.significance, runs)

    def needed(self, tests: Sequence[Test], runs: int) -> float:
        """Return about how many runs, more than these, would refute the release if errors are as frequent as in these;
        inf where no number seems enough.

        Test and threshold are chosen on the pilot runs, and errors are counted in the others, so that the choice does
        not make them look rare.
        """
        test = self.choice(tests, FURTHER * runs).test
        first, others = [test], [test._replace(pilot=test.others())]
        wanted = float(runs)
        while (wanted := wanted * 2**0.5) < MOST_NEEDED:
            if self._expected(self.choice(first, wanted), others[0], wanted) > 1:
                return wanted / (1 - PILOT)
        return math.inf

    def _expected(self, choice: Choice, test: Test, runs: float) -> float:
        """Return the part of what is declared that so many runs would prove at the chosen threshold."""
        rates = bounds.expected_rates(*test.pilot, [choice.place], self.significance, runs)
        found = (
            bounds.of_mu(float(bounds.separation(*rates)[0]), choice.delta)
            if self.gaussian
            else float(bounds.epsilon_at(choice.delta, *rates)[0])
        )
        return found / max(self.declared[choice.delta], bounds.SMALLEST)

    def bound(self, subject: Subject, choice: Choice, *, runs: int, seed: int) -> Bound:
        """Return the bound of new runs."""
        scores = play_on(subject, self.release.neighbors, choice, runs=runs, seed=seed)
        proven = bounds.proven_gaussian if self.gaussian else bounds.proven
        how = "more runs, Gaussian" if self.gaussian else "more runs"
        found = proven(choice, scores, self.significance)
        return Bound(how, choice.delta, self.declared[choice.delta], found, choice.test.kind)


def longer(release: Release, released: int, significance: float) -> Longer:
    """Return the longer game for a way of accounting."""
    return Longer(release, is_gaussian(release, released), declared_at(release, released), significance)


def as_pilot(tests: Sequence[Test]) -> list[Test]:
    """Return tests of which all runs are the pilot of a longer game."""

    def whole(test: Test) -> tuple[np.ndarray, np.ndarray]:
        (ins, outs), (more_ins, more_outs) = test.pilot, test.others()
        return np.concatenate([ins, more_ins]), np.concatenate([outs, more_outs])

    return [test._replace(pilot=whole(test)) for test in tests]


def is_gaussian(release: Release, released: int) -> bool:
    """Return whether all releases about a unit are Gaussians without sampling, and there is at least one."""

    def parts(event) -> list:
        if isinstance(event, dp.SelfComposedDpEvent):
            return parts(event.event) if event.count else []
        if isinstance(event, dp.ComposedDpEvent | ParallelDpEvent):
            return [part for inner in event.events for part in parts(inner)]
        return [] if isinstance(event, dp.NoOpDpEvent) else [event]

    released_events = parts(release.event(released))
    return bool(released_events) and all(isinstance(part, dp.GaussianDpEvent) for part in released_events)
