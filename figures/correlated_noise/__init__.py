"""Kalinin and Lampert 2024: noise that is correlated over rounds."""

from figures.correlated_noise import claims, digits, sums
from figures.shared.paper import Paper

PAPER = Paper(
    name="correlated_noise",
    cited="Kalinin and Lampert 2024",
    authors="Kalinin, Lampert",
    title="Banded square root matrix factorization for differentially private model training",
    venue="NeurIPS 2024",
    protects="all data of one user",
    against="everybody who sees the shared model",
    state="noise of prefix sums, and digits beside the published queue; none of its figures",
    figures={"correlated_noise_sums": sums.FIGURE, "correlated_noise_digits": digits.FIGURE},
    claims=claims.CLAIMS,
    exception="The noise of prefix sums is tested, and none of the paper's figures.",
    found=(
        "Banded square-root noise leaves a third of the noise that independent draws leave in the prefix sums "
        "of 200 rounds, as the matrices predict."
    ),
    lead="correlated_noise_digits",
)
