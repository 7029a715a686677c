"""Tests whether the axes of a picture cut off something that was drawn."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection

SLACK = 1e-6  # of the height of the axes, as it is drawn


def goes_beyond(ax: Axes) -> bool:
    """Return whether a line or an interval goes above or below the axes, at a place that they show.

    Heights are compared as they are drawn: on a logarithmic axis by their logarithms, where what is not positive is
    below.
    """
    if not ax.get_visible():
        return False
    corners = ax.transScale.transform(np.transpose([ax.get_xlim(), ax.get_ylim()]))
    (left, low), (right, high) = corners.min(0), corners.max(0)
    slack = SLACK * (high - low)
    for points in _corners(ax):
        heights = _heights(ax.transScale.transform(points), left, right)
        if np.any((heights > high + slack) | (heights < low - slack)):
            return True
    return False


def _heights(points: np.ndarray, left: float, right: float) -> np.ndarray:
    """Return the heights of the points within the limits of x, and those at which the lines between points enter and
    leave."""
    x, y = points.T
    begin, end = points[:-1], points[1:]
    run = end[:, 0] - begin[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        enter, leave = np.sort([(limit - begin[:, 0]) / run for limit in (left, right)], axis=0)
    enter, leave = np.clip(enter, 0, 1), np.clip(leave, 0, 1)
    shown = (run != 0) & (enter < leave)
    crossings = [begin[:, 1] + share * (end[:, 1] - begin[:, 1]) for share in (enter, leave)]
    return np.concatenate([y[(x >= left) & (x <= right)], *(heights[shown] for heights in crossings)])


def _corners(ax: Axes) -> list[np.ndarray]:
    """Return the corners of all curves and intervals in data coordinates, [point, 2] each."""
    lines = [line.get_xydata() for line in ax.lines if line.get_transform() == ax.transData]
    bands = [artist for artist in ax.collections if isinstance(artist, LineCollection | PolyCollection)]
    corners = [path.vertices for band in bands if band.get_transform() == ax.transData for path in band.get_paths()]
    arrays = [np.asarray(points, float) for points in [*lines, *corners]]
    return [points for points in arrays if points.size]
