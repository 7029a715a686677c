"""What the committed results lead to comes out of them: the numbers of every figure and of the board's page byte for
byte, those of every comparison on the board but for the last digit that is written, and a sample of the runs up to
rounding. A change of the machinery that changes none of them has lost nothing.

The verdicts and the pages are in tests/docs/test_generated.py. Rounds depend on the processor in their last bits, so
all bits are compared between two commits on one machine: `python -m golden` (tests/helpers).
"""

import io
from pathlib import Path

import pandas as pd
import pytest
from slow_cases import cases

import bench
from bench.comparison.report.table import table
from bench.comparison.result import at_end
from bench.store import part_files
from figures import FIGURES
from figures.command_line import app
from figures.pages.board.write import TABLES, write

RESULTS = Path(__file__).parents[1] / "results"
BOARDS = sorted(path.parent.name for path in (RESULTS / "board").glob("*/comparison.csv"))
QUICK_FIGURES = {"correlated_noise_sums", "p2p_agents", "mrmtl_lambda", "isrl_fig2"}
QUICK_BOARDS = {"school", "linear_p2p", "odd_even"}
QUICK_SWEEPS = (  # whose data are generated
    *("ppsgd_theory", "ppsgd_sampling", "p2p_private", "p2p_convergence", "decor_noise", "correlated_noise_sums"),
    *("server_optimisers", "server_clipping"),
)


@pytest.mark.parametrize("name", cases(sorted(FIGURES), slow=set(FIGURES) - QUICK_FIGURES))
def test_the_numbers_of_a_figure_are_those_committed(name, tmp_path):
    app([name, "--scale", "laptop", "--results", str(RESULTS), "--out", str(tmp_path)], standalone_mode=False)
    made = [path for path in tmp_path.iterdir() if path.suffix in (".csv", ".md", ".tex")]
    assert made
    for path in made:
        assert path.read_bytes() == (RESULTS / "sweeps" / "figures" / path.name).read_bytes(), path.name


@pytest.mark.parametrize("task", cases(BOARDS, slow=set(BOARDS) - QUICK_BOARDS))
def test_the_comparison_on_a_task_of_the_board_is_that_of_its_runs(task):
    """All columns that follow from the runs at their end; tuning and the runs' course give the last ones."""
    folder = RESULTS / "board" / task
    committed = pd.read_csv(folder / "comparison.csv")
    first = committed.iloc[0]
    by_method = committed.drop_duplicates("algorithm").set_index("algorithm")
    found = table(
        at_end(part_files.read(folder / "test")),
        **{name: first[name] for name in ("problem", "title", "metric", "best", "test_ratio", "num_tests")},
        baselines=by_method.index[by_method["is_baseline"]].tolist(),
        num_settings=by_method["settings_tried"],
        against=by_method["against"],
    )
    again = pd.read_csv(io.StringIO(found.to_csv(index=False, float_format="%.6g")))
    there = committed.rename(columns={committed.columns[4]: again.columns[4]})[again.columns]
    order = {"by": ["target_epsilon", "algorithm"], "ignore_index": True}
    pd.testing.assert_frame_equal(again.sort_values(**order), there.sort_values(**order), rtol=1e-5, check_dtype=False)


@pytest.mark.slow
def test_the_tables_of_the_board_are_those_committed(tmp_path, monkeypatch):
    monkeypatch.chdir(RESULTS.parent)
    write(Path(RESULTS.name), tmp_path / "index.html")
    for name in TABLES:
        assert (tmp_path / name).read_bytes() == (RESULTS / "board" / name).read_bytes(), name


@pytest.mark.parametrize("sweeps", [QUICK_SWEEPS, pytest.param((), marks=pytest.mark.slow, id="all")])
def test_committed_runs_come_out_again(sweeps):
    """A fixed sample, up to rounding; those whose data are not here are left out."""
    found = bench.verify(sweeps, points=12, minutes=2, seed=1, out=RESULTS, workers=1)
    wrong = found[found["outcome"].isin(["different", "outdated", "damaged"])]
    assert wrong.empty, wrong.to_string()
    assert len(found) >= 6
