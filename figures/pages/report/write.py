"""Writes the page and the folder of files beside it, completely or not at all.

The folder's name ends in a digest of its content, and the page refers to it by this name. The folder is complete before
the page is replaced, and only then is that of the earlier page removed, so there is a whole page at every moment.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from bench.errors import InputError, writing
from bench.files import write_whole
from figures.pages.report.collect import Report, collect
from figures.pages.report.page import files_of, page

DIGEST = "[0-9a-f]{16}"


def write(results: Path, scale: str | None, out: Path | None, repository: Path | None) -> tuple[Path, Path, Report]:
    """Make the page of the results.

    Args:
        results: the folder of results.
        scale: the scale; None is the largest available, sweep by sweep.
        out: the file; None is report/index.html in the folder of results.
        repository: the results of the repository, as for `collect`.

    Returns:
        Where it is, where its files are, and what is on it.

    Raises:
        InputError: where there are no results, or it cannot be written.
    """
    out = out or results / "report" / "index.html"
    if out.is_dir():
        raise InputError(f"cannot write {out}: it is a folder; name a file with --out")
    report = collect(results, scale, repository)
    files = files_of(report, out.name)
    folder = out.with_name(f"{out.stem}-{digest(files)}")
    text = page(report, folder.name, files)
    with writing(out):
        write_folder(folder, files)
        write_whole(out, text)
        _remove_others(folder, out.stem)
    return out, folder, report


def digest(files: Mapping[str, bytes]) -> str:
    """Return the digest of files by their path and content."""
    digested = hashlib.blake2b(digest_size=8)
    for path in sorted(files):
        digested.update(f"{path} {hashlib.blake2b(files[path]).hexdigest()}\n".encode())
    return digested.hexdigest()


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder with these files, and its parents where they are missing; after an error there is none."""
    if folder.is_dir() and all((folder / path).is_file() for path in files):
        return  # the digest in its name says what is in it
    unfinished = folder.with_name(f".{os.getpid()}-{folder.name}")
    try:
        for path, content in files.items():
            (unfinished / path).parent.mkdir(parents=True, exist_ok=True)
            (unfinished / path).write_bytes(content)
        if folder.exists():  # a part of it was deleted by hand
            shutil.rmtree(folder)
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _remove_others(folder: Path, stem: str) -> None:
    """Remove the folders of earlier pages of the same name, and those that a process that was killed left."""
    earlier = re.compile(rf"(\.\d+-)?{re.escape(stem)}-{DIGEST}")
    for other in folder.parent.iterdir():
        if other != folder and earlier.fullmatch(other.name) and other.is_dir() and not other.is_symlink():
            shutil.rmtree(other, ignore_errors=True)
