"""Bietti et al. 2022: personalised private SGD."""

from figures.ppsgd import (
    claims,
    fig1a,
    fig1d,
    fig2,
    fig2_digits,
    longer,
    rounds,
    sampled_theory,
    sampling,
    theory,
    users,
)
from figures.shared.paper import Paper

PAPER = Paper(
    name="ppsgd",
    cited="Bietti et al. 2022",
    authors="Bietti, Wei, Dudík, Langford, Wu",
    title="Personalization improves privacy–accuracy tradeoffs in federated learning",
    venue="ICML 2022",
    protects="all data of one user",
    against="all other users together (joint DP, billboard model)",
    state="complete",
    figures={
        "ppsgd_fig1a": fig1a.FIGURE,
        "ppsgd_fig1b": rounds.FIGURE_1B,
        "ppsgd_fig1b_made_up": rounds.FIGURE_1B_MADE_UP,
        "ppsgd_fig1c": rounds.FIGURE_1C,
        "ppsgd_fig1d": fig1d.FIGURE,
        "ppsgd_fig2": fig2.FIGURE,
        "ppsgd_fig2_digits": fig2_digits.FIGURE,
        "ppsgd_users": users.FIGURE,
        "ppsgd_longer": longer.FIGURE,
        "ppsgd_theory": theory.FIGURE,
        "ppsgd_sampled_theory": sampled_theory.FIGURE,
        "ppsgd_sampling": sampling.FIGURE,
    },
    claims=claims.CLAIMS,
    exception=(
        "On digits at ε = 1.6 and below learning alone beats every partly shared model, so personalisation is not "
        "always beneficial; other data stand in for Stack Overflow and EMNIST."
    ),
    found=(
        "The paper claims that a model which is partly shared and partly local beats both extremes. Here digits (at "
        "ε = 8) and tags (at ε = 2.3) show this, and without noise tags with the published step sizes and digits."
    ),
    lead="ppsgd_fig2",
    in_full=True,
)
