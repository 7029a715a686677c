"""Server optimisers (Reddi et al. 2021), proximal local steps (Li et al. 2020) and clipping at a quantile (Andrew et
al. 2021): one qualitative result of each, on small generated tasks.
"""

import math
from functools import partial

import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.data.tasks.rare_features import rare_features
from bench.data.tasks.softmax import softmax
from bench.sweeps.spec import Entry, Sweep, grid, thin

ROUNDS = 100
USERS = {"num_sampled": 100, "batch_size": 10, "sampler": "poisson", "num_steps": 5, "step_size": 0.3}
TYPICAL = 1.0  # about the median length of a message in the first rounds of `rare_features`


def _clipped_with_noise(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points; where there is no noise, nothing is clipped."""
    return points.assign(clip_norm=points["clip_norm"].mask(points["noise_multiplier"] == 0, math.inf))


def server_optimisers(scale: str) -> Sweep:
    """FedAvg, FedAvgM, FedAdam and FedYogi on features of very different frequency, with and without noise."""

    def entry(method: str, **columns) -> Entry:
        free = grid(noise_multiplier=[0.0, 1.0], clip_norm=TYPICAL, **USERS, **columns)
        return Entry(ALGORITHMS[method], free, complete=_clipped_with_noise)

    plain = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
    adaptive = {"server_step_size": [0.003, 0.01, 0.03, 0.1, 0.3, 1.0], "beta1": 0.9, "tau": [1e-3, 1e-2, 1e-1]}
    full = Sweep(
        name="server_optimisers",
        reproduces="Reddi et al. 2021, adaptive server steps where gradients are sparse, on generated data",
        tasks={"rare_features": rare_features},
        entries={
            "FedAvg": entry("dp_fedavg", server_step_size=plain),
            "FedAvgM": entry("dp_fedopt", server_step_size=plain, beta1=0.9, optimiser="momentum"),
            "FedAdam": entry("dp_fedopt", optimiser="adam", **adaptive),
            "FedYogi": entry("dp_fedopt", optimiser="yogi", **adaptive),
        },
        num_rounds=ROUNDS,
        eval_every=None,
        delta=1e-4,
        seeds=10,
        notes="1,000 users, 100 of them in a round",
    )
    keep = {"server_step_size": [0.1, 1.0], "tau": [1e-3], "noise_multiplier": [1.0]}
    return {"paper": full, "laptop": full, "smoke": thin(full, keep=keep, seeds=2)}[scale]


FACTORS = [0.1, 0.3, 1.0, 3.0, 10.0]
QUANTILES = [0.2, 0.5, 0.8]


def _clipped(points: pd.DataFrame) -> pd.DataFrame:
    """With a step of the server that is as long for every fixed norm, where messages are longer than it."""
    return points.assign(clip_norm=TYPICAL * points["factor"], server_step_size=points["unit_step"] / points["factor"])


def _started(points: pd.DataFrame) -> pd.DataFrame:
    return points.assign(clip_norm=TYPICAL * points["factor"])


def server_clipping(scale: str) -> Sweep:
    """Private FedAvg at one epsilon: fixed norms, each with the server's step tuned for it, and norms that follow a
    quantile from a start ten times too short or too long."""
    steps, method = [0.3, 1.0, 3.0, 10.0], ALGORITHMS["dp_fedavg"]
    fixed = grid(factor=[1.0] if scale == "smoke" else FACTORS, unit_step=steps, noise_multiplier=1.0, **USERS)
    follows = grid(
        factor=[0.1, 10.0],
        server_step_size=steps,
        quantile=QUANTILES,
        clipping="adaptive",
        noise_multiplier=1.0,
        **USERS,
    )
    full = Sweep(
        name="server_clipping",
        reproduces="Andrew et al. 2021, fixed and adaptive clipping, on generated data",
        tasks={"rare_features": rare_features},
        entries={
            "Fixed": Entry(method, fixed, complete=_clipped, computed=("clip_norm", "server_step_size")),
            "Adaptive": Entry(method, follows, complete=_started, computed=("clip_norm",)),
        },
        num_rounds=ROUNDS,
        eval_every=20,
        delta=1e-4,
        seeds=20,
        notes="1,000 users, 100 of them in a round; norms in units of the typical length of a message",
    )
    keep = {"factor": [0.1, 1.0], "unit_step": [1.0], "server_step_size": [1.0], "quantile": [0.5]}
    return {"paper": full, "laptop": full, "smoke": thin(full, keep=keep, seeds=2)}[scale]


LOCAL_STEPS = [5, 50, 200]
ALIKE = {0: "softmax_0_0", 5: "softmax_5_5"}


def proximal_steps(scale: str) -> Sweep:
    """FedProx by mu, step and number of local steps, without noise, on clients that differ less and more; mu = 0 is
    FedAvg. The server takes the mean of the clients' models."""
    cells = grid(
        task=list(ALIKE.values()),
        num_steps=LOCAL_STEPS,
        step_size=[0.003, 0.01, 0.03, 0.1, 0.3],
        proximal=[0.0, 0.1, 1.0],
        num_sampled=5,
        batch_size=40,
        sampler="fixed",
        noise_multiplier=0.0,
        clip_norm=math.inf,
    )

    def mean_of_models(points: pd.DataFrame) -> pd.DataFrame:
        return points.assign(server_step_size=points["step_size"])

    full = Sweep(
        name="proximal_steps",
        reproduces="Li et al. 2020, FedProx on unlike clients with many local steps, on smaller data",
        tasks={
            name: partial(
                softmax,
                alpha=float(apart),
                beta=float(apart),
                num_clients=20,
                num_records=50,
                num_features=20,
                num_classes=5,
            )
            for apart, name in ALIKE.items()
        },
        entries={
            "FedProx": Entry(ALGORITHMS["dp_fedprox"], cells, complete=mean_of_models, computed=("server_step_size",))
        },
        num_rounds=60,
        eval_every=20,
        delta=1e-4,
        seeds=10,
        notes="20 clients of 40 training records, 5 of them in a round, all records in every local step",
    )
    keep = {"task": [ALIKE[0]], "num_steps": [5], "step_size": [0.1]}
    return {"paper": full, "laptop": full, "smoke": thin(full, keep=keep, seeds=2)}[scale]


SWEEPS = {
    "server_optimisers": server_optimisers,
    "server_clipping": server_clipping,
    "proximal_steps": proximal_steps,
}
