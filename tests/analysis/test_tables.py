"""Tables as text."""

import numpy as np
import pandas as pd

from bench.analysis import metric_limits as possible
from bench.analysis import tables


def test_a_table_as_markdown_and_latex():
    cells = pd.DataFrame({"": ["a_1 | 50 %", r"b\c"], "RMSE & more": ["1.0", ""]})
    assert tables.markdown(cells) == "|  | RMSE & more |\n| --- | ---: |\n| a_1 \\| 50 % | 1.0 |\n| b\\c |  |\n"
    text = tables.latex(cells)
    assert r"a\_1 | 50 \% & 1.0 \\" in text
    assert r"RMSE \& more" in text
    formula = tables.latex(pd.DataFrame({r"50 % of $\varepsilon_1$": ["1 $ only"]}))
    assert r"50 \% of $\varepsilon_1$" in formula
    assert r"1 \$ only" in formula
    assert r"b\textbackslash{}c" in text
    assert text.startswith("\\begin{tabular}{lr}\n\\toprule\n")
    assert text.endswith("\\bottomrule\n\\end{tabular}\n")


def test_cells_of_numbers():
    assert tables.with_interval(0.95021, 0.94, 0.96) == "0.9502 [0.9400, 0.9600]"
    assert tables.with_interval(0.95021, np.nan, np.nan) == "0.9502"
    assert tables.with_interval(np.nan, np.nan, np.nan) == "diverged"
    assert tables.number(np.nan) == ""
    assert tables.number(-0.5, "+.2f") == "-0.50"


def test_an_interval_is_written_up_to_the_values_that_its_metric_can_have():
    assert tables.with_interval(0.9, 0.7, 1.1, metric="test_accuracy") == "0.9000 [0.7000, 1.0000]"
    assert tables.with_interval(0.1, -0.1, 0.3, metric="test_error") == "0.1000 [0.0000, 0.3000]"
    assert tables.with_interval(2.0, -1.0, 5.0, metric="excess_risk") == "2.0000 [0.0000, 5.0000]"
    assert tables.with_interval(2.0, -1.0, 5.0, metric="test_squared_error") == "2.0000 [0.0000, 5.0000]"
    assert tables.with_interval(2.0, -1.0, 5.0, metric="test_error") == "2.0000 [-1.0000, 5.0000]"  # no share
    assert tables.with_interval(0.1, -0.1, 0.3) == "0.1000 [-0.1000, 0.3000]"


def test_shares_are_told_by_name_and_values():
    assert possible.are_shares(pd.Series([0.0, 1.0, np.nan, np.inf], name="test_accuracy_per_user"))
    assert not possible.are_shares(pd.Series([0.5, 1.5], name="test_error"))
    assert not possible.are_shares(pd.Series([0.5], name="test_squared_error"))
    assert not possible.are_shares(pd.Series([0.5], name="excess_risk"))


def test_latex_has_no_letters_that_pdflatex_lacks():
    text = tables.latex(pd.DataFrame({"ε = 1": ["0.5 ± 0.1", "$\\sigma ≤ 1$", "3 × 2 – −1"]}))
    assert text.isascii()
    assert r"$\varepsilon$ = 1" in text
    assert r"0.5 $\pm$ 0.1" in text
    assert r"$\sigma \leq  1$" in text


def test_a_table_for_a_terminal_goes_on_below_where_it_is_too_wide():
    cells = pd.DataFrame({"method": ["a", "longer"], "ε = 1": ["0.5 (1)", "0.25 (2)"], "ε = 2": ["1", "2"]})
    assert tables.plain(cells, 30).splitlines() == [
        "method     ε = 1  ε = 2",
        "a        0.5 (1)      1",
        "longer  0.25 (2)      2",
    ]
    below = tables.plain(cells, 20).split("\n\n")
    assert [part.splitlines()[1].split() for part in below] == [["a", "0.5", "(1)"], ["a", "1"]]
