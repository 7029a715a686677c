"""Comparison of answers with the set: where they differ, by how much, and which other reading has that number."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bench.conformance.answers import Number, numbers


@dataclass(frozen=True)
class Difference:
    """An answer that differs.

    Attributes:
        name: its id.
        given: what was answered.
        number: of the set.
        others: ids of the same case, under another sampler, relation or accountant, whose numbers the answer is.
        floor: id and number of the least epsilon, or noise, that is proven for this sampler and relation; None in a
            golden run.
    """

    name: str
    given: np.ndarray
    number: Number
    others: list[str]
    floor: tuple[str, Number] | None

    @property
    def unsafe(self) -> bool:
        """Whether the answer promises more privacy than is proven, or is of a golden run, where every number counts."""
        if self.floor is None:
            return True
        _, least = self.floor
        return bool(self.given < least.value - least.tolerance)


@dataclass(frozen=True)
class Checked:
    """The outcome of a check.

    Attributes:
        given: number of answers.
        asked: number of ids.
        differences: the answers that differ, in the order of the set.
    """

    given: int
    asked: int
    differences: list[Difference]


def check(answers: Mapping[str, np.ndarray]) -> Checked:
    """Compare answers, by id, with the set."""
    known = numbers()
    different = [
        _difference(name, answers[name], known)
        for name, number in known.items()
        if name in answers and not agrees(answers[name], number)
    ]
    return Checked(len(answers), len(known), different)


def _difference(name: str, given: np.ndarray, known: Mapping[str, Number]) -> Difference:
    case, *reading = name.split(".")
    if reading[0].startswith("round_"):  # of a golden run
        return Difference(name, given, known[name], [], None)
    of_case = {other: number for other, number in known.items() if other.startswith(f"{case}.")}
    others = [other for other, number in of_case.items() if agrees(given, number)]
    proven = [pair for pair in of_case.items() if pair[0].split(".")[1:3] == reading[:2]]
    return Difference(name, given, known[name], others, min(proven, key=lambda pair: float(pair[1].value)))


def agrees(given: np.ndarray, number: Number) -> bool:
    """Return whether every part of an answer is within the tolerance."""
    return bool(np.all(np.abs(given - number.value) <= number.tolerance))


def text_of(checked: Checked) -> str:
    """Return the outcome in words, one paragraph for each answer that differs."""
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
        lines += [f"    this is {other}" for other in difference.others]
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
