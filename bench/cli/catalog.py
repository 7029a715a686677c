"""What the suite offers: sweeps, algorithms, tasks, data sets and figures, with one line about each.

Everything except the location of the data sets follows from the code. Gathering it takes seconds, since every method is
imported and every sweep's table is built, so the result is cached together with a digest of that code.
"""

import hashlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from bench.cache_folder import folder, recall, remember
from bench.data.fetch import retrieval
from bench.data.fetch.sources import DATASETS
from bench.data.files import DataFiles
from bench.errors import InputError

KINDS = ("sweeps", "algorithms", "tasks", "data", "figures", "comparisons")


def catalog(data_files: DataFiles | None = None) -> dict[str, list[dict[str, Any]]]:
    """Kind -> entries; every entry has "name" and "what", and further fields that depend on the kind.

    Args:
        data_files: where else to look for data sets, in addition to the cache; default DataFiles().
    """
    data_files = data_files or DataFiles()
    data = [
        {"name": name, "what": data.what, "where": _where(name, data_files), "licence": data.licence}
        for name, data in DATASETS.items()
    ]
    found = {**_from_code(), "data": data}
    return {kind: found[kind] for kind in KINDS}


def _where(name: str, data_files: DataFiles) -> str:
    try:
        copy = retrieval.find(name, data_files)
    except InputError as error:
        return f"not usable: {error}"
    return copy.source if copy else "not here"


def _from_code() -> dict[str, list[dict[str, Any]]]:
    """The kinds that follow from the code, from the cache where the code has not changed."""
    path, code = folder("catalog") / "catalog.json", _digest()
    match recall(path):
        case {"code": str(known), "found": found} if known == code:
            return found
    from bench.cli.gathered import gathered

    found = gathered()
    remember(path, {"code": code, "found": found})
    return found


def _digest() -> str:
    """A digest of all modules of the suite, and of the settings of Python that decide whether docstrings are kept."""
    whole = hashlib.sha256(str((sys.version_info[:2], sys.flags.optimize)).encode())
    for package in ("bench", "figures"):
        spec = importlib.util.find_spec(package)
        for root in spec.submodule_search_locations or () if spec else ():
            for path in sorted(Path(root).rglob("*.py")):
                whole.update(f"{package}/{path.relative_to(root)}\n".encode() + path.read_bytes())
    return whole.hexdigest()


def tables(entries: dict[str, list[dict[str, Any]]]) -> str:
    """The catalog as text."""
    lines = []
    for kind, rows in entries.items():
        lines.append(f"{kind}:")
        width = max(len(row["name"]) for row in rows)
        for row in rows:
            extra = ""
            if "runs" in row:
                extra = " (runs: " + ", ".join(f"{scale} {n}" for scale, n in row["runs"].items()) + ")"
            if "where" in row:
                extra = f" [{row['where']}]"
            lines.append(f"  {row['name']:{width}}  {row['what']}{extra}")
            if row.get("notes"):
                lines.append(f"  {'':{width}}  note: {row['notes']}")
        lines.append("")
    return "\n".join(lines).rstrip()
