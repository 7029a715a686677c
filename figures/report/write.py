"""The page as a file, there whole or not at all."""

import contextlib
import os
from pathlib import Path

from bench.errors import InputError
from figures.report.collect import collect
from figures.report.page import page


def write(results: Path, scale: str | None, out: Path | None) -> Path:
    """Make the page of the results.

    Args:
        results: the folder of results.
        scale: which; None is the largest that is there, sweep by sweep.
        out: the file; None is report/index.html in the folder of results.

    Returns:
        Where it is.

    Raises:
        InputError: where there are no results, or it cannot be written.
    """
    out = out or results / "report" / "index.html"
    if out.is_dir():
        raise InputError(f"cannot write {out}: it is a folder; name a file with --out")
    text = page(collect(results, scale))
    unfinished = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, out)
    except BaseException as error:  # Ctrl-C as well
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"cannot write {error.filename or out}: {error.strerror}; choose --out") from None
        raise
    return out
