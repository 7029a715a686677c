"""The numbers that Bhaskar et al. 2025 published, published.csv: the 276 accuracies of Tables 2 to 5 as printed.

Each is the mean of ten runs. The paper contradicts itself in places:

- The cell that Tables 2 and 5 share for CNN+RL on MNIST is 93.86 in one and 93.06 in the other.
- For CIFAR-10 the text has epsilon 7.52, and the tables have 7.53.
- For Fashion-MNIST the text says that SN+CNN falls from 84.26, which is 81.26 in Table 3, and that SN+Lin falls from
  86.01, the value at epsilon 2.7, to 82.79, the value at 1.2.
"""

import pandas as pd

from figures.shared.published import of_figure

PACKAGE = "figures.pfl"


def published_cells(figure: str) -> pd.DataFrame:
    """Return the published cells of a table of accuracies, under the names that the columns of results have.

    Args:
        figure: its name here, "pfl_table2".

    Returns:
        Columns "dataset", "target_epsilon" (inf without privacy), "num_epochs", "num_clients", "total_epochs",
        "algorithm", and "test_accuracy", in [0, 1].

    Raises:
        InputError: where no such table is published.
    """
    return of_figure(PACKAGE, figure)
