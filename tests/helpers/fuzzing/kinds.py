"""Every kind of malformed input: how it is drawn, and what is wrong with what comes of one."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from made_up_parts import put

from fuzzing import command_lines, expressions, files, methods
from fuzzing.outcomes import fault

SMALL = [
    *("--baselines", "none", "--epsilons", "1", "--seeds", "1", "--settings", "2", "--rounds", "5", "--workers", "1")
]
COMPARED = ["--task", "small", *SMALL]
AUDITED = ["--set", "step_size=0.1", "--runs", "300", "--canaries", "0", "--no-power"]
CLIENTS = ["compare", "ppsgd", "--task", "u.npz", *SMALL, "--set", "num_sampled=2", "--set", "batch_size=2"]
ON_PARTS = [
    *(["run", "tiny"], ["run", "tiny", "--fresh"], ["status", "tiny"], ["status", "tiny", "--verify"]),
    ["merge", "results/smoke/tiny", "--out", "new"],
]
PART_NAMES = [*[None] * 6, "x.parquet", "part-0123456789abcdef.parquet", "columns.parquet"]  # None: with its digest


class Kind(NamedTuple):
    """A kind of input.

    cases: what it is drawn from, given a folder as of `command_lines.files`.
    attempt: (case, an empty folder, that folder) -> what is wrong, in words.
    """

    cases: Callable[[Path], st.SearchStrategy[Any]]
    attempt: Callable[[Any, Path, Path], str | None]


def _words(program: str) -> Kind:
    def attempt(words: list[str], work: Path, base: Path) -> str | None:
        shutil.copytree(base, work, dirs_exist_ok=True)
        return fault(program, words, work)

    return Kind(lambda base: command_lines.command_lines(program), attempt)


def _condition(text: str, work: Path, base: Path) -> str | None:
    return fault("bench", ["run", "tiny", "--where", text, "--seeds", "1"], work)


def _method(case: tuple[str, str, bool], work: Path, base: Path) -> str | None:
    text, target, audited = case
    (work / "m.py").write_text(text)
    if audited:
        return fault("bench", ["audit", target, *AUDITED], work)
    with command_lines.traced_only():
        return fault("bench", ["compare", target, *COMPARED], work)


def _clients(content: bytes, work: Path, base: Path) -> str | None:
    (work / "u.npz").write_bytes(content)
    return fault("bench", CLIENTS, work)


def _part(case: tuple[bytes, list[str], str | None], work: Path, base: Path) -> str | None:
    content, words, name = case
    folder = work / "results" / "smoke" / "tiny"
    folder.mkdir(parents=True)
    path = put(folder, content)
    if name is not None:
        path.rename(folder / name)
    return fault("bench", words, work)


KINDS = {
    "command lines of bench": _words("bench"),
    "command lines of figures": _words("figures"),
    "conditions": Kind(lambda base: expressions.expressions(), _condition),
    "method files": Kind(lambda base: st.tuples(methods.method_files(), methods.targets(), st.booleans()), _method),
    "files of clients": Kind(lambda base: files.client_files(), _clients),
    "parts of results": Kind(
        lambda base: st.tuples(
            files.parts(command_lines.tables(base)), st.sampled_from(ON_PARTS), st.sampled_from(PART_NAMES)
        ),
        _part,
    ),
}


def attempt_all(
    kind: str, number: int, scratch: Path, seen: Callable[[Any, str | None], None], *, derandomize: bool = True
) -> None:
    """Try so many inputs of a kind.

    Args:
        kind: of KINDS.
        number: of inputs.
        scratch: a folder that is there.
        seen: told of each input what was wrong with it.
        derandomize: whether they are the same each time.
    """
    base = scratch / "base"
    if not base.is_dir():
        base.mkdir()
        command_lines.files(base)
    one = KINDS[kind]

    @settings(
        max_examples=number,
        derandomize=derandomize,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # a case is as telling as a smaller one
        suppress_health_check=list(HealthCheck),
    )
    @given(one.cases(base))
    def each(case: Any) -> None:
        with tempfile.TemporaryDirectory(dir=scratch) as work:
            seen(case, one.attempt(case, Path(work), base))

    with command_lines.small_suite():
        each()
