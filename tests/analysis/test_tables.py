"""Tables as text."""

import numpy as np
import pandas as pd
import pytest

from bench.analysis import tables
from bench.analysis.measured import is_name
from bench.analysis.tables import without_formulas


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


def test_latex_that_is_wider_than_a_page_is_in_parts_that_repeat_the_first_column():
    cells = pd.DataFrame({"name": ["a", "b"]} | {f"column {k}": ["0.123 ± 0.1", "1"] for k in range(6)})
    parts = tables.latex(cells, 40).split(r"\end{tabular}")[:-1]
    assert [part.count("column") for part in parts] == [2, 2, 2]
    assert all(r"\toprule" in part and "name & column" in part and "a & 0.123" in part for part in parts)
    assert tables.latex(cells).count(r"\begin{tabular}") == 1


def test_latex_has_no_letters_that_pdflatex_lacks():
    text = tables.latex(pd.DataFrame({"ε = 1": ["0.5 ± 0.1", "$\\sigma ≤ 1$", "3 × 2 – −1"]}))
    assert text.isascii()
    assert r"$\varepsilon$ = 1" in text
    assert r"0.5 $\pm$ 0.1" in text
    assert r"$\sigma \leq  1$" in text


def test_a_text_of_others_holds_no_link_and_no_tag():
    assert tables.no_links("[0.8, 0.9] (rank 1), 1 < 2") == "[0.8, 0.9] (rank 1), 1 < 2"
    assert tables.no_links("[x](javascript:a) <b>") == r"[x]\(javascript:a) \<b>"
    assert tables.no_links("https://a.b WWW.a.b [x]: y") == r"https\://a.b WWW\.a.b [x]\: y"


def test_a_cell_of_a_csv_file_begins_no_formula():
    cells = pd.DataFrame({"=a": ["=cmd|' /C calc'!A0", "+1.5", "@x", "a=b"], "b": [-1.0, 2.0, np.nan, -np.inf]})
    written = without_formulas(cells).to_csv(index=False, float_format="%.6g").splitlines()
    assert written == ["'=a,b", "'=cmd|' /C calc'!A0,-1", "+1.5,2", "'@x,", "a=b,-inf"]
    assert cells.columns[0] == "=a"
    assert without_formulas(cells[["b"]]).equals(cells[["b"]])


@pytest.mark.parametrize("name", ["DP-SGD + FedAvg (E = 1)", "renamed", "New <b>", "MR-MTL, 2", "é"])
def test_names_that_every_table_can_show(name):
    assert is_name(name)


@pytest.mark.parametrize(
    "name", ["", " a", "=a", "-a", "a\0", "a\u202eb", "a\n", "[x](y)", "http://x", "www.x", "a" * 81, None]
)
def test_names_that_no_table_shows(name):
    assert not is_name(name)
