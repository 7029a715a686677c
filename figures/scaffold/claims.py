"""The claims of Noble et al. 2022 on local steps, and their checks.

Both methods run on the same draws of the clients with the same samples, and are compared draw by draw.
"""

import itertools
from collections.abc import Callable

import pandas as pd

from figures.scaffold.steps import FEDAVG, METRIC, PANEL, SCAFFOLD, SWEEP, tuned
from figures.shared.margins import Margin, every, paired
from figures.shared.verdicts import Claim, NotTestable, Verdict, stand_in, verdict

UNIT = "of training loss"


def gaps(runs: pd.DataFrame, noisy: bool) -> dict[tuple[str, float], dict[float, pd.Series]]:
    """Loss of DP-FedAvg minus that of DP-SCAFFOLD by draw: (task, noise) -> local steps -> [trial].

    Raises:
        NotTestable: where one of the two is missing.
    """
    rows = tuned(runs)
    rows = rows[(rows["noise_multiplier"] > 0) == noisy]
    wide = rows.pivot_table(index="trial", columns=["algorithm", *PANEL, "num_steps"], values=METRIC)
    names = set(wide.columns.get_level_values("algorithm"))
    if names != {SCAFFOLD, FEDAVG}:
        raise NotTestable(f"both {SCAFFOLD} and {FEDAVG} are needed" + (" with noise" if noisy else " without noise"))
    out: dict[tuple[str, float], dict[float, pd.Series]] = {}
    difference = wide[FEDAVG] - wide[SCAFFOLD]
    for task, noise, steps in difference.columns.to_list():
        values = difference.to_numpy()[:, difference.columns.to_list().index((task, noise, steps))]
        out.setdefault((task, noise), {})[float(steps)] = pd.Series(values, difference.index)
    return out


def _edges(runs: pd.DataFrame, noisy: bool) -> list[str]:
    rows = tuned(runs)
    rows = rows[((rows["noise_multiplier"] > 0) == noisy) & (rows["edge"] != "")]
    cells = rows[["algorithm", "task", "num_steps", "edge"]].drop_duplicates().to_dict("records")
    return [f"{cell['algorithm']}, {cell['task']}, K = {cell['num_steps']}: {cell['edge']}" for cell in cells]


def _words(found: dict[tuple[str, float], dict[float, pd.Series]]) -> str:
    lines = []
    for (task, _), by_steps in found.items():
        sizes = ", ".join(f"{steps:g}: {gap.mean():+.3f}" for steps, gap in sorted(by_steps.items()))
        lines.append(f"{FEDAVG} - {SCAFFOLD} on {task} by local steps {sizes}")
    return "; ".join(lines)


def lower(noisy: bool) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that DP-SCAFFOLD has the lower loss wherever there are several local steps."""

    def check(runs: pd.DataFrame) -> Verdict:
        found = gaps(runs, noisy)
        several = [
            paired(gap, UNIT).named(task, f"{steps:g} local steps")
            for (task, _), by_steps in found.items()
            for steps, gap in by_steps.items()
            if steps > 1
        ]
        if not several:
            raise NotTestable("no runs with several local steps")
        return verdict(every(several).on(*_edges(runs, noisy)), _words(found))

    return check


def grows(noisy: bool) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that the gain of DP-SCAFFOLD grows from each number of local steps to the next."""

    def check(runs: pd.DataFrame) -> Verdict:
        found = gaps(runs, noisy)
        margins: list[Margin] = []
        for (task, _), by_steps in found.items():
            margins += [
                paired(by_steps[more] - by_steps[few], UNIT).named(task, f"{few:g} to {more:g} local steps")
                for few, more in itertools.pairwise(sorted(by_steps))
            ]
        if not margins:
            raise NotTestable("two numbers of local steps are needed")
        return verdict(every(margins).on(*_edges(runs, noisy)), _words(found))

    return check


LOWER = "DP-FedAvg's training loss minus that of DP-SCAFFOLD, draw by draw, the step of each with the lowest mean"
PLACE = "section 5, generated data"
SMALLER = stand_in("50 clients of 160 records in 50 rounds for 100 clients of 4,000 in 400")
OUTPERFORMS = "DP-SCAFFOLD outperforms DP-FedAvg on heterogeneous clients with several local steps"
MORE_STEPS = "The advantage of DP-SCAFFOLD over DP-FedAvg grows with the number of local steps"
CLAIMS = [
    Claim(
        f"With several local steps DP-SCAFFOLD has a lower loss than DP-FedAvg {words}",
        PLACE,
        SWEEP,
        lower(noisy),
        f"{LOWER}, at 5 and 20 local steps and both kinds of clients",
        statement=OUTPERFORMS,
        settings=SMALLER,
    )
    for words, noisy in (("under noise", True), ("without noise", False))
] + [
    Claim(
        f"What DP-SCAFFOLD gains on DP-FedAvg grows with the local steps {words}",
        PLACE,
        SWEEP,
        grows(noisy),
        f"{LOWER}; at each number of local steps minus the same at the next smaller one",
        statement=MORE_STEPS,
        settings=SMALLER,
    )
    for words, noisy in (("under noise", True), ("without noise", False))
]
