"""Numbers published by a paper, read from published.csv in the paper's folder.

The column "figure" is the name of the figure or table here; the other columns depend on the paper. The module
published.py in the same folder says how the numbers were obtained.
"""

import functools
import io
from importlib.resources import files

import pandas as pd

from bench.errors import unknown_name

HERE, PUBLISHED = "here", "published"  # where a number is from, column "origin"


@functools.cache
def numbers(package: str) -> pd.DataFrame:
    """Return all numbers that a paper published. package: of the paper, "figures.p2p"."""
    return pd.read_csv(io.StringIO((files(package) / "published.csv").read_text()))


def of_figure(package: str, figure: str) -> pd.DataFrame:
    """Return the published numbers of one figure or table.

    Args:
        package: the paper's, "figures.p2p".
        figure: its name here, "p2p_fig1".

    Raises:
        InputError: where nothing of that figure is published in numbers.
    """
    published = numbers(package)
    chosen = published[published["figure"] == figure]
    if chosen.empty:
        raise unknown_name("figure with published numbers", figure, published["figure"].unique())
    return chosen.drop(columns="figure").reset_index(drop=True)
