"""Tables for readers: the same cells as picture, Markdown and LaTeX.

Text between two dollar signs in a cell is mathematics, in the subset of LaTeX that matplotlib supports as well.
A cell may have several lines.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.transforms import Bbox

from bench.analysis import metric_limits, style
from bench.files import written_whole

SIGNS = {"ε": r"\varepsilon", "δ": r"\delta", "σ": r"\sigma", "±": r"\pm", "×": r"\times", "≤": r"\leq", "≥": r"\geq"}
FORMULA = re.compile(r"[=+\-@\t\r]")  # with which cells begin that a spreadsheet computes
LATEX = str.maketrans(
    {sign: "\\" + sign for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "–": "--", "−": "$-$"}
    | {sign: f"${name}$" for sign, name in SIGNS.items()}  # pdfLaTeX has no such letters
)
PAGE, PAGE_INCHES = 95, 6.75  # letters that fit the width of a page
IN_FORMULA = str.maketrans({sign: name + " " for sign, name in SIGNS.items()} | {"−": "-"})


def number(value: float, form: str = ".4f", missing: str = "") -> str:
    """Return a number as a cell, or `missing` where there is none."""
    return format(value, form) if np.isfinite(value) else missing


def digits_for(metric: str) -> str:
    """Return the format of a metric's values: four decimals for shares, else three digits, since risks span powers of
    ten."""
    return ".4f" if metric_limits.limits(metric) == (0.0, 1.0) else ".3g"


def with_interval(value: float, low: float, high: float, form: str = ".4f", metric: str = "") -> str:
    """Return a mean with its interval, cut to the values that the metric can have, or by itself where there is none."""
    mean = number(value, form, "diverged")
    low, high = (float(end) for end in metric_limits.cut(value, low, high, metric))
    return f"{mean} [{low:{form}}, {high:{form}}]" if np.isfinite([value, low, high]).all() else mean


def no_markup(text: str) -> str:
    """Escape "<" in a text for Markdown, so that it begins no tag."""
    return re.sub(r"<(?=[A-Za-z/!?])", r"\\<", text)


def no_links(text: str) -> str:
    """Escape what begins a tag or a link in a text for Markdown."""
    return re.sub(r"(?<=\])(?=[(\[:])|(?<=\w)(?=://)|(?<=www)(?=\.)", r"\\", no_markup(text), flags=re.IGNORECASE)


def markdown(cells: pd.DataFrame, words: bool = False) -> str:
    """Return a Markdown table with the first column aligned left, and the others right, or left for words."""
    rule = ["---", *["---" if words else "---:"] * (cells.shape[1] - 1)]
    table = [cells.columns, rule, *cells.to_numpy()]
    rows = [[no_markup(str(cell)).replace("|", r"\|").replace("\n", "<br>") for cell in row] for row in table]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def plain(cells: pd.DataFrame, width: int = 100) -> str:
    """Return a table for a terminal: the first column aligned left, the others right, in `_blocks` of this width."""
    blocks = []
    for block in _blocks(cells, width):
        columns = [[str(name), *map(str, block[name])] for name in block]
        wide = [max(map(len, column)) for column in columns]
        blocks.append([name.ljust(wide[0]) for name in columns[0]])
        for column, letters in zip(columns[1:], wide[1:], strict=True):
            blocks[-1] = [line + cell.rjust(2 + letters) for line, cell in zip(blocks[-1], column, strict=True)]
    return "\n\n".join(map("\n".join, blocks))


def _blocks(cells: pd.DataFrame, width: float) -> list[pd.DataFrame]:
    """Return a table in blocks that fit a width in letters, each of which repeats the first column."""
    first_width, *other_widths = [max(_width(str(cell)) for cell in [name, *cells[name]]) for name in cells]
    blocks: list[list[int]] = []
    room = 0.0
    for place, wide in enumerate(other_widths, start=1):
        if not blocks or 2 + wide > room:
            blocks.append([0])
            room = width - first_width
        blocks[-1].append(place)
        room -= 2 + wide
    return [cells.iloc[:, block] for block in blocks or [[0]]]


def _words_and_formulas(cell: str) -> list[str]:
    """Return words and formulas in turn, words first; where a dollar sign has no partner, everything is words."""
    pieces = cell.split("$")
    return pieces if len(pieces) % 2 else [cell]


def _latex(cell: str, side: str) -> str:
    """Return a cell with its lines one above the other and flush on one side, "l" or "r"."""
    lines = [_latex_line(line) for line in cell.split("\n")]
    stacked = r" \\ ".join(lines)
    return stacked if len(lines) == 1 else rf"\shortstack[{side}]{{{stacked}}}"


def _latex_line(cell: str) -> str:
    pieces = _words_and_formulas(cell)
    return "".join(
        f"${piece.translate(IN_FORMULA)}$" if place % 2 else piece.translate(LATEX)
        for place, piece in enumerate(pieces)
    )


def _lines(row) -> int:
    """Return the number of lines of the tallest cell of a row."""
    return max(str(cell).count("\n") + 1 for cell in row)


def _width(cell: str) -> float:
    """Return the length of a cell's longest line."""
    return max(map(_length, cell.split("\n")))


def _length(cell: str) -> float:
    """Return the approximate width of a drawn cell in letters.

    A formula's marks and spaces take no room, and its indices take little.
    """
    pieces = _words_and_formulas(cell)
    formulas = [re.sub(r"[{}^_ ]", "", re.sub(r"\\[a-z]+", "xx", piece)) for piece in pieces[1::2]]
    return sum(map(len, pieces[::2])) + 0.8 * sum(map(len, formulas))


def latex(cells: pd.DataFrame, width: float = math.inf) -> str:
    """Return a LaTeX tabular, with the rules of the package booktabs; where it is wider than this number of letters,
    several, each of which repeats the first column."""
    return "\n".join(_tabular(block) for block in _blocks(cells, width))


def _tabular(cells: pd.DataFrame) -> str:
    table = [cells.columns, *cells.to_numpy()]
    head, *rows = [[_latex(str(cell), "r" if place else "l") for place, cell in enumerate(row)] for row in table]
    lines = [f"{' & '.join(row)} \\\\" for row in rows]
    columns = "l" + "r" * (len(head) - 1)
    top = [f"\\begin{{tabular}}{{{columns}}}", r"\toprule", f"{' & '.join(head)} \\\\", r"\midrule"]
    return "\n".join([*top, *lines, r"\bottomrule", r"\end{tabular}", ""])


def draw(
    cells: pd.DataFrame, title: str, *, looks: np.ndarray | None = None, legend: Sequence[Artist] = ()
) -> style.Sheet:
    """Draw the table as a picture whose width fits its words.

    Args:
        cells: the text of the cells.
        title: above the table.
        looks: the background of each cell, as properties of a patch, or None for a plain one.
        legend: the meaning of the backgrounds, above the table.
    """
    longest = [max(_width(str(cell)) for cell in [name, *cells[name]]) for name in cells]
    lines = [_lines(row) for row in [cells.columns, *cells.to_numpy()]]
    heights = [0.27 + 0.16 * (number - 1) for number in lines]
    width, height, above = 0.075 * sum(longest) + 0.3 * len(longest), sum(heights), 0.35 + 0.25 * bool(legend)
    figure, ax = style.subplots(figsize=(max(width, 6.0), height + above))
    inch = 1 / figure.get_figheight()
    ax.set_position((0, 0, 1, height * inch))
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set_axis_off()
    shares = [(0.075 * length + 0.3) / width for length in longest]
    texts, names = cells.to_numpy().tolist(), cells.columns.tolist()
    table = ax.table(texts, colLabels=names, colWidths=shares, bbox=Bbox.from_bounds(0, 0, 1, 1))
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    for (row, column), cell in table.get_celld().items():
        cell.set_height(heights[row])
        cell.visible_edges = "B" if row in (0, len(cells)) else ""
        cell.PAD = 0.02
        cell.set_edgecolor("#999999")
        cell.get_text().set_fontweight("bold" if row == 0 else "normal")
        cell.get_text().set_horizontalalignment("left" if column == 0 else "right")
        look = looks[row - 1, column] if looks is not None and row > 0 else None
        if look is not None:
            cell.visible_edges = "closed"
            cell.set(edgecolor="#ffffff", linewidth=1.5, **look)
        elif looks is not None:
            cell.visible_edges = ""
    if looks is not None:  # draws the rules again, because white edges cover them
        for place in (0, 1 - heights[0] / height):
            ax.axhline(place, color="#999999", linewidth=1, zorder=table.zorder + 1)
    figure.suptitle(title, y=1 - 0.05 * inch, va="top", fontsize=11)
    if legend:
        figure.legend(
            handles=legend, loc="upper center", ncol=len(legend), bbox_to_anchor=(0.5, 1 - 0.26 * inch), frameon=False
        )
    return figure


def save(cells: pd.DataFrame, folder: Path, name: str) -> list[Path]:
    """Save Markdown, and LaTeX that fits a page, beside the picture."""
    paths = [folder / f"{name}.{kind}" for kind in ("md", "tex")]
    with written_whole(paths) as files:
        for path, text in zip(files, (markdown(cells), latex(cells, PAGE)), strict=True):
            path.write_text(text)
    return paths


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table for a CSV file: words that a spreadsheet would compute begin with an apostrophe."""

    def plain(cell: object) -> object:
        return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) and not _is_number(cell) else cell

    words = [place for place, kind in enumerate(table.dtypes) if not pd.api.types.is_numeric_dtype(kind)]
    table = table.rename(columns=plain)
    for place in words:
        cells = table.iloc[:, place]
        if any(isinstance(cell, str) and FORMULA.match(cell) for cell in cells.unique()):
            table.isetitem(place, cells.astype(object).map(plain).to_numpy())
    return table


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
