"""Allouah et al. 2024: noise that neighbours on a graph share."""

from figures.decor import claims, noise
from figures.shared.paper import Paper

PAPER = Paper(
    name="decor",
    cited="Allouah et al. 2024",
    authors="Allouah, Koloskova, El Firdoussi, Jaggi, Guerraoui",
    title="The privacy power of correlated noise in decentralized learning",
    venue="ICML 2024",
    protects="one data point of one agent",
    against="those who see all messages and share no noise with any agent, or any one other agent",
    state="DP-D-SGD, DECOR and central noise on three graphs of 16 agents, generated data; not a9a, no networks",
    figures={"decor_noise": noise.FIGURE},
    claims=claims.CLAIMS,
    exception=(
        "Agents' own models on ring and grid stay far from central noise; only the mean of the models comes close."
    ),
    found=(
        "At equal privacy against outsiders, noise that neighbours share leads to a lower error than local "
        "noise on ring, grid and complete graph."
    ),
)
