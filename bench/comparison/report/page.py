"""The page of a comparison in Markdown, from the template beside this module."""

import re
from collections.abc import Sequence

import jinja2
import pandas as pd

from bench.analysis import measured, significance, tables
from bench.comparison.report import table as shown


def page(table: pd.DataFrame, searched: pd.DataFrame, notes: Sequence[str], *, own_first: bool = False) -> str:
    """Return the page.

    Args:
        table: of `bench.comparison.report.table.table`.
        searched: of `bench.comparison.result.Comparison`.
        notes: what a reader of the table must know.
        own_first: whether a method's own space came before that of all methods.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bench.comparison.report"), undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters |= {each.__name__: each for each in (tables.markdown, tables.no_links, tables.no_markup)}
    content = {"table": table, "first": table.iloc[0], "searched": searched, "notes": notes, "own_first": own_first}
    modules = {"measured": measured, "shown": shown, "significance": significance}
    text = environment.get_template("comparison.md").render(**content, **modules)
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    joined = [part if part.startswith("|") else " ".join(part.splitlines()) for part in paragraphs]
    return "\n\n".join(joined) + "\n"
