"""Noble, Bellet and Dieuleveut 2022: control variates under differential privacy."""

from figures.scaffold import claims, steps
from figures.shared.paper import Paper

PAPER = Paper(
    name="scaffold",
    cited="Noble et al. 2022",
    authors="Noble, Bellet, Dieuleveut",
    title="Differentially private federated learning on heterogeneous data",
    venue="AISTATS 2022",
    protects="one record of one client",
    against="the server",
    state="DP-SCAFFOLD and DP-FedAvg on generated data, smaller than there; no warm start, no FEMNIST",
    figures={"scaffold_steps": steps.FIGURE},
    claims=claims.CLAIMS,
    exception="The clipping norm is fixed, since the program's median of private norms is not private.",
    found=(
        "On generated data, smaller than those of the paper, DP-SCAFFOLD gains over DP-FedAvg where clients "
        "take several local steps, with and without noise."
    ),
)
