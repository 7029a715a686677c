"""A page with embedded styles and scripts, which makes no requests to a network."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from figures.pages.report.html import element

POLICY = "default-src 'none'; img-src {images}; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
EMBEDDED, BESIDE = "data:", "'self' data:"  # where the pictures of a page are: in it, or in files beside it
OWN = "figures.pages.report"
SIZE = '<form method="dialog"><button>Close</button></form>'


def document(
    title: str,
    header: str,
    sections: Sequence[str],
    *,
    styles: Sequence[tuple[str, str]] = (),
    programs: Sequence[tuple[str, str]] = (),
    images: str = EMBEDDED,
) -> str:
    """Return an HTML document.

    Args:
        title: of the window.
        header, sections: the content, as HTML.
        styles, programs: (package, name of a file in it), in addition to those of all pages.
        images: where its pictures are, `EMBEDDED` or `BESIDE`.
    """
    style = "".join(_text(*file) for file in ((OWN, "page.css"), *styles))
    program = "".join(_text(*file) for file in ((OWN, "page.js"), *programs))
    head = (
        '<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY.format(images=images)}">'
        f"<title>{escape(title)}</title><style>{style}</style>"
    )
    dialog = element("dialog", SIZE, aria_label="The picture in full size")
    skip = '<a class="skip" href="#main">To the content</a>'
    top = element("header", skip, f"<h1>{escape(title)}</h1>", header)
    body = element("body", top, element("main", *sections, id="main"), dialog, f"<script>{program}</script>")
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>{body}</html>\n'


def navigation(links: Sequence[tuple[str, str]]) -> str:
    """Links to sections. `links`: (id, words)."""
    items = "".join(f'<li><a href="#{escape(to)}">{escape(words)}</a></li>' for to, words in links)
    return element("nav", f"<ul>{items}</ul>", aria_label="Sections")


def _text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")
