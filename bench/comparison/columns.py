"""The columns that a comparison adds to the rows of its runs."""

from collections.abc import Iterable

from bench.errors import InputError

KEYS = ["algorithm", "target_epsilon", "trial", "setting"]  # identify a run of a stage
LABELS = ["target_epsilon", "setting", "reading", "privacy_unit_compared", "neighbors_compared"]
COSTS = ["floats_up", "gradients", "examples"]
TUNED = "tuned_epsilon"
ADDED = {*LABELS, *COSTS, TUNED, "spent", "look", "protects_against"}


def check_free(whose: str, names: Iterable[str]) -> None:
    """Refuse names of arguments or metrics that a comparison uses for columns of its own.

    Raises:
        InputError: naming the first of them. `whose`: the beginning of the message, "METHOD has an argument".
    """
    for name in names:
        if name in ADDED:
            raise InputError(f"{whose} {name}, which is a column of every comparison: rename it")
