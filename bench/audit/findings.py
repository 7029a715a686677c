"""The result for one way of accounting: the bounds of the game, and what replay measured."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import dp_accounting as dp

from bench.audit import bounds
from bench.audit.bounds import SHIFT, Test
from bench.audit.replay import TOLERANCE
from bench.audit.subject import epsilon_spent
from bench.privacy.accounting.atoms import disjoint_atoms
from bench.privacy.events import Release

OTHER_DELTAS = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2, 0.4)  # further deltas at which a declared epsilon is computed
MOST_UNSEEN = 4.0  # by which noise may be too small without being seen, for an audit to pass


class Bound(NamedTuple):
    """A lower bound, and the epsilon declared at the same delta.

    test: "game" (error rates, at the declared delta), "other delta" (error rates, at the most informative delta) or
        "Gaussian" (for Gaussian noise without sampling).
    score: the kind of score, SHIFT or SCALE.
    """

    test: str
    delta: float
    declared: float
    lower_bound: float
    score: str = SHIFT

    @property
    def refutes(self) -> bool:
        """Whether the lower bound exceeds the declared epsilon."""
        return self.lower_bound > self.declared


class Finding(NamedTuple):
    """The result of the audit for one way of accounting on one task.

    family: of the task.
    epsilon: the declared epsilon, at the release's own delta.
    bounds: of the game; none where it was not played.
    factor: how many times the largest change that the canary makes, over the noise, is what is declared; NaN where
        replay could not tell.
    place: where that is.
    reason: why replay could not tell, or not for all of it; "" where it could.
    more_often: whether the canary takes part in more rounds than if it were sampled as declared.
    played: whether its neighbouring relation could be played: False where a unit that is removed leaves something
        behind. Then replay is for two data sets that are two neighbours apart, and there is no game.

    A release describes what is made public, and declares an epsilon for every delta. A bound at another delta, a
    Gaussian one, and replay refute that description, and with it the reason for the declared epsilon.
    """

    reading: str
    release: Release
    epsilon: float
    bounds: tuple[Bound, ...]
    factor: float = math.nan
    place: str = ""
    reason: str = ""
    more_often: bool = False
    family: str = ""
    played: bool = True

    @property
    def replay_refutes(self) -> bool:
        """Whether the canary changes something by more than is declared."""
        return self.epsilon < math.inf and self.factor > TOLERANCE

    @property
    def refuted(self) -> bool:
        """Whether replay or some bound of the game contradicts what is declared."""
        return self.replay_refutes or any(bound.refutes for bound in self.bounds)

    @property
    def unseen_factor(self) -> float:
        """By what factor the noise could be smaller before replay would see it; NaN where it could not tell."""
        return TOLERANCE / self.factor if self.factor else math.inf

    @property
    def decided(self) -> bool:
        """Whether replay found what is declared, or nothing where nothing is declared."""
        enough = self.unseen_factor <= MOST_UNSEEN or self.factor == self.epsilon == 0
        return enough and self.played and not (self.refuted or self.more_often)

    @property
    def worst_bound(self) -> Bound | None:
        """The bound that exceeds what is declared most, at the declared delta if there is one; None where none does."""
        refuting = [bound for bound in self.bounds if bound.refutes]
        return max(refuting, key=lambda b: (b.delta == self.release.delta, b.lower_bound - b.declared), default=None)


def by_game(release: Release, released: int, tests: Sequence[Test], significance: float) -> tuple[Bound, ...]:
    """Return the bounds of a game that is played under the release's own neighbouring relation.

    Args:
        release: one way of accounting.
        released: releases in a run.
        tests: of the game.
        significance: of each bound. Ways of accounting with one relation share all bounds but that at another delta.
    """
    delta, declared = release.delta, epsilon_spent(release, released)
    epsilons = {delta: declared}
    if declared < math.inf:
        epsilons |= {level: epsilon_spent(release, released, level) for level in OTHER_DELTAS}

    def bound(test: str, levels: Mapping[float, float], *, gaussian: bool = False) -> Bound:
        choice, lower_bound = bounds.lower_bound(tests, levels, significance, gaussian=gaussian)
        return Bound(test, choice.delta, epsilons[choice.delta], lower_bound, choice.test.kind)

    results = [bound("game", {delta: 1.0})]
    if is_gaussian(release, released):
        results.append(bound("Gaussian", {delta: 1.0}, gaussian=True))
    if declared < math.inf:
        results.append(bound("other delta", {level: value for level, value in epsilons.items() if value < math.inf}))
    return tuple(results)


def is_gaussian(release: Release, released: int) -> bool:
    """Return whether all releases about a unit are Gaussians without sampling, and there is at least one."""
    atoms = [atom for component in disjoint_atoms(release, released) for atom in component]
    return bool(atoms) and all(isinstance(atom, dp.GaussianDpEvent) for atom in atoms)
