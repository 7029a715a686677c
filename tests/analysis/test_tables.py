"""Tables as text."""

import numpy as np
import pandas as pd

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
