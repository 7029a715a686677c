"""Comparison of answers with the set: where they differ, by how much, and which known mistakes would give them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bench.conformance.answers import Number, golden_id, numbers
from bench.conformance.cases import CASES, READINGS, Case, Reading
from bench.conformance.mistakes import explained, mistakes
from bench.conformance.programs import mistakes as mistaken_programs
from bench.conformance.runs import QUANTITIES, RUNS, Run

MOST_EXPLANATIONS = 3  # shown for one answer
MOST_SEARCHES = 12  # answers for which all known mistakes of accounting are tried, which takes some seconds each


@dataclass
class Difference:
    """An answer that differs.

    Attributes:
        name: its id.
        given: what was answered.
        number: of the set.
        mistakes: those that would give the answer, or an empty list.
        searched: whether they were looked for.
        floor: id and number of the least epsilon, or noise, that is proven for this sampler and relation; None in a
            golden run.
    """

    name: str
    given: np.ndarray
    number: Number
    mistakes: list[str] = field(default_factory=list)
    searched: bool = True
    floor: tuple[str, Number] | None = None

    @property
    def unsafe(self) -> bool:
        """Whether the answer promises more privacy than is proven, or is of a golden run, where every number counts."""
        if self.floor is None:
            return True
        _, least = self.floor
        return bool(self.given < least.value - least.tolerance)


@dataclass
class Checked:
    """The outcome of a check.

    Attributes:
        given: number of answers.
        asked: number of ids.
        differences: the answers that differ, in the order of the set.
        notes: golden run -> mistakes that explain its answers, in words.
    """

    given: int
    asked: int
    differences: list[Difference]
    notes: dict[str, list[str]]


def check(answers: Mapping[str, np.ndarray]) -> Checked:
    """Compare answers, by id, with the set."""
    known = numbers()
    different = [
        Difference(name, answers[name], number, floor=_floor(name, known))
        for name, number in known.items()
        if name in answers and not agrees(answers[name], number)
    ]
    _explain_accounting(different)
    notes = {run.name: _explain_run(run, answers, different) for run in RUNS}
    return Checked(len(answers), len(known), different, {name: note for name, note in notes.items() if note})


def _floor(name: str, known: Mapping[str, Number]) -> tuple[str, Number] | None:
    """Return the least number of accounting that has the case, sampler and relation of this one."""
    case, *reading = name.split(".")
    if case in {run.name for run in RUNS}:
        return None
    beside = [f"{case}.{other.name}" for other in READINGS if [other.sampler, other.relation] == reading[:2]]
    return min(((other, known[other]) for other in beside if other in known), key=lambda each: float(each[1].value))


def agrees(given: np.ndarray, number: Number) -> bool:
    """Return whether every part of an answer is within the tolerance."""
    return bool(np.all(np.abs(given - number.value) <= number.tolerance))


def _explain_accounting(different: list[Difference]) -> None:
    """Look for the mistakes behind answers on accounting; one that explained an earlier answer is tried alone first."""
    by_id = {f"{case.name}.{reading.name}": (case, reading) for case in CASES for reading in READINGS}
    held: dict[str, None] = {}
    searches = 0
    for difference in different:
        if difference.name not in by_id:
            continue
        case, reading = by_id[difference.name]
        difference.mistakes = _found(case, reading, float(difference.given), held)
        if difference.mistakes:
            continue
        searches += 1
        difference.searched = searches <= MOST_SEARCHES
        if difference.searched:
            difference.mistakes = _found(case, reading, float(difference.given), None, held)


def _found(
    case: Case, reading: Reading, answer: float, only: Mapping[str, None] | None, held: dict[str, None] | None = None
) -> list[str]:
    """Return the mistakes that give an answer; of those called as in `only`, unless None. New ones go into `held`."""
    out = []
    for text, spent in mistakes(case, reading):
        if only is None or text in only:
            said = explained(case, reading, answer, text, spent)
            if said is not None:
                out.append(said)
                if held is not None:
                    held[text] = None
    return out[:MOST_EXPLANATIONS]


def _explain_run(run: Run, answers: Mapping[str, np.ndarray], different: list[Difference]) -> list[str]:
    """Return the mistakes that explain the answers on a golden run, and how many of them.

    A later number depends on all earlier ones, so a mistake must give the first number that differs.
    """
    wrong = [difference for difference in different if difference.name.startswith(f"{run.name}.")]
    if not wrong:
        return []
    mine = {name: answer for name, answer in answers.items() if name.startswith(f"{run.name}.")}
    counts: dict[str, int] = {}
    for text, program in mistaken_programs(run).items():
        values = {
            golden_id(run.name, index, quantity, leaf): entry[quantity][leaf]
            for index, entry in enumerate(program.rounds(run))
            for quantity in QUANTITIES
            for leaf in run.model
        }
        same = {name for name, answer in mine.items() if _close(answer, values[name], wrong[0].number.tolerance)}
        if wrong[0].name in same:
            counts[text] = len(same)
    if not counts:
        return ["no known mistake gives the first of these numbers"]
    best = max(counts.values())
    share = f"{best} of {len(mine)} answers"
    if best == len(mine):
        share = "the 1 answer" if best == 1 else f"all {best} answers"
    return [f"{text} (gives {share} of this run)" for text, count in counts.items() if count == best]


def _close(answer: np.ndarray, value: np.ndarray, tolerance: float) -> bool:
    return bool(np.all(np.abs(answer - value) <= tolerance * np.maximum(1, np.abs(value))))


def text_of(checked: Checked) -> str:
    """Return the outcome in words, one paragraph for each answer that differs and for each golden run."""
    count = len(checked.differences)
    agree = checked.given - count
    unsafe = sum(each.unsafe for each in checked.differences if each.floor is not None)
    golden = sum(each.floor is None for each in checked.differences)
    sorts = {"unsafe": unsafe, "safe": count - unsafe - golden, "of golden runs": golden}
    of = ", ".join(f"{number} {what}" for what, number in sorts.items() if number)
    lines = [
        f"{checked.given} of {checked.asked} numbers are answered: {agree} agree, {count} differ"
        f"{f' ({of})' if of else ''}."
    ]
    for difference in checked.differences:
        lines.append(f"{difference.name}: {_amount(difference)}{_meaning(difference)}")
        if difference.floor is None:
            continue
        lines += [f"    explained by: {text}" for text in difference.mistakes]
        if not difference.mistakes:
            lines.append(f"    {'no known mistake gives it' if difference.searched else 'not searched for a mistake'}")
    for name, texts in checked.notes.items():
        lines.append(f"{name}:")
        prefix = "" if texts[0].startswith("no known") else "explained by: "
        lines += [f"    {prefix}{text}" for text in texts[:MOST_EXPLANATIONS]]
    if any(not difference.searched for difference in checked.differences):
        lines.append(f"Known mistakes were searched for {MOST_SEARCHES} answers: correct these, and check again.")
    return "\n".join(lines)


def _amount(difference: Difference) -> str:
    """Describe an answer beside the number, and how far apart they are."""
    value, given = difference.number.value, difference.given
    at = np.unravel_index(int(np.argmax(np.abs(given - value))), value.shape)
    place = f" at {list(map(int, at))}" if value.shape else ""
    right, answer = float(value[at]), float(given[at])
    amount = f"{answer:.6g}{place}, should be {right:.6g} within {difference.number.tolerance:.2g}"
    by = answer - right
    share = f" ({by / abs(right):+.1%})" if abs(by) < 1000 * abs(right) else ""
    return f"{amount}; it is too {'large' if by > 0 else 'small'} by {abs(by):.3g}{share}"


def _meaning(difference: Difference) -> str:
    """Say what a number of accounting that differs means for privacy."""
    if difference.floor is None:
        return ""
    if difference.unsafe:
        return ", which is unsafe"
    name, least = difference.floor
    if difference.given > difference.number.value:
        return ", which is safe, and loose"
    return f", but not below {name}, {float(least.value):.6g}, and so safe"
