"""Numbers that the papers published, one file a paper, to stand behind ours.

p2p.csv: Bellet et al. 2018. The curves of Figures 1 to 4, 692 points, are coordinates of the vector graphics in the
    published PDF, mapped to the axes' ticks: good to about four digits, and no values that the authors gave. x of
    Figure 3 is the lower edge of a group of agents. Table 1 is as printed.
"""

import io
from importlib.resources import files

import pandas as pd

from bench.errors import unknown_name

HERE, PUBLISHED = "here", "published"  # where a number is from, column "origin"


def published(figure: str) -> pd.DataFrame:
    """The published points of a figure or table.

    Args:
        figure: as it is called here, "p2p_fig1".

    Returns:
        Columns "series" (the legend), "x_name", "x" (NaN in a table), "y_name", "y", and "origin", PUBLISHED.

    Raises:
        InputError: where nothing of that figure is published in numbers.
    """
    paper = figure.split("_")[0]
    path = files(__name__) / f"{paper}.csv"
    points = pd.read_csv(io.StringIO(path.read_text())) if path.is_file() else pd.DataFrame({"figure": []})
    chosen = points[points["figure"] == figure]
    if chosen.empty:
        raise unknown_name("figure with published numbers", figure, points["figure"].unique())
    return chosen.drop(columns="figure").assign(origin=PUBLISHED).reset_index(drop=True)
