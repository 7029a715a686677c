"""Renders the templates of the pages, whose text is escaped there: formulas, cells that sort, and pictures."""

import base64
import io
import operator
import re
from functools import cache
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup, escape
from PIL import Image

SYMBOLS = {"varepsilon": "ε", "ell": "ℓ", "delta": "δ", "lambda": "λ", "sigma": "σ", "alpha": "α", "infty": "∞"}
COLORS = 128  # more than a figure has, apart from the shades at the edges of letters
NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?")


def render(template: str, **content: Any) -> str:
    """Return a template of the folder `templates`, filled; what is put into .html is escaped."""
    return _environment().get_template(template).render(content)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("figures.pages"),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own = (cell, data_uri, described, formula, prose, size, small, sorting)
    environment.filters |= {"joined": operator.or_} | {each.__name__: each for each in own}
    return environment


def sorting(number: float) -> str:
    """Return the number, as JavaScript reads it, by which a cell is sorted; one that is not finite comes last."""
    return str(float(number)) if np.isfinite(number) else "Infinity"


def cell(value: Any, look: str = "") -> Markup:
    """Return a cell of a table, sorted by its number or by the number that its text begins with. look: its class."""
    if isinstance(value, (int, float, np.number)):
        value = float(value)
        integral = abs(value) >= 1000 or value.is_integer()
        text = "" if np.isnan(value) else format(value, ",.0f" if integral else ".4g")
        look, number = "number", None if np.isnan(value) else sorting(value)
    else:
        text = str(value)
        first = NUMBER.match(text)
        number = first[0].replace(",", "") if first and not look else None
    look = Markup(' class="{}"').format(look) if look else ""
    number = Markup(' data-number="{}"').format(number) if number else ""
    return Markup("<td{}{}>{}</td>").format(look, number, formula(text))


def formula(text: Any) -> Markup:
    """Return a text with mathematics between dollar signs, in the subset of LaTeX that the tables use."""
    parts = str(text).split("$")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(_mathematics(part) if place % 2 else escape(part) for place, part in enumerate(parts))


def _mathematics(part: str) -> Markup:
    part = re.sub(r"\\([a-z]+)", lambda found: SYMBOLS.get(found[1], found[1]), str(escape(part)))
    for sign, name in (("^", "sup"), ("_", "sub")):
        part = re.sub(rf"\{sign}(?:\{{([^{{}}]*)\}}|(\w))", lambda m, n=name: f"<{n}>{m[1] or m[2]}</{n}>", part)
    return Markup(part)


def prose(text: str) -> Markup:
    """Return a text with names of the program between backticks."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def data_uri(content: bytes | str, kind: str) -> str:
    """Return a content as a data address, which needs no request."""
    content = content.encode() if isinstance(content, str) else content
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def size(png: bytes) -> tuple[int, int]:
    """Return width and height of a picture in pixels."""
    with Image.open(io.BytesIO(png)) as picture:
        return picture.size


def described(png: bytes, alt: str) -> str:
    """Return the notes in a picture's metadata, which follow its alternative text there."""
    with Image.open(io.BytesIO(png)) as picture:
        return str(picture.info.get("Description", "")).removeprefix(alt).strip()


def small(png: bytes) -> bytes:
    """Return a picture as a PNG file with a palette, or as it was where that is smaller."""
    with Image.open(io.BytesIO(png)) as picture:
        plain = Image.new("RGB", picture.size, "white")
        plain.paste(picture, mask=picture.getchannel("A") if picture.mode == "RGBA" else None)
    out = io.BytesIO()
    plain.quantize(COLORS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return min(out.getvalue(), png, key=len)
