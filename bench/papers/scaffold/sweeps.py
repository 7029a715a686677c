"""The experiment of Noble, Bellet and Dieuleveut 2022 on generated data, by local steps, on a smaller scale.

The paper has 100 clients of 5,000 records, 400 rounds and noise 60. The laptop has 50 clients of 200 and 50 rounds, and
the noise that is as large on the mean of a sample: 2.4 at 32 records, for 60 at 800.
"""

import math
from functools import partial

import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.data.tasks.softmax import softmax
from bench.sweeps.spec import Entry, Sweep, grid, thin

SIZES = {  # clients, records of one, clients in a round, training records in a sample, rounds
    "paper": (100, 5000, 20, 800, 400),
    "laptop": (50, 200, 10, 32, 50),
}
NOISE = 60.0 / 800  # on the mean of a sample, in units of C
STEPS = [1, 5, 20]
RATES = [0.03, 0.1, 0.3, 1.0, 3.0]  # K eta
DIFFERENCES = [0, 5]  # alpha = beta
CLIP_NORM = 5.0  # about the median norm of gradients at the start: inputs are about 6.5 long


def _completed(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points with the step of each local step; where there is no noise, nothing is clipped."""
    clip_norm = points["clip_norm"].mask(points["noise_multiplier"] == 0, math.inf)
    return points.assign(step_size=points["round_step_size"] / points["num_steps"], clip_norm=clip_norm)


def scaffold_steps(scale: str) -> Sweep:
    """DP-SCAFFOLD and DP-FedAvg by local steps, with and without noise, on clients that differ more and less.

    As in the paper a sample is a fifth of a client's records, a fifth of the clients is in a round, and a client's step
    is that of a round over K. The clipping norm is fixed.
    """
    clients, records, sampled, batch, rounds = SIZES["paper" if scale == "paper" else "laptop"]
    cells = grid(
        task=[f"softmax_{apart}_{apart}" for apart in DIFFERENCES],
        num_steps=STEPS,
        round_step_size=RATES,
        num_sampled=sampled,
        batch_size=batch,
        sampler="fixed",
        noise_multiplier=[NOISE * batch, 0.0],
        clip_norm=CLIP_NORM,
    )

    def entry(control_variates: bool) -> Entry:
        free = cells.assign(control_variates=control_variates)
        return Entry(ALGORITHMS["dp_scaffold"], free, complete=_completed, computed=("step_size",))

    sweep = Sweep(
        name="scaffold_steps",
        reproduces="Noble et al. 2022, Figure 1 (generated data), by local steps",
        tasks={
            f"softmax_{apart}_{apart}": partial(
                softmax, alpha=float(apart), beta=float(apart), num_clients=clients, num_records=records
            )
            for apart in DIFFERENCES
        },
        entries={"DP-SCAFFOLD": entry(True), "DP-FedAvg": entry(False)},
        num_rounds=rounds,
        eval_every=None,
        delta=1 / (clients * records),
        seeds=3,
        notes="noise is fixed, as in the paper, so that epsilon grows with the local steps",
    )
    if scale != "smoke":
        return sweep
    keep = {"task": ["softmax_5_5"], "num_steps": [5], "round_step_size": [1.0]}
    return thin(sweep, keep=keep, num_rounds=20, seeds=1)


SWEEPS = {"scaffold_steps": scaffold_steps}
