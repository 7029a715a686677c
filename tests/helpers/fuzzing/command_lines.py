"""Command lines drawn from the programs' own grammar: every command and option, with wrong and borderline values."""

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import numpy as np
import pandas as pd
import typer.main
from hypothesis import strategies as st
from tiny_comparison import problem
from tiny_sweeps import TASK, run, walks

from fuzzing.expressions import expressions
from fuzzing.outcomes import Reached

NUMBERS = [
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "1.5",
    "1e-9",
    "1e9",
    "1e400",
    "nan",
    "inf",
    "-inf",
    "99999999999999999999",
    "-0",
]
WORDS = [
    "",
    " ",
    "a b",
    "a\nb",
    "..",
    "../up",
    "~",
    "$x_{",
    "<script>",
    "|",
    "None",
    "True",
    "[]",
    "=",
    "\udcff",
    "é",
    "٣",
]
LISTS = [
    *(
        "1,2",
        "1,,2",
        ",",
        "log:1:2:3",
        "log:0:1:2",
        "log:1:2:99999999",
        "lin:2:1:3",
        "lin:1:2:1:1",
        "log:",
        "lin:a:b:c",
    ),
    *("step_size=0.1", "step_size=0.1,0.2", "step_size=-1", "step_size=nan", "step_size=a", "nosuch=1", "a=", "=b"),
    *("noise_multiplier=0,1", "walk:step_size=1", "PPSGD:personalization=inf", "clip_norm=1e400", "batch_size=2.5"),
]
PATHS = [
    *("results", "empty", "a_file", "nowhere", "/dev/null", "/dev/null/x", "results/smoke/tiny", "results/smoke", "."),
    *("method.py", "method.py:method", "method.py:nosuch", "broken.py", "exits.py", "users.npz", "no.npz", "empty.npz"),
]
NAMES = [
    *(
        "tiny",
        "tinny",
        "all",
        "smoke",
        "laptop",
        "papr",
        "small",
        "synthetic",
        "digits",
        "tags",
        "ppsgd",
        "isrl",
        "mnist",
    ),
    *(
        "walk",
        "dp_fedavg",
        "local_learning",
        "ppsgd_fig1a",
        "pfl_table5",
        "Global private SGD",
        "none",
        "poisson",
        "fixed",
    ),
    *(
        "rdp",
        "pld",
        "users",
        "agents",
        "local",
        "replace one",
        "add-or-remove one",
        "auto",
        "paper",
        "validation",
        "both",
    ),
]
ALL = [*NUMBERS, *WORDS, *LISTS, *PATHS, *NAMES]
GOOD_ARGUMENTS = {
    **{key: ["tiny", "other", "all"] for key in ("run", "status")},
    **{key: ["ppsgd", "method.py", "method.py:method", "dp_fedavg", "local_learning"] for key in ("compare", "audit")},
    "attack": ["small", "synthetic", "DP-FedAvg"],
    "extrapolate": ["small", "synthetic", "digits"],
    "merge": ["results", "results/smoke", "results/smoke/tiny"],
    "data": ["mnist", "school"],
    "conformance": ["answers.json"],
    "perf": ["fedavg_round"],
    **{key: ["ppsgd_fig1a", "pfl_table5", "ppsgd"] for key in ("draw", "claims", "report")},
}
GOOD = {
    "--scale": ["smoke", "laptop", "paper"],
    "--where": ["step_size < 0.25", "step_size in [0.1]", "algorithm == 'walk'"],
    "--grid": ["step_size=0.1,0.2", "noise_multiplier=1", "step_size=log:0.1:1:3"],
    "--task": ["small", "synthetic", "users.npz", "linear_p2p"],
    "--tune": ["step_size=0.1,1", "ppsgd:step_size=lin:0.1:1:2", "clip_norm=1"],
    "--set": ["step_size=0.1", "clip_norm=1", "batch_size=2", "personalization=inf"],
    "--baselines": ["none", "Local learning"],
    "--sampling": ["poisson", "fixed", "none"],
    "--accountant": ["rdp", "pld"],
    "--neighbors": ["replace one", "add-or-remove one"],
    "--family": ["users", "records", "agents", "images"],
    "--epsilons": ["1", "1,4"],
    "--delta": ["1e-5", "0.1"],
    "--rounds": ["5", "20"],
    "--seeds": ["1", "2"],
    "--settings": ["2", "8"],
    "--name": ["mine"],
    "--chunk": ["1", "3"],
    "--shard": ["1/2", "2/2"],
    "--steps": ["1", "100"],
    "--noise-multiplier": ["1", "0.5", "0"],
    "--sampling-rate": ["0.01", "1"],
    "--epsilon": ["1", "3"],
    "--confidence": ["0.9"],
    "--runs": ["400", "results/smoke/tiny"],
    "--canaries": ["0", "20"],
    "--points": ["10"],
    "--out": ["results", "new"],
    "--results": ["results"],
    "--data-dir": ["empty", "."],
}
NEEDED = {"epsilon": ["--noise-multiplier", "--steps", "--delta"], "noise": ["--epsilon", "--steps", "--delta"]}
SUITED = {
    "--where": st.one_of(st.sampled_from(ALL), expressions()),
    "--workers": st.sampled_from(["1", "auto", "0", "-1", "1.5", "x", "", "99999"]),
    "--executor": st.sampled_from(["local", "", "lokal", "ray:/x", "processes"]),
    "--out": st.sampled_from([*PATHS, *WORDS, "new", "new/deeper"]),
    "--runs": st.sampled_from([*PATHS, "0", "-1", "20000", "400"]),
}
PROGRAMS = ("bench", "figures")


def options(command: Any) -> dict[str, Any]:
    """Name -> option, of those that may be drawn."""
    named = {max(one.opts, key=len): one for one in command.params if one.opts and one.opts[0].startswith("-")}
    return {name: one for name, one in named.items() if name not in ("--help", "--version")}


def commands(program: str) -> dict[tuple[str, ...], Any]:
    """Words of a command -> the command."""
    found: dict[tuple[str, ...], Any] = {}

    def walk(command: Any, words: tuple[str, ...]) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, (*words, name))
        if not hasattr(command, "commands"):
            found[words] = command

    walk(
        typer.main.get_command(
            importlib.import_module({"bench": "bench.cli.app", "figures": "figures.command_line"}[program]).app
        ),
        (),
    )
    return found


@st.composite
def command_lines(draw: st.DrawFn, program: str, names: Sequence[str] = ()) -> list[str]:
    """The words behind `python -m PROGRAM`. `names`: of commands; default all."""
    tree = {words: one for words, one in commands(program).items() if not names or words[0] in names}
    words = draw(st.sampled_from(sorted(tree)))
    known = options(tree[words])
    line = list(words)
    right = GOOD_ARGUMENTS.get(words[0], [])
    some = st.sampled_from(right * 9 + NAMES[:3] + PATHS[:3]) if right else st.sampled_from(ALL)
    if any(not one.opts or not one.opts[0].startswith("-") for one in tree[words].params):
        line += draw(st.lists(st.one_of(some, some, some, st.sampled_from(ALL)), max_size=3))
    chosen = draw(st.lists(st.sampled_from(sorted(known)), max_size=4)) if known else []
    if draw(st.integers(0, 9)):
        chosen += NEEDED.get(words[0], [])
    wrong = draw(st.integers(0, len(chosen)))  # at most one value is drawn from everything, so that others are reached
    for place, name in enumerate(chosen):
        everything = place == wrong or name not in GOOD
        values = SUITED.get(name, st.sampled_from(ALL)) if everything else st.sampled_from(GOOD[name])
        line += [name] if getattr(known[name], "is_flag", False) else [name, draw(values)]
    if draw(st.integers(0, 19)) == 0:
        line.append(draw(st.sampled_from(["--nosuch", "-x", "--", "-", "--out", "--help"])))
    return line


def files(folder: Path) -> None:
    """What the paths above name."""
    run(walks(), folder / "results", most=3)
    (folder / "empty").mkdir()
    (folder / "a_file").write_text("text")
    (folder / "method.py").write_text("from tiny_sweeps import WALK as method\n")
    (folder / "broken.py").write_text("def (")
    (folder / "exits.py").write_text("import sys\nsys.exit(3)\n")
    (folder / "empty.npz").write_bytes(b"")
    (folder / "answers.json").write_text('{"version": 1, "answers": {"one_release.full.add_or_remove.exact": 4.3}}')
    numbers = np.random.default_rng(0)
    users = np.repeat(np.arange(6), 20)
    inputs, targets = numbers.random((120, 3)), numbers.integers(0, 2, 120)
    np.savez(folder / "users.npz", inputs=inputs, targets=targets, clients=users)


def _reached(*_: Any, **__: Any) -> Any:
    raise Reached


@contextlib.contextmanager
def small_suite() -> Iterator[None]:
    """Sweeps and tasks that are run in a moment; what is long, or asks the network, is not begun."""
    import bench.audit.report
    import bench.audit.subject
    import bench.comparison.stages
    import bench.perf
    from bench.comparison.problems import KINDS
    from bench.data.dataset import Unreachable
    from bench.data.fetch import packages
    from bench.data.tasks.registry import TASKS, Listed
    from bench.papers import SWEEPS

    def offline(*_: Any, **__: Any) -> Any:
        raise Unreachable("no network")

    with contextlib.ExitStack() as stack:
        for table, small in (
            (SWEEPS, {"tiny": lambda scale: walks(), "other": lambda scale: walks()._replace(name="other")}),
            (TASKS, {"small": Listed(TASK, "small")} | {name: TASKS[name] for name in ("synthetic", "linear_p2p")}),
            (KINDS, {**KINDS, "small": lambda name, make: problem()}),
        ):
            stack.enter_context(mock.patch.dict(table, small, clear=True))
        for owner, name, instead in (
            (bench.comparison.stages, "run_sweep", _reached),
            (bench.audit.subject, "run", _reached),
            (bench.perf, "report", _reached),
            (packages, "watch", offline),
        ):
            stack.enter_context(mock.patch.object(owner, name, instead))
        yield


def tables(folder: Path) -> pd.DataFrame:
    """The results that `files` made."""
    return pd.read_parquet(folder / "results" / "smoke" / "tiny")


@contextlib.contextmanager
def traced_only() -> Iterator[None]:
    """Methods are traced, and compiled no more."""
    import bench.comparison.stages
    from bench.execution.run import run_sweep
    from bench.sweeps import engine

    def lowered(program: Any, task: Any, *shapes: Any) -> Any:
        first_round = jax.ShapeDtypeStruct((), jax.numpy.int32)
        engine.advance.lower(task, *shapes, first_round, program=program)
        raise Reached

    with (
        mock.patch.object(bench.comparison.stages, "run_sweep", run_sweep),
        mock.patch.object(engine, "_peak", lowered),
    ):
        yield
