"""Every kind of malformed input: how it is drawn, and what is wrong with what comes of one."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from made_up_parts import put
from tiny_sweeps import run, walks

from fuzzing import expressions, files
from fuzzing.outcomes import fault
from fuzzing.small_suite import small_suite

SMALL = [
    *("--baselines", "none", "--epsilons", "1", "--seeds", "1", "--settings", "2", "--rounds", "5", "--workers", "1")
]
CLIENTS = ["compare", "ppsgd", "--task", "u.npz", *SMALL, "--set", "num_sampled=2", "--set", "batch_size=2"]
ON_PARTS = [
    *(["run", "tiny"], ["status", "tiny"], ["check", "tiny"]),
    ["merge", "results/smoke/tiny", "--out", "new"],
]
PART_NAMES = [*[None] * 6, "x.parquet", "part-0123456789abcdef.parquet", "columns.parquet"]  # None: with its digest


class Kind(NamedTuple):
    """A kind of input.

    cases: what it is drawn from, given the rows of a small sweep.
    attempt: (case, an empty folder) -> what is wrong, in words.
    """

    cases: Callable[[pd.DataFrame], st.SearchStrategy[Any]]
    attempt: Callable[[Any, Path], str | None]


def _condition(text: str, work: Path) -> str | None:
    return fault("bench", ["run", "tiny", "--where", text, "--seeds", "1"], work)


def _clients(content: bytes, work: Path) -> str | None:
    (work / "u.npz").write_bytes(content)
    return fault("bench", CLIENTS, work)


def _part(case: tuple[bytes, list[str], str | None], work: Path) -> str | None:
    content, words, name = case
    folder = work / "results" / "smoke" / "tiny"
    folder.mkdir(parents=True)
    path = put(folder, content)
    if name is not None:
        path.rename(folder / name)
    return fault("bench", words, work)


KINDS = {
    "conditions": Kind(lambda rows: expressions.expressions(), _condition),
    "files of clients": Kind(lambda rows: files.client_files(), _clients),
    "parts of results": Kind(
        lambda rows: st.tuples(files.parts(rows), st.sampled_from(ON_PARTS), st.sampled_from(PART_NAMES)),
        _part,
    ),
}


def attempt_all(kind: str, number: int, scratch: Path, *, derandomize: bool = True) -> None:
    """Try so many inputs of a kind, in a folder that is there; `derandomize`: the same each time."""
    rows = run(walks(), scratch / "base", most=3)
    one = KINDS[kind]

    @settings(
        max_examples=number,
        derandomize=derandomize,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # a case is as telling as a smaller one
        suppress_health_check=list(HealthCheck),
    )
    @given(one.cases(rows))
    def each(case: Any) -> None:
        with tempfile.TemporaryDirectory(dir=scratch) as work:
            found = one.attempt(case, Path(work))
            assert found is None, f"{found}, from {str(case)[:300]}"

    with small_suite():
        each()
