"""Every figure at the width of a journal's column and page: its texts are apart, whole, and large enough to read. What
stands below a picture on the screen has at most two lines."""

from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.text import Text
from slow_cases import cases

from bench.analysis import style
from figures import FIGURES
from figures.shared.runs import UNREAD, runs_of

RESULTS = Path(__file__).parents[2] / "results"
WIDTHS = 3.25, 6.75
QUICK = {"p2p_fig3", "pfl_one_client", "ppsgd_sampling"}
DRAWN = sorted(name for name, figure in FIGURES.items() if not figure.printed)
LEAST = 6  # points
TOUCH = 1.0  # pixels by which boxes of texts may touch, since they are larger than the letters


def faults(figure) -> list[str]:
    """Return which of the texts that are drawn overlap, are cut off or are too small."""
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        draw = Text.draw
        patch.setattr(Text, "draw", lambda text, renderer: (shown.append(text), draw(text, renderer)))
        figure.canvas.draw()
    shown = [text for text in shown if text.get_visible() and text.get_text().strip()]
    boxes = [(text.get_text().replace("\n", " / "), text.get_window_extent()) for text in shown]
    found = [f"too small: {text.get_text()}" for text in shown if text.get_fontsize() < LEAST]
    width, height = figure.bbox.width + TOUCH, figure.bbox.height + TOUCH
    found += [
        f"cut off: {words}"
        for words, box in boxes
        if box.x0 < -TOUCH or box.y0 < -TOUCH or box.x1 > width or box.y1 > height
    ]
    for (first, a), (second, b) in combinations(boxes, 2):
        if min(a.x1, b.x1) - max(a.x0, b.x0) > TOUCH and min(a.y1, b.y1) - max(a.y0, b.y0) > TOUCH:
            found.append(f"over each other: {first} | {second}")
    return found


@pytest.mark.parametrize("name", cases(DRAWN, slow=set(DRAWN) - QUICK))
def test_a_figure_is_legible_at_the_width_of_a_column_and_of_a_page(name):
    figure = FIGURES[name]
    found = runs_of(RESULTS, None, figure.sweeps, UNREAD)
    assert found
    table = figure.table(found[0])
    for width in WIDTHS:
        picture = figure.picture(table, width)
        with style.applied(width):
            assert picture.get_figwidth() == width
            assert not faults(picture), width
            assert not picture.texts, "title and footer are left to the caption"
    whole = figure.picture(table)
    (below,) = (text.get_text() for text in whole.texts if text.get_position()[1] < 0)
    assert below.count("\n") < 2
    assert " ".join(below.split()) in whole.notes
