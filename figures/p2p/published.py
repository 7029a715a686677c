"""The numbers that Bellet et al. 2018 published, published.csv.

The curves of Figures 1 to 4, 692 points, are coordinates of the vector graphics in the published PDF, mapped to the
axes' ticks. They are exact to about four digits, and are not values that the authors gave. x of Figure 3 is the lower
edge of a group of agents. Table 1 is as printed.
"""

import pandas as pd

from figures.shared.published import PUBLISHED, of_figure

PACKAGE = "figures.p2p"


def published(figure: str) -> pd.DataFrame:
    """Return the published points of a figure or table.

    Args:
        figure: its name here, "p2p_fig1".

    Returns:
        Columns "series" (the legend), "x_name", "x" (NaN in a table), "y_name", "y", and "origin", PUBLISHED.

    Raises:
        InputError: where nothing of that figure is published in numbers.
    """
    return of_figure(PACKAGE, figure).assign(origin=PUBLISHED)
