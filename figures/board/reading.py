"""What the numbers of the board are and are not, in words."""

from pathlib import Path

from figures.board import tables
from figures.board.collect import TUNED, Board, command
from figures.board.ranks import DRAWS

UNITS = {  # what neighbouring data sets differ in
    "user": "everything that one user holds",
    "record": "one record of one silo",
    "example": "one example of one client",
    "point": "one data point of one agent",
}


def reading(board: Board, results: Path) -> dict[str, str]:
    """What a reader must know, by term; names of the program stand between backticks."""
    rows = board.rows()
    units = ", ".join(UNITS.get(unit, unit) for unit in dict.fromkeys(unit for unit, _ in board.panels))
    whole = {
        "What is protected": f"By unit of privacy: {units}. Neighbouring data sets differ in one such unit, "
        "which is added or removed, or replaced by another, as the heading of a table says. The same ε for "
        "another unit or another relation is another promise, so no ranking mixes them.",
        "ε and δ": "Noise is found for each ε, at the δ of the task, by an accountant that is proven for the "
        "sampler of the method. “No noise” is the same method without noise, and promises nothing. A method that "
        "reveals nothing, such as learning alone, is in the tables of every ε with the same score.",
        "Tuning": "Every method may try as many settings as the protocol says, at each ε and on each split. "
        "Held-out data of the split choose one of them; it is run again with fresh randomness, and measured once "
        "on the test data.",
        "Not counted in ε": "What the choice of settings reveals of the held-out data, for no method. What "
        "counts as public, such as the number of users and the ranges that settings are searched in, costs "
        "nothing.",
        "Score": "Mean over splits with its 95 % interval (Student's t). Splits are of the same data where a "
        "task has a data set: how other users would have fared is not in the interval.",
        "Rank": "Among methods at the same task, unit and ε, by mean score: 1 is the best, and equals share the "
        "better rank.",
        "Mean rank": "Over tasks at one ε. Over every private ε it is the mean over those of each task, then "
        "over tasks. A method that diverged stands behind all that did not. The interval is the middle 95 % of "
        f"{DRAWS:,} paired bootstrap draws: within each task all splits but one are drawn with replacement, which "
        "gives means the right spread, and the same draw serves all methods and ε. It does not cover the choice "
        "of tasks, and with few splits it is narrow: with five, for a mean, 0.7 times as wide as Student's. A "
        "method that was not on all tasks says on how many, and stands below those that were: its mean is over "
        "other tasks.",
        "Gain": "How much better than the best baseline, which is the baseline of the best mean at that task "
        "and ε: mean of the differences on the same splits, with its 95 % interval. Positive is better, whatever "
        "the direction of the metric.",
        "The asterisk": "The difference to the best baseline, for better or worse, is beyond chance, at 5 % "
        "after Holm's correction for all differences on the task. The number of tasks is not corrected for.",
        "Better from": "How many settings must be tried until the method is expected to be better than the best "
        "baseline with as many, by the held-out score; empty where it never is for good.",
    }
    if any(name in rows for name in tables.COSTS):
        whole["Cost"] = f"Of a whole run: {', '.join(words for name, words in tables.COSTS.items() if name in rows)}."
    if TUNED in rows:
        whole["ε with tuning counted"] = (
            "The ε of a private choice among settings drawn at random, as many on average as were tried, in place of "
            "the search that was made (Papernot and Steinke 2022), if the scores are part of what a run releases; "
            "every other ε here is of one run."
        )
    line = command("compare NAME --task TASK --against board", results)
    whole["A method of yours"] = (
        f"`{line}` runs only the method NAME, a built-in one or `mine.py`, tuned as the board is, and shows it beside "
        "what is here."
    )
    return whole
