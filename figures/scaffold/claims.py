"""The claims of Noble et al. 2022 on local steps. Both methods run on the same draws of the clients with the same
samples, and are compared draw by draw."""

from functools import partial

import pandas as pd

from figures.scaffold.steps import FEDAVG, METRIC, SCAFFOLD, SWEEP, tuned
from figures.shared.checks import Cells, ahead, cells_of, grows
from figures.shared.verdicts import Claim, stand_in


def losses(runs: pd.DataFrame, noisy: bool, fewest: int = 1) -> Cells:
    """Training loss of both methods, each at its best step, by kind of clients and local steps from the fewest on."""
    rows = tuned(runs)
    rows = rows[((rows["noise_multiplier"] > 0) == noisy) & (rows["num_steps"] >= fewest)]
    places = {"task": "", "num_steps": "local steps"}
    return cells_of(rows, "algorithm", places, METRIC, "of training loss", scale=-1)


SMALLER = stand_in("50 clients of 160 records in 50 rounds for 100 clients of 4,000 in 400")
STATED = (
    (
        "DP-SCAFFOLD outperforms DP-FedAvg on heterogeneous clients with several local steps",
        "With 5 and 20 local steps DP-SCAFFOLD has a lower training loss than DP-FedAvg",
        2,
        ahead(SCAFFOLD, FEDAVG),
    ),
    (
        "The advantage of DP-SCAFFOLD over DP-FedAvg grows with the number of local steps",
        "What DP-SCAFFOLD gains on DP-FedAvg grows from each number of local steps to the next",
        1,
        grows(SCAFFOLD, FEDAVG),
    ),
)
CLAIMS = [
    Claim(
        statement,
        "section 5, generated data",
        f"{text}, {words}, on both kinds of clients, each at its best step",
        SWEEP,
        partial(losses, noisy=noisy, fewest=fewest),
        check,
        SMALLER,
    )
    for statement, text, fewest, check in STATED
    for words, noisy in (("under noise", True), ("without noise", False))
]
