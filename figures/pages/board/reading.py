"""Explanations of the board's numbers, and of their limits."""

from pathlib import Path

from bench.analysis.significance import FEWEST_SPLITS, LEVEL
from bench.ranking import DRAWS
from figures.pages.board import attacks, tables
from figures.pages.board.collect import TUNED, Board, command

UNITS = {  # what neighbouring data sets differ in
    "user": "everything that one user holds",
    "record": "one record of one silo",
    "example": "one example of one client",
    "point": "one data point of one agent",
}
AGAINST = {
    "user": "everybody who sees the shared models, but not against the server, which is trusted with the users' "
    "messages and with who takes part in a round",
    "record": "the server and the other silos",
    "example": "the server",
    "point": "all other agents together",
}
FIRST_TABLE = (
    "All methods by task at one ε, beside learning alone: the method that releases nothing, of several the best. The "
    "gain over it is the mean of the paired differences over splits, ± half its 95 % interval, which covers what that "
    "of “Gain” covers and is not corrected for the number of methods. Positive is better. The colour compares errors, "
    "so that it has one meaning for all metrics: the error of a method divided by that of learning alone, where the "
    "error of an accuracy is 1 minus it, and other metrics are errors themselves."
)


def protected(panel: tuple[str, str], board: Board) -> str:
    """Return what the tables of a unit of privacy protect against whom, and at which delta on each task, in a
    sentence."""
    unit, _ = panel
    deltas = ", ".join(f"{task.protocol['delta']:.2g} on {task.name}" for task in board.tasks if panel in task.panels)
    against = f", against {AGAINST[unit]}" if unit in AGAINST else ""
    return f"Protected: {UNITS.get(unit, unit)}{against}. δ is {deltas}."


def reading(board: Board, results: Path) -> dict[str, str]:
    """Explanations for the reader by term, with names of the program between backticks."""
    rows = board.rows()
    units = ", ".join(UNITS.get(unit, unit) for unit in dict.fromkeys(unit for unit, _ in board.panels))
    whole = {
        "What is protected": f"By privacy unit: {units}. Neighbouring data sets differ in one such unit, which is "
        "added or removed, or replaced by another, as the heading of a table says. The same ε for another unit or "
        "another relation is a different guarantee, so no ranking mixes them.",
        "ε and δ": "Noise is calibrated for each ε, at the δ of the task, by an accountant that is proven for the "
        "sampler of the method. “No noise” is the same method without noise, which is not private. A method that "
        "releases nothing, such as local learning, is in the tables of every ε with the same score.",
        "Tuning": "Every method may try the number of settings given by the protocol, at each ε and on each split. The "
        "best one on the split's held-out data is run again with fresh randomness, and measured once on the test data.",
        "Not counted in ε": "What the choice of settings reveals about the held-out data is not counted, for any "
        "method. What counts as public, such as the number of users and the ranges that settings are searched in, "
        "costs nothing. Some tasks prepare their inputs with statistics of private data, to which no noise is added: "
        "`odd_even` and `odd_even_dirichlet` with principal components, a mean and a largest norm, `movielens` with "
        "features of films, a graph and means, `school` with means and standard deviations. And every ε is that of "
        "noise that is a real number, where programs draw floating-point numbers.",
        "Score": "Mean over splits with its 95 % interval (Student's t). Where a task has a data set, all splits are "
        "of the same data, so the interval does not cover how other data or users would fare.",
        "Rank": "Among methods at the same task, unit and ε, by mean score: 1 is the best, and ties share the better "
        "rank.",
        "Mean rank": "Over tasks at one ε. Over every private ε it is the mean over those of each task, then over "
        f"tasks. A method that diverged ranks behind all others. The interval is the middle 95 % of {DRAWS:,} paired "
        "bootstrap draws: within each task all splits but one are drawn with replacement, which gives means the right "
        "spread, and the same draw serves all methods and ε. It does not cover the choice of tasks, and with few "
        "splits it is narrow: with five, for a mean, 0.7 times as wide as Student's. An interval that ends at the "
        "first or the last rank is one-sided, since no rank lies beyond, and has at least 97.5 % of the draws. A "
        "method that was not run on all tasks is listed with its number of tasks below those that were, since its mean "
        "is over other tasks.",
        "Gain": "The improvement over the best baseline, the one with the best mean at that task and ε: mean of the "
        "paired differences over splits, with the 95 % interval of this gain alone. The interval is wider where all "
        "splits are of the same data (Nadeau and Bengio 2003), and covers users, and test examples that all splits "
        "share, where a task has them. Positive is better, whatever the direction of the metric.",
        "The asterisk": "The difference to the best baseline, for better or worse, is significant: the chance that the "
        f"table of a task has any wrong asterisk is at most {100 * LEVEL:g} %. It is corrected for the choice of the "
        "best baseline, which is made by the same scores, and for all differences on the task (Holm's method), so an "
        f"interval may exclude 0 without one. Tasks with fewer than {FEWEST_SPLITS} splits have none. The number of "
        "tasks is not corrected for.",
        "Better from": "The number of settings from which on the method is expected to beat the best baseline with the "
        "same number, by the held-out score; empty where it does not.",
    }
    if any(name in rows for name in tables.COSTS):
        whole["Cost"] = f"Of a whole run: {', '.join(words for name, words in tables.COSTS.items() if name in rows)}."
    if TUNED in rows:
        whole["ε with tuning counted"] = (
            "The ε of a private choice among settings drawn at random, on average as many as were tried, instead of "
            "the search used here (Papernot and Steinke 2022), provided that the scores are part of what a run "
            "releases; empty for a method that releases nothing else. Every other ε here is for a single run."
        )
    whole |= attacks.explained(rows)
    line = command("compare NAME --task TASK --against board", results)
    whole["A method of yours"] = (
        f"`{line}` runs only the method NAME, a built-in one or `mine.py`, tuned in the same way, and shows it "
        "together with these results."
    )
    return whole
