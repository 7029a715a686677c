"""Pieces of HTML. Everything that comes from outside is escaped here, and nowhere else."""

import base64
import re
from collections.abc import Collection, Mapping, Sequence
from html import escape
from types import MappingProxyType

import numpy as np
import pandas as pd

from figures.pages.report.pictures import small

SYMBOLS = {"varepsilon": "ε", "ell": "ℓ", "delta": "δ", "lambda": "λ", "sigma": "σ", "alpha": "α", "infty": "∞"}


class Html(str):
    """Text that is already HTML; only the functions here make it.

    Attributes:
        number: the number that a cell with this text is sorted by; None sorts by the text.
        look: the class of a cell with this text; None has none.
    """

    number: float | None = None
    look: str | None = None


def sorted_by(number: float, text: str, look: str | None = None) -> Html:
    """HTML for a cell that is sorted by a number; a number that is not finite comes last. `look`: class of the cell."""
    content = Html(text)
    content.number, content.look = float(number) if np.isfinite(number) else np.inf, look
    return content


def missing(look: str) -> Html:
    """HTML for an empty cell, which comes last however a table is sorted. `look`: class of the cell."""
    content = Html()
    content.look = look
    return content


def element(name: str, *inner: str, **attributes: str | bool | None) -> Html:
    """Return an element with its content, which is already HTML; attributes are escaped, and omitted where they are
    None.

    Attributes that are Python keywords or have a hyphen are written with an underscore: class_, aria_sort.
    """
    written = []
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            written.append(f" {key}")
        elif value is not None and value is not False:
            written.append(f' {key}="{escape(str(value))}"')
    return Html(f"<{name}{''.join(written)}>{''.join(inner)}</{name}>")


def image(source: str, width: int, height: int, alt: str) -> str:
    """Return a picture at an address, which can be one of data."""
    return f'<img src="{escape(source)}" alt="{escape(alt)}" width="{width}" height="{height}" loading="lazy">'


def zoom(content: bytes, alt: str, label: str) -> str:
    """Return a PNG picture with a palette, embedded in the page, that a click enlarges.

    label: of the button, for screen readers.
    """
    palette, width, height = small(content)
    return zoom_at(data_uri(palette, "image/png"), width, height, alt, label)


def zoom_at(source: str, width: int, height: int, alt: str, label: str) -> str:
    """Return a picture at an address that a click enlarges."""
    return element("button", image(source, width, height, alt), class_="zoom", type="button", aria_label=label)


def folded(words: str, *inner: str, **attributes: str) -> Html:
    """Content that is shown on demand, under a line of words."""
    return element("details", f"<summary>{escape(words)}</summary>", *inner, **attributes)


def select(words: str, column: str, values: Mapping[str, str], *, every: str | None = "all") -> str:
    """Return a list that filters by a column. `every`: the choice that filters nothing; None leaves it out."""
    options = [element("option", escape(label), value=value) for value, label in values.items()]
    first = [] if every is None else [element("option", escape(every), value="")]
    return element("label", f"{escape(words)} ", element("select", *first, *options, data_filters=column))


def data_uri(content: bytes, kind: str) -> str:
    """Return the content as a data address, which needs no request."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def download(text: str, name: str) -> str:
    """Return a link that saves a text which is embedded in the page."""
    address = data_uri(text.encode(), "text/csv;charset=utf-8")
    return element("a", escape(name), href=address, download=name)


def file_link(address: str, words: str) -> str:
    """Return a link that saves a file beside the page."""
    return element("a", escape(words), href=address, download=address.rpartition("/")[2])


def prose(text: str) -> str:
    """Return a text with names of the program between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def formula(text: str) -> str:
    """Return a text with mathematics between dollar signs, in the subset of LaTeX that the tables use."""
    parts = text.split("$")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(_mathematics(part) if place % 2 else escape(part) for place, part in enumerate(parts))


def _mathematics(part: str) -> str:
    part = re.sub(r"\\([a-z]+)", lambda found: SYMBOLS.get(found[1], found[1]), escape(part))
    for sign, name in (("^", "sup"), ("_", "sub")):
        part = re.sub(rf"\{sign}(?:\{{([^{{}}]*)\}}|(\w))", lambda m, n=name: f"<{n}>{m[1] or m[2]}</{n}>", part)
    return part


def facts(pairs: Mapping[str, str]) -> str:
    """Terms and their descriptions, which are already HTML; empty ones are left out."""
    return element("dl", *(f"<dt>{escape(term)}</dt><dd>{content}</dd>" for term, content in pairs.items() if content))


def table(
    cells: pd.DataFrame,
    caption: str,
    *,
    rows: Sequence[Mapping[str, str]] = (),
    groups: Sequence[tuple[str, int]] = (),
    wide: Collection[str] = (),
    classes: Mapping[str, str] = MappingProxyType({}),
    **attributes: str,
) -> str:
    """Return a table with a button in each heading that sorts by it.

    Args:
        cells: the content, text or Html; numbers are sorted as numbers, and so is text that begins with one.
        caption: of the table.
        rows: attributes of each row; none where left out.
        groups: headings above those of the columns, each with the number of columns that it is above.
        wide: columns of long text.
        classes: text of a cell -> the class of the cell.
        attributes: of the table.
    """
    head = "".join(
        element("th", element("button", formula(str(name)) or "row", type="button"), scope="col", aria_sort="none")
        for name in cells
    )
    above = "".join(element("th", formula(words), scope="colgroup", colspan=str(span)) for words, span in groups)
    looks = [{"class_": "wide"} if name in wide else {} for name in cells]
    body = (
        element("tr", *(_cell(*pair, classes) for pair in zip(row, looks, strict=True)), **more)
        for row, more in zip(cells.itertuples(index=False, name=None), rows or [{}] * len(cells), strict=True)
    )
    whole = element(
        "table",
        element("caption", escape(caption)),
        element("thead", element("tr", above) if above else "", element("tr", head)),
        element("tbody", *body),
        **attributes,
    )
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _cell(value, look: Mapping[str, str], classes: Mapping[str, str]) -> str:
    """Return a cell, with the number that it is sorted by."""
    if isinstance(value, (int, float, np.number)):
        whole = abs(value) >= 1000 or float(value).is_integer()
        digits = "" if np.isnan(value) else format(value, ",.0f" if whole else ".4g")
        return element(
            "td", digits, class_="number", data_number=None if np.isnan(value) else _for_browsers(float(value))
        )
    if isinstance(value, Html):
        look = look if value.look is None else {"class_": value.look}
        return element("td", value, data_number=None if value.number is None else _for_browsers(value.number), **look)
    text = str(value)
    first = re.match(r"[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?", text)
    number = first[0].replace(",", "") if first and not look else None
    return element("td", formula(text), data_number=number, **({"class_": classes[text]} if text in classes else look))


def _for_browsers(number: float) -> str:
    """Return a number as JavaScript reads it."""
    return str(number).replace("inf", "Infinity")
