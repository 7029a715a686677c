"""Bellet et al. 2018: private peer-to-peer coordinate descent."""

from figures.p2p import (
    agents,
    allocation,
    calibration,
    claims,
    deviations,
    fig1,
    fig2c,
    fig3,
    fig4,
    perturbed,
    private,
    table1,
)
from figures.shared.paper import Paper

PAPER = Paper(
    name="p2p",
    cited="Bellet et al. 2018",
    authors="Bellet, Guerraoui, Taziki, Tommasi",
    title="Personalized and private peer-to-peer machine learning",
    venue="AISTATS 2018",
    protects="one data point of one agent",
    against="all other agents",
    state="complete",
    figures={
        "p2p_fig1": fig1.FIGURE,
        "p2p_fig2a": private.FIGURE_2A,
        "p2p_fig2b": private.FIGURE_2B,
        "p2p_allocation": allocation.FIGURE,
        "p2p_fig2c": fig2c.FIGURE,
        "p2p_fig3": fig3.FIGURE,
        "p2p_fig4": fig4.FIGURE,
        "p2p_perturbed": perturbed.FIGURE,
        "p2p_calibration": calibration.FIGURE,
        "p2p_agents": agents.FIGURE,
        "p2p_table1": table1.FIGURE,
    },
    claims=claims.CLAIMS,
    deviations=deviations.deviations,
    exception="The published noise is up to 1,000 times too small for its ε.",
    found=(
        "The noise is calibrated to gradients of norm 1, which only inputs of norm 1 have. No range of the inputs that "
        "we ran gives both the ε of the legend and the published accuracies."
    ),
    lead="p2p_fig2c",
    in_full=True,
)
