"""Writes the page to a file, completely or not at all."""

from pathlib import Path

import pandas as pd

from bench.analysis.files import write_whole
from bench.errors import InputError, cannot_write
from figures.report.collect import collect
from figures.report.page import page


def write(results: Path, scale: str | None, out: Path | None) -> tuple[Path, pd.DataFrame]:
    """Make the page of the results.

    Args:
        results: the folder of results.
        scale: the scale; None is the largest available, sweep by sweep.
        out: the file; None is report/index.html in the folder of results.

    Returns:
        Where it is, and the verdicts on it, as of `figures.claims.judged`.

    Raises:
        InputError: where there are no results, or it cannot be written.
    """
    out = out or results / "report" / "index.html"
    if out.is_dir():
        raise InputError(f"cannot write {out}: it is a folder; name a file with --out")
    report = collect(results, scale)
    text = page(report)
    try:
        write_whole(out, text)
    except OSError as error:
        raise cannot_write(error, out) from None
    return out, report.claims
