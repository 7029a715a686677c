"""Methods of a task with the noise of more users than exist."""

import os
from collections.abc import Sequence

import pandas as pd

from bench.data.files import DataFiles
from bench.errors import cannot_write
from bench.inputs.declared import of_declared_types


@of_declared_types
def extrapolate(
    task: str,
    methods: str | Sequence[str],
    *,
    epsilon: float = 1.0,
    factors: Sequence[float] | None = None,
    num_settings: int | None = None,
    seeds: int | None = None,
    rounds: int | None = None,
    out: str | os.PathLike = "results",
    fresh: bool = False,
    workers: int | str = "auto",
    executor: str = "local",
    data_dir: str | os.PathLike | None = None,
    source: str | None = None,
) -> pd.DataFrame:
    """Run methods with the noise of populations of several sizes, beside learning alone; repeat to continue.

    Only the numbers of the users that exist are measured; all others are extrapolated
    (`bench.comparison.extrapolation`), and go to a folder of their own, out/extrapolated.

    Args:
        task: of users, such as "digits".
        methods: of the task, by their names in the legend or of the methods.
        epsilon: one, finite.
        factors: how many times as many users; default 1, 2, 5, 10, 20, 50, 100.
        num_settings: settings tried for each method and factor; default 12.
        seeds: data splits; default 3.
        rounds: default the board's, and of other tasks the task's.
        out: results folder.
        fresh: first move earlier runs aside.
        workers, executor: as for `run`.
        data_dir, source: as for `compare`.

    Returns:
        One row per method and number of users, see `bench.comparison.extrapolation.table`; .attrs["folder"] is where
        the files are, and .attrs["said"] has a sentence for each method on where it passes learning alone.

    Raises:
        InputError: for anything that cannot be used, before anything is run.
    """
    from bench.comparison import extrapolation as extrapolating
    from bench.comparison.report import extrapolated
    from bench.data.tasks.registry import TASKS
    from bench.execution.pool import Pool
    from bench.execution.run import use_compilation_cache

    planned = extrapolating.extrapolation(
        task,
        [methods] if isinstance(methods, str) else methods,
        epsilon,
        factors=extrapolating.FACTORS if factors is None else factors,
        num_settings=extrapolating.SETTINGS if num_settings is None else num_settings,
        seeds=extrapolating.SPLITS if seeds is None else seeds,
        rounds=TASKS[task].board if rounds is None and task in TASKS else rounds,
        out=out,
        fresh=fresh,
        data_files=DataFiles(data_dir, source),
    )
    use_compilation_cache()
    with Pool(executor, workers) as pool:
        compared = extrapolating.run(planned, pool)
    found = extrapolating.table(planned, compared)
    sentences, folder = extrapolating.said(found), planned.request.folder
    try:
        extrapolated.write(found, sentences, folder, planned.request.problem.held_out)
    except OSError as error:
        raise cannot_write(error, folder) from None
    found.attrs |= {"folder": str(folder), "said": sentences}
    return found
