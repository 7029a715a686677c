"""How Sphinx builds these pages: see CONTRIBUTING.md."""

import importlib.metadata
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # autodoc imports the packages,
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))  # and so do kernels

project = "Private federated learning, benchmarked"
author = "The maintainers of private-federated-bench"
copyright = author
try:
    release = importlib.metadata.version("private-federated-bench")
except importlib.metadata.PackageNotFoundError:  # the repository's folder is used without being installed
    release = ""

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 900
nb_execution_raise_on_error = True
nb_output_stderr = "remove"  # progress
default_role = "code"  # of docstrings

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures state them
autodoc_preserve_defaults = True
napoleon_use_rtype = False

html_theme = "sphinx_book_theme"
html_title = project
html_theme_options = {"show_toc_level": 2, "navbar_persistent": []}  # one search box
html_show_sourcelink = False


def _downloads(app, docname, source):
    """Markdown outside this folder is no page of the site: a link to it becomes a download."""
    here = Path(app.srcdir, docname).parent

    def link(match):
        inside = (here / match[1]).resolve().is_relative_to(app.srcdir)
        return match[0] if inside else f"](path:{match[1]})"

    source[0] = re.sub(r"\]\(([^):#]+\.md)\)", link, source[0])


def _as_rst(app, what, name, obj, options, lines):
    """Docstrings here are plain text with Google's sections: signs of RST are escaped, and "name: what it is" at the
    left margin is an item of a list."""
    items, done = re.compile(r"(\w+(?:, \w+)*): (.+)"), []
    inside = False
    for number, line in enumerate(lines):
        line = "`".join(re.sub(r"([*|])", r"\\\1", part) for part in line.split("`"))
        item = items.fullmatch(line) if number else None
        if item:
            done += [""] * (not inside) + [f"* **{item[1]}**: {item[2]}"]
        elif inside and line.startswith("    "):
            done.append(f"  {line.strip()}")
        else:
            done += [""] * (inside and bool(line)) + [line]
        inside = bool(item) or (inside and line.startswith("    "))
    lines[:] = done


def setup(app):
    app.connect("source-read", _downloads)
    app.connect("autodoc-process-docstring", _as_rst, priority=400)  # before napoleon
