"""The table of a command that takes long: each row is kept when it is computed, and not computed again."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bench.analysis.tables import without_formulas
from bench.errors import InputError, writing
from bench.files import AS_TEXT, write_whole


class Table(NamedTuple):
    """Rows in a CSV file, with a page about them beside it; both are replaced atomically after each row.

    path: of the CSV; that of the page ends in .md.
    what: what the rows are, for messages: "audits".
    options: column -> the value that all rows must have.
    page: rows -> the text of the page.
    remedy: in an error, what else can be done.
    """

    path: Path
    what: str
    options: Mapping[str, Any]
    page: Callable[[pd.DataFrame], str]
    remedy: str = ""

    def earlier(
        self,
        columns: Collection[str],
        check: Callable[[pd.DataFrame], object] = lambda rows: None,
        *,
        text: Collection[str] = (),
    ) -> pd.DataFrame:
        """Return the rows of an earlier command.

        Args:
            columns: of every row, besides the options.
            check: raises ValueError where the rows are not of this command.
            text: columns of text, which may be empty or look like numbers.

        Raises:
            InputError: for a damaged table, or one with other options.
        """
        if not self.path.is_file():
            return pd.DataFrame(columns=list(columns))
        try:
            rows = pd.read_csv(self.path, dtype=AS_TEXT | dict.fromkeys(text, str))
            rows = rows.assign(**{name: rows[name].fillna("") for name in text})
            if rows.empty or rows[[*columns, *self.options]].isna().any(axis=None):
                raise ValueError("a row is incomplete")
            check(rows)
            wrong = {name: rows[name].iloc[0] for name, value in self.options.items() if (rows[name] != value).any()}
        except (OSError, ValueError, KeyError, IndexError, TypeError):
            raise InputError(f"{self.path} is no whole table of {self.what}: move it elsewhere{self.remedy}") from None
        if wrong:
            words = ", ".join(f"{name} = {value}" for name, value in wrong.items())
            raise InputError(
                f"{self.path} has {self.what} with {words}: ask for the same, or move it elsewhere{self.remedy}"
            )
        return rows

    def write(self, rows: pd.DataFrame) -> None:
        """Replace both files."""
        with writing(self.path.parent):
            write_whole(self.path, without_formulas(rows).to_csv(index=False))
            write_whole(self.path.with_suffix(".md"), self.page(rows))
