"""Server optimisers, proximal steps and adaptive clipping: a claim of each of three papers."""

from figures.server_steps import claims, clipping, optimisers, proximal
from figures.shared.paper import Paper

PAPER = Paper(
    name="server_steps",
    cited="Reddi et al. 2021, Li et al. 2020, Andrew et al. 2021",
    authors="Reddi and others; Li and others; Andrew and others",
    title=(
        "Adaptive federated optimization; Federated optimization in heterogeneous networks; Differentially private "
        "learning with adaptive clipping"
    ),
    venue="ICLR 2021; MLSys 2020; NeurIPS 2021",
    protects="all data of one user",
    against="everybody who sees the shared model",
    state="one claim of each paper on generated data; none of their figures and data sets",
    figures={
        "server_steps_optimisers": optimisers.FIGURE,
        "server_steps_proximal": proximal.FIGURE,
        "server_steps_clipping": clipping.FIGURE,
    },
    claims=claims.CLAIMS,
    exception="FedProx gains over FedAvg at one fixed step size, and not where each has its best.",
    found=(
        "On generated data, FedAdam and FedYogi gain over FedAvg where features are rare, and FedAvgM has "
        "most of this gain as well. FedProx is better than FedAvg at one fixed step size and many local "
        "steps, but not where every method uses its best step size."
    ),
)
