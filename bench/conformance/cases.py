"""The cases of accounting, and the readings: a sampler, a neighbouring relation and an accountant."""

import math
from dataclasses import dataclass
from typing import NamedTuple

SAMPLERS = {
    "poisson": "in every round each unit takes part with probability batch / units, independently of all others",
    "fixed_size": "in every round `batch` units are drawn afresh, uniformly without replacement",
    "full": "every unit takes part in every round; `batch` does not matter",
    "shuffled": "in every epoch all units are shuffled and used once each, `batch` of them in a round, so each unit "
    "takes part in at most `participations` rounds",
}
RELATIONS = {
    "add_or_remove": "one unit is added or removed, which moves the sum by at most the clip norm C; with `shuffled` "
    "the place of a removed unit stays in the order, empty",
    "replace_one": "one unit is replaced by another, which moves the sum by at most 2 C",
}
ACCOUNTANTS = {
    "exact": "the closed form of composed Gaussians, Balle and Wang 2018, Theorem 8",
    "pld": "a privacy loss distribution, rounded pessimistically; it is at most 0.2 % above the exact epsilon",
    "rdp": "Renyi DP at the orders 1.1, 1.2, ..., 10.9, 12, 13, ..., 63, converted by Canonne, Kamath and Steinke "
    "2020, Proposition 12",
}
EXACT, UPPER = "exact", "upper bound"


class Reading(NamedTuple):
    """One proven way of accounting for a case: words of SAMPLERS, RELATIONS and ACCOUNTANTS.

    bound: whether the number is exact, or an upper bound (of epsilon, and so of the noise that is needed).
    """

    sampler: str
    relation: str
    accountant: str
    bound: str

    @property
    def name(self) -> str:
        """The part of an id behind the case."""
        return f"{self.sampler}.{self.relation}.{self.accountant}"


READINGS = (
    Reading("poisson", "add_or_remove", "pld", UPPER),
    Reading("poisson", "add_or_remove", "rdp", UPPER),
    Reading("fixed_size", "replace_one", "rdp", UPPER),
    Reading("full", "add_or_remove", "exact", EXACT),
    Reading("full", "add_or_remove", "rdp", UPPER),
    Reading("full", "replace_one", "exact", EXACT),
    Reading("full", "replace_one", "rdp", UPPER),
    # Exact where the order is public, and an upper bound where it is secret: it claims no amplification.
    Reading("shuffled", "add_or_remove", "exact", UPPER),
    Reading("shuffled", "replace_one", "exact", UPPER),
)
MOST = 100  # a larger epsilon is left out
LEFT_OUT = (
    "poisson with replace_one, and fixed_size with add_or_remove: the suite has no accountant that is proven for them",
    "fixed_size by pld: the suite has none that is proven",
    "shuffled with amplification: the suite has no bound that is proven for batches; and shuffled with a removed unit "
    "whose place is filled by those behind it, which changes all later batches",
    f"epsilons above {MOST}, which promise nothing",
)


@dataclass(frozen=True)
class Case:
    """A training run: T rounds, each of which releases a sum of vectors of norm <= C with noise of deviation sigma C.

    Attributes:
        name: the first part of the ids.
        about: what it is like.
        units: N, users or examples.
        batch: number of units in a round; under Poisson sampling the expected number.
        rounds: T.
        delta: of (epsilon, delta)-DP.
        noise_multiplier: sigma, relative to C; None where epsilon is given and sigma is asked for.
        epsilon: the target; None where sigma is given.
        published: an epsilon of this case under Poisson sampling in a publication, and which.
    """

    name: str
    about: str
    units: int
    batch: int
    rounds: int
    delta: float
    noise_multiplier: float | None = None
    epsilon: float | None = None
    published: tuple[float, str] | None = None

    @property
    def rate(self) -> float:
        """The share of the units in a round."""
        return self.batch / self.units

    @property
    def participations(self) -> int:
        """The largest number of rounds of one unit, if the batches of an epoch are disjoint."""
        return math.ceil(self.rounds / math.ceil(self.units / self.batch))

    @property
    def asked(self) -> str:
        """What is asked for."""
        return "epsilon" if self.epsilon is None else "noise_multiplier"


MOMENTS = "by Renyi DP or moments with the older conversion, epsilon = rdp(a) + log(1 / delta) / (a - 1)"
TUTORIAL = f"an earlier README of the MNIST tutorial of TensorFlow Privacy, {MOMENTS}"

CASES = (
    Case(
        "abadi_2016",
        "MNIST with lots of 600 for 100 epochs",
        60_000,
        600,
        10_000,
        1e-5,
        4.0,
        published=(1.26, f"Abadi et al. 2016, {MOMENTS}"),
    ),
    Case("mnist_15_epochs", "MNIST with batches of 256", 60_000, 256, 3_516, 1e-5, 1.3, published=(1.19, TUTORIAL)),
    Case("mnist_60_epochs", "MNIST with batches of 256", 60_000, 256, 14_063, 1e-5, 1.1, published=(3.01, TUTORIAL)),
    Case("mnist_45_epochs", "MNIST with batches of 256", 60_000, 256, 10_547, 1e-5, 0.7, published=(7.10, TUTORIAL)),
    Case("language_model", "user-level training of a language model", 763_430, 5_000, 4_120, 1e-9, 1.0),
    Case("many_users", "the same with a hundred million users", 100_000_000, 5_000, 4_120, 1e-9, 1.0),
    Case("one_release", "a single noisy sum", 1_000, 100, 1, 1e-5, 1.0),
    Case("small_federation", "a hundred users of whom ten take part", 100, 10, 100, 1e-3, 1.0),
    Case("half_of_the_units", "large samples of few units", 200, 100, 50, 1e-5, 5.0),
    Case("little_noise", "so little noise that epsilon is large", 50_000, 500, 1_000, 1e-5, 0.5),
    Case("much_noise", "so much noise that a Renyi bound is near its floor", 10_000, 100, 2_000, 1e-6, 20.0),
    Case("tiny_delta", "a million units and a delta of 1e-10", 1_000_000, 1_000, 5_000, 1e-10, 0.8),
    Case("cifar_8", "CIFAR-10 with large batches", 50_000, 4_096, 2_000, 1e-5, epsilon=8.0),
    Case("cifar_1", "CIFAR-10 with large batches", 50_000, 4_096, 875, 1e-5, epsilon=1.0),
    Case("writers_2", "federated learning with 3,400 writers", 3_400, 50, 1_500, 1e-4, epsilon=2.0),
    Case("strict", "a small epsilon", 10_000, 200, 500, 1e-5, epsilon=0.5),
    Case("large_batches_4", "twenty epochs of large batches", 60_000, 1_024, 1_200, 1e-5, epsilon=4.0),
    Case("hospitals_1", "few organisations, each a unit", 32, 8, 40, 1e-3, epsilon=1.0),
    Case("loose_16", "a large epsilon", 5_000, 500, 300, 1e-5, epsilon=16.0),
    Case("text_3", "a text data set", 393_000, 1_000, 2_000, 1e-6, epsilon=3.0),
)
