"""Whether the axes of a picture cut off something that was drawn."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection

SLACK = 1e-6  # of the height of the axes


def goes_beyond(ax: Axes) -> bool:
    """Return whether a line or an interval ends above or below the axes, at a place that they show."""
    if not ax.get_visible():
        return False
    (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    slack = SLACK * (high - low)
    for points in _drawn(ax):
        x, y = points.T
        inside = (x >= left) & (x <= right)
        if np.any((y[inside] > high + slack) | (y[inside] < low - slack)):
            return True
    return False


def _drawn(ax: Axes) -> list[np.ndarray]:
    """The corners of all curves and intervals in data coordinates, [point, 2] each."""
    lines = [line.get_xydata() for line in ax.lines if line.get_transform() == ax.transData]
    bands = [each for each in ax.collections if isinstance(each, LineCollection | PolyCollection)]
    corners = [path.vertices for band in bands if band.get_transform() == ax.transData for path in band.get_paths()]
    drawn = [np.asarray(points, float) for points in [*lines, *corners]]
    return [points for points in drawn if points.size]
