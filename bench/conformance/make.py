"""Writes the two files of the set, beside this module: python -m bench.conformance.make

It takes some minutes, most of them for the second implementation. A test computes everything again and compares.
"""

import json
import re
from typing import Any

from bench.conformance import ACCOUNTING, FOLDER, GOLDEN_RUNS, VERSION, accounting, cases, runs

DIGITS = 12  # of a number in the files; further digits differ between machines

ACCOUNTING_FIELDS = {
    "version": "of the set; a number or an id that changes has another version",
    "about": "what this is",
    "fields": "what every field means",
    "samplers": "how the units of a round are drawn",
    "relations": "what neighbouring data sets differ by",
    "accountants": "how `value` was computed",
    "second_accountants": "how `second_value` was computed, by accountant",
    "left_out": "what is not stated, and why",
    "cases": "training runs; a round releases a sum of vectors of norm <= C plus Gaussian noise of standard deviation "
    "noise_multiplier * C in each coordinate, and everything that is released is public",
    "cases.name": "the first part of the ids",
    "cases.about": "what the run is like",
    "cases.units": "number of units of privacy: examples or users, whichever is clipped and sampled",
    "cases.batch": "number of units in a round; expected, for poisson; the sampling rate is batch / units",
    "cases.rounds": "number of noisy sums that are released",
    "cases.delta": "of (epsilon, delta)-DP",
    "cases.participations": "the largest number of rounds of a unit, for shuffled",
    "cases.asked": "what the numbers are: epsilon, or noise_multiplier",
    "cases.noise_multiplier": "given where epsilon is asked for: the standard deviation of the noise on the sum, over "
    "the clip norm C",
    "cases.epsilon": "given where noise_multiplier is asked for: the target, which the smallest noise keeps within",
    "cases.published": "an epsilon in a publication",
    "cases.published.epsilon": "for poisson and add_or_remove",
    "cases.published.source": "where it is, and by which accountant",
    "cases.numbers": "what is asked for, for each sampler, relation and accountant",
    "cases.numbers.id": "case.sampler.relation.accountant: the name in a file of answers",
    "cases.numbers.sampler": "a word of samplers",
    "cases.numbers.relation": "a word of relations",
    "cases.numbers.accountant": "a word of accountants",
    "cases.numbers.bound": f"{cases.EXACT}, or {cases.UPPER} (on epsilon, and so on the noise that is needed)",
    "cases.numbers.value": "the number",
    "cases.numbers.second_value": "the same by another accountant, to judge what the number is worth",
    "cases.numbers.tolerance": "how far from value an answer may be",
}
GOLDEN_FIELDS = {
    "version": ACCOUNTING_FIELDS["version"],
    "about": ACCOUNTING_FIELDS["about"],
    "fields": ACCOUNTING_FIELDS["fields"],
    "tolerance": "how far from a number an answer may be",
    "runs": "training runs without noise",
    "runs.name": "the first part of the ids",
    "runs.about": "what is run",
    "runs.definition": "what is computed, word by word",
    "runs.clip_norm": "C",
    "runs.expected": "the expected number of participants of a round",
    "runs.step_size": "of the model",
    "runs.local_step_size": "of the local steps of a user",
    "runs.local_batches": "for each user, for each of its local steps, the indices of its examples",
    "runs.data": "one entry for each example (or user): inputs x and target y (of each of its examples)",
    "runs.data.x": "inputs",
    "runs.data.y": "target",
    "runs.initial_model": "leaf -> values before the first round; kernels are [input][output]",
    "runs.rounds": "in order; the id of a number is run.round_1.quantity.leaf, with rounds from 1",
    "runs.rounds.participants": "indices in data of those that take part",
    "runs.rounds.clipped_sum": "leaf -> values",
    "runs.rounds.mean": "leaf -> values",
    "runs.rounds.model": "leaf -> values after the round",
}


def accounting_file(listed_cases: tuple[cases.Case, ...] = cases.CASES) -> dict[str, Any]:
    """Return the content of accounting.json, with these cases."""
    return {
        "version": VERSION,
        "about": "What accountants of DP-SGD and DP-FedAvg should compute. " + docs_of("accounting"),
        "fields": ACCOUNTING_FIELDS,
        "samplers": cases.SAMPLERS,
        "relations": cases.RELATIONS,
        "accountants": cases.ACCOUNTANTS,
        "second_accountants": accounting.SECOND,
        "left_out": list(cases.LEFT_OUT),
        "cases": [_case(case) for case in listed_cases],
    }


def _case(case: cases.Case) -> dict[str, Any]:
    given = {"noise_multiplier": case.noise_multiplier, "epsilon": case.epsilon}
    published = case.published and {"epsilon": case.published[0], "source": case.published[1]}
    entries = (accounting.number(case, reading) for reading in cases.READINGS)
    return {
        **{name: getattr(case, name) for name in ("name", "about", "units", "batch", "rounds", "delta")},
        "participations": case.participations,
        "asked": case.asked,
        **{name: value for name, value in given.items() if value is not None},
        **({"published": published} if published else {}),
        "numbers": [_rounded(entry) for entry in entries if entry is not None],
    }


def golden_file() -> dict[str, Any]:
    """Return the content of golden_runs.json."""
    return {
        "version": VERSION,
        "about": "What tiny runs of DP-SGD and DP-FedAvg should compute without noise. " + docs_of("golden runs"),
        "fields": GOLDEN_FIELDS,
        "tolerance": runs.TOLERANCE,
        "runs": [_run(run) for run in runs.RUNS],
    }


def _run(run: runs.Run) -> dict[str, Any]:
    from bench.conformance import kernels

    local_fields = {"local_step_size": run.local_step_size, "local_batches": run.local_batches}
    return {
        **{name: getattr(run, name) for name in ("name", "about", "definition", "clip_norm", "expected", "step_size")},
        **({} if run.local_step_size is None else local_fields),
        "data": run.data,
        "initial_model": run.model,
        "rounds": [
            {"participants": participants}
            | {name: _rounded({leaf: values[name][leaf] for leaf in run.model}) for name in runs.QUANTITIES}
            for participants, values in zip(run.participants, kernels.rounds(run), strict=True)
        ],
    }


def docs_of(what: str) -> str:
    """Return where the use of a file is described."""
    return f"Part of the conformance set of private-federated-bench; docs/conformance.md says how to use its {what}."


def _rounded(content: Any) -> Any:
    """Return numbers with DIGITS digits, and arrays as lists."""
    if isinstance(content, dict):
        return {name: _rounded(item) for name, item in content.items()}
    if hasattr(content, "tolist"):
        return _rounded(content.tolist())
    if isinstance(content, list):
        return [_rounded(item) for item in content]
    return float(f"{content:.{DIGITS}g}") + 0.0 if isinstance(content, float) else content


def text_of(content: dict[str, Any]) -> str:
    """Return JSON in which a list of numbers is one line."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(r"\[\s+([-\d.e+,\s]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def main() -> None:
    """Write both files."""
    for name, content in ((GOLDEN_RUNS, golden_file()), (ACCOUNTING, accounting_file())):
        (FOLDER / name).write_text(text_of(content), encoding="utf-8")
        print(FOLDER / name)


if __name__ == "__main__":
    main()
