"""Attacks on the methods of a board, on the board's own data and with the settings that it chose.

An audit asks whether a declared epsilon can be true, on tasks made for that purpose. An attack asks what an adversary
learns in practice: about real users and real images, from the model that a method releases. It is a likelihood-ratio
membership attack from many runs (`membership`; Carlini et al. 2022). Its results are numbers beside the declared
epsilon, and neither a bound nor a proof: a stronger attack might find more.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from bench.inputs.options import Out
from bench.inputs.values import check_range

if TYPE_CHECKING:
    import pandas as pd


def attack(
    task: Annotated[str, "A task of the board, such as digits or few_images."],
    methods: Annotated[Sequence[str], "Names of methods on the board; default all that release anything."] = (),
    *,
    epsilons: Annotated[
        float | Sequence[float] | None, "Values of the board, separated by commas, inf for no noise; default all."
    ] = None,
    runs: Annotated[int, "Runs of the membership attack."] = 64,
    out: Out = "results",
    board: str = "board",
    split: int = 0,
    seed: int = 0,
    say: Callable[[str], None] = lambda line: None,
) -> "pd.DataFrame":
    """Attack the methods of a board on its own data, with the settings that it chose.

    A likelihood-ratio membership attack gives the true-positive rate at false-positive rates of 1e-2 and 1e-3, from
    runs in each of which every user is a member by a coin of its own. attacks.csv and attacks.md in the folder of the
    board's task have one row for each method and epsilon, beside the declared epsilon. What was interrupted goes on
    when it is repeated.

    Args:
        board: its folder; "board" is OUT/board.
        split: whose settings and data are taken.
        seed: of membership and of all runs.
        say: receives a line after each row, and some while one is computed.

    Returns:
        The rows of attacks.csv; .attrs["page"] is attacks.md.

    Raises:
        InputError: for an option out of range, files that cannot be read or written, a table of attacks with other
            options, unknown names, and a board that has no such runs, or other data or versions.
    """
    from bench.attacks import whole
    from bench.attacks.targets import targets
    from bench.execution.run import use_compilation_cache

    use_compilation_cache()
    fewest, most = whole.FEWEST_RUNS, whole.MOST_RUNS
    check_range("runs", runs, fewest <= runs <= most, f"give {fewest} to {most:,}")
    check_range("seed", seed, 0 <= seed < 100_000, "give 0 to 99,999")
    chosen = [] if epsilons is None else [epsilons] if isinstance(epsilons, int | float) else list(epsilons)
    plan = targets(task, methods, chosen, board=board, out=Path(out), split=split)
    rows = whole.attack_all(plan, {"runs": runs, "split": split, "seed": seed}, say)
    rows.attrs["page"] = str(plan.folder / whole.PAGE)
    return rows
