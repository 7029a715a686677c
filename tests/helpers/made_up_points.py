"""The ids of made-up points."""

import pandas as pd


def points_of(settings: pd.DataFrame) -> list[str]:
    """Return the id of every row's point: its settings."""
    return ["/".join(map(str, row)) for row in settings.itertuples(index=False)]
