"""Bhaskar et al. 2025: DP-SGD and federated averaging."""

from figures.pfl import (
    accuracy_epsilon,
    averaging,
    claims,
    clients_curves,
    normalisation,
    one_client,
    overlap,
    small_epsilon,
    splits_curves,
    tables,
)
from figures.shared.paper import Paper

PAPER = Paper(
    name="pfl",
    cited="Bhaskar et al. 2025",
    authors="Bhaskar, Srivastava, Vummintala, Manwani, Gujar",
    title="Optimal strategies for federated learning maintaining client privacy",
    venue="arXiv 2501.14453, 2025",
    protects="one example of one client",
    against="the server",
    state="all algorithms, tables and figures; CNN+RL and CNN+TS on CIFAR-10 run in part",
    figures={
        "pfl_table2": tables.TABLE_2,
        "pfl_table3": tables.TABLE_3,
        "pfl_table4": tables.TABLE_4,
        "pfl_splits_curves": splits_curves.FIGURE,
        "pfl_table5": tables.TABLE_5,
        "pfl_clients_curves": clients_curves.FIGURE,
        "pfl_accuracy_epsilon": accuracy_epsilon.FIGURE,
        "pfl_overlap": overlap.FIGURE,
        "pfl_averaging": averaging.FIGURE,
        "pfl_normalisation": normalisation.FIGURE,
        "pfl_one_client": one_client.FIGURE,
        "pfl_small_epsilon": small_epsilon.FIGURE,
    },
    claims=claims.CLAIMS,
    exception=(
        "The ε holds for an example that one client has. Clients' data overlap: for the example in the most clients, "
        "2.93 becomes 8 with ten clients and 20 with 100."
    ),
    found=(
        "As in the paper, a linear model on scattering features is the best model under privacy. It hardly "
        "depends on how 20 epochs are split into rounds, while networks lose dozens of points."
    ),
    lead="pfl_splits_curves",
    panel=7,
    in_full=True,
)
