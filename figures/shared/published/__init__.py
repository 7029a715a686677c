"""Numbers that the papers published, one file a paper, to stand behind ours.

p2p.csv: Bellet et al. 2018. The curves of Figures 1 to 4, 692 points, are coordinates of the vector graphics in the
    published PDF, mapped to the axes' ticks: good to about four digits, and no values that the authors gave. x of
    Figure 3 is the lower edge of a group of agents. Table 1 is as printed.
pfl_tables.csv: Bhaskar et al. 2025. The 276 accuracies of Tables 2 to 5 as printed, each the mean of ten runs. The
    paper contradicts itself in places: the cell that Tables 2 and 5 share for CNN+RL on MNIST is 93.86 in one and
    93.06 in the other; the text says epsilon 7.52 of CIFAR-10 where the tables say 7.53; and for Fashion-MNIST it says
    that SN+CNN falls from 84.26, which is 81.26 in Table 3, and that SN+Lin falls from 86.01 to 82.79, of which the
    one is at epsilon 2.7 and the other at 1.2.
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
    return _of(figure, points).assign(origin=PUBLISHED)


def published_cells(figure: str) -> pd.DataFrame:
    """The published cells of a table of accuracies, under the names that the columns of results have.

    Args:
        figure: as it is called here, "pfl_table2".

    Returns:
        Columns "dataset", "target_epsilon" (inf without privacy), "num_epochs", "num_clients", "total_epochs",
        "algorithm", and "test_accuracy", in [0, 1].

    Raises:
        InputError: where no such table is published.
    """
    return _of(figure, pd.read_csv(io.StringIO((files(__name__) / "pfl_tables.csv").read_text())))


def _of(figure: str, points: pd.DataFrame) -> pd.DataFrame:
    """The rows of one figure, without the column that says so."""
    chosen = points[points["figure"] == figure]
    if chosen.empty:
        raise unknown_name("figure with published numbers", figure, points["figure"].unique())
    return chosen.drop(columns="figure").reset_index(drop=True)
