"""One look: intervals of shares stay within 0 and 1, print has its width, metadata say what is shown."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.lines import Line2D
from PIL import Image

from bench.analysis import style
from bench.analysis.saving import save_picture, save_printed

TABLE = pd.DataFrame(
    {"x": [1.0, 2.0, 3.0], "share": [0.5, 0.97, 0.99], "low": [-0.4, 0.9, 0.9], "high": [1.4, 1.04, 1.08]}
)


def drawn(share: bool, names: int = 2, width: float | None = None):
    """A panel with a band, an interval and a box that go beyond 0 and 1."""
    with style.applied(width):
        figure, ax = style.subplots(figsize=(6.0, 4.0))
        style.curve(ax, TABLE, "x", "share", color="red")
        ax.vlines([2.0], [-0.4], [1.4], color="red")
        ax.axhspan(-0.4, 1.4, color="red")
        ax.set_ylim(-0.6, 1.6)
        ax.set_ylabel("a label of the vertical axis that is quite a bit longer than the axis itself is high here")
        if share:
            style.percent(ax.yaxis)
        style.head(figure, "A title", [Line2D([], [], label=f"a method with a name, {n}") for n in range(names)])
        style.footer(figure, TABLE.assign(source="made up", task="t", scale="smoke", repetitions=3), "A note.")
    return figure, ax


def reds(figure) -> np.ndarray:
    """Rows of the picture in which something is red, from the top."""
    with style.applied():
        figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba()).astype(int)
    red = (pixels[..., 0] > pixels[..., 1] + 20) & (pixels[..., 0] > pixels[..., 2] + 20)
    return np.flatnonzero(red.any(axis=1))


def test_the_panels_of_a_grid_have_their_rows_and_their_labels():
    table = pd.concat([TABLE.assign(row=row, column=column, name="a") for row in "pq" for column in (1, 2)])
    table["share"] += table["column"]
    with style.applied():
        _, axes = style.subplots(2, 2, figsize=(4.0, 4.0))
        for ax, rows, values in style.panels(axes, table, row=["p", "q"], column=[2, 1]):
            style.curves(ax, rows, "name", {"b": style.GREY, "a": style.RED}, "x", "share")
            style.ticks(ax, [1, 3])
            ax.set_title("{} {}".format(*values))
        style.label(axes, "x", "of p", "of q")
    assert [ax.get_title() for ax in axes.flat] == ["p 2", "p 1", "q 2", "q 1"]
    assert [[line.get_ydata()[0] for line in ax.lines] for ax in axes.flat] == [[2.5], [1.5], [2.5], [1.5]]
    assert [ax.get_xlabel() for ax in axes.flat] == ["", "", "x", "x"]
    assert [ax.get_ylabel() for ax in axes.flat] == ["of p", "", "of q", ""]
    assert [text.get_text() for text in axes[0, 0].get_xticklabels()] == ["1", "3"]
    assert [handle.get_label() for handle in style.handles(table, "name", {"b": {}, "a": {}})] == ["a"]


def test_what_is_shown_of_an_interval_of_shares_is_within_0_and_1():
    figure, ax = drawn(share=True)
    assert ax.get_ylim() == (-style.SLACK, 1 + style.SLACK)
    rows = reds(figure)
    height = figure.canvas.get_width_height()[1]
    bottom, top = (height - ax.transData.transform((1, value))[1] for value in (0, 1))
    assert rows.min() >= top - 3
    assert rows.max() <= bottom + 3
    figure, ax = drawn(share=False)
    assert ax.get_ylim() == (-0.6, 1.6)
    assert len(reds(figure)) > 0.7 * ax.get_window_extent().height


@pytest.mark.parametrize("width", [None, 4.0])
def test_a_legend_is_as_wide_as_the_figure_at_most(width):
    figure, _ = drawn(share=True, names=9, width=width)
    assert len(figure.legends) > 1
    shown = [text.get_text() for legend in figure.legends for text in legend.texts]
    assert shown == [f"a method with a name, {n}" for n in range(9)]
    with style.applied(width):
        assert all(legend.get_window_extent().width <= figure.bbox.width for legend in figure.legends)


def test_a_picture_for_print_has_its_width_and_the_text_of_a_journal(tmp_path):
    figure, ax = drawn(share=True, width=3.25)
    path = save_printed(figure, tmp_path, "name", "What is shown.")
    assert [one.name for one in tmp_path.iterdir()] == ["name_3.25in.pdf"]
    (box,) = re.findall(rb"/MediaBox \[([^]]*)\]", path.read_bytes())
    assert float(box.split()[2]) == pytest.approx(3.25 * 72)
    assert figure.texts == []  # neither title nor footer
    sizes = {label.get_fontsize() for label in [ax.yaxis.label, *ax.get_yticklabels(), *figure.legends[0].texts]}
    assert sizes == {7.0, 8.0}
    assert "\n" in ax.get_ylabel()
    with style.applied(3.25):
        assert ax.yaxis.label.get_window_extent().height <= figure.bbox.height


def test_columns_of_panels_that_do_not_fit_are_stacked_with_their_rows_and_shared_axes():
    with style.applied(3.25):
        figure, axes = style.subplots(2, 3, figsize=(12.0, 5.0), sharex=True, sharey="row", height_ratios=[3, 1])
        for ax, x in zip(axes.flat, range(6), strict=True):
            ax.plot([0, x + 1], [0, 1000])
        axes[0, 0].set_ylabel("a row")
        style.head(figure, "A title", [Line2D([], [], label="a method")])
        boxes = [[ax.get_position() for ax in row] for row in axes]
    assert figure.get_figwidth() == 3.25
    assert boxes[0][1].y0 == pytest.approx(boxes[0][0].y0)
    assert boxes[0][2].y1 < boxes[1][0].y0  # the third column is below both rows of the others
    assert boxes[1][2].x0 == pytest.approx(boxes[0][0].x0, abs=0.02)
    assert len({ax.get_xlim() for ax in axes.flat}) == 1
    assert [ax.get_ylabel() for ax in axes[0]] == ["a row", "", "a row"]
    assert [ax.yaxis.get_tick_params()["labelleft"] for ax in axes[0]] == [True, False, True]


def test_pictures_carry_what_they_show(tmp_path):
    figure, _ = drawn(share=True)
    png, _, pdf = save_picture(figure, TABLE, tmp_path, "name", "Shares by x, ε = 1.", pdf=True)
    with Image.open(png) as picture:
        assert picture.info["Description"].startswith("Shares by x, ε = 1. Data: made up (task t). Scale: smoke. 3 rep")
        assert "A note." in picture.info["Description"]
    assert b"/Subject" in pdf.read_bytes()


def test_a_pdf_is_made_where_it_is_asked_for_and_an_earlier_one_does_not_stay_beside_other_numbers(tmp_path):
    figure, _ = drawn(share=True)
    assert [path.suffix for path in save_picture(figure, TABLE, tmp_path, "name", pdf=True)] == [".png", ".csv", ".pdf"]
    assert [path.suffix for path in save_picture(figure, TABLE, tmp_path, "name")] == [".png", ".csv"]
    assert {path.name for path in tmp_path.iterdir()} == {"name.png", "name.csv"}
