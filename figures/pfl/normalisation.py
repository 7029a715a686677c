"""Networks on the pixels of MNIST brought to [-1, 1], against Table 2 of Bhaskar et al. 2025.

The authors' program normalises MNIST by its own mean and deviation, and so does `pfl_splits_curves`; pixels in [-1, 1],
as the program has them for Fashion-MNIST, explain the published accuracies if these curves match the pale ones.
"""

import pandas as pd

from figures.pfl import splits_curves, tables
from figures.shared.figure import Figure


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell of Table 2 whose model is a network on pixels, with the accuracy here."""
    cells = tables.table(runs, "pfl_table2")
    return cells[cells["algorithm"].isin(runs["algorithm"])].reset_index(drop=True)


def draw(table: pd.DataFrame):
    """A panel for each epsilon."""
    return splits_curves.draw(
        table,
        "Accuracy with pixels in [-1, 1] (Bhaskar et al. 2025, Table 2)",
        height=3.3,
        differs="Elsewhere pixels have mean 0 and deviation 1 over the data set, as in the authors' program.",
    )


FIGURE = Figure(__doc__, ("pfl_normalisation",), table, draw)
