"""`python -m figures board`: files that are there whole or not at all, and what is said of bad input."""

from made_up_board import FEW, add_task, made_up_board

from figures.pages.board.write import write

FILES = ["board.csv", "board.md", "board.tex", "index.html", "scores.csv"]


def written(folder):
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def test_the_command_says_where_the_page_is(command, tmp_path):
    for name in ("digits", "shakespeare"):
        add_task(tmp_path, name, FEW, costs=name == "digits")
    status, out, err = command("board", "--results", tmp_path)
    page = tmp_path / "board" / "index.html"
    assert (status, err) == (0, [])
    assert out == [f"{page} ({page.stat().st_size / 1e6:.1f} MB)"]
    assert written(page.parent) == FILES
    first = [(page.parent / name).read_bytes() for name in FILES]
    assert command("board", "--results", tmp_path)[0] == 0  # what it wrote does not disturb it, and is the same again
    assert [(page.parent / name).read_bytes() for name in FILES] == first


def test_tables_for_a_paper(tmp_path):
    made_up_board(tmp_path)
    page, _ = write(tmp_path, tmp_path / "elsewhere" / "b.html")
    assert written(page.parent) == ["b.html", "board.csv", "board.md", "board.tex", "scores.csv"]
    markdown, latex = (page.with_name(f"board.{kind}").read_text() for kind in ("md", "tex"))
    protected = (
        "Protected: everything that one user holds, against everybody who sees the shared models, but not against the "
        "server, which is trusted with the users' messages and with who takes part in a round. δ is 0.0001 on digits, "
        "shakespeare.\n\n"
    )
    table = "| method | mean rank | digits | shakespeare |\n"
    assert f"## One user, add-or-remove one, every private ε\n\n{protected}{table}" in markdown
    assert f"## One user, add-or-remove one, ε = 4\n\n{table}" in markdown
    assert "| DP-FedAvg | 2.00 [2.00, 2.00] | 61.00 [58.52, 63.48] (2) | 61.00 [58.52, 63.48] (2) |\n" in markdown
    assert (
        "| movielens | test_rmse, smaller is better | not stated | one point, replace one | 0.0001 | 1, 4 | 3 | 16 |"
        in markdown
    )
    assert "- **Not counted in ε.** What the choice of settings reveals" in markdown
    assert "% One user, add-or-remove one, epsilon = 4\n\\begin{tabular}{lrrr}\n" in latex
    assert latex.count(r"\begin{tabular}") == 2 * 4
    assert "70.00 [67.52, 72.48] (1*)" in latex


def test_what_cannot_be_used_is_named_and_the_rest_is_shown(command, tmp_path):
    add_task(tmp_path, "digits", FEW)
    damaged = add_task(tmp_path, "shakespeare", FEW) / "comparison.csv"
    damaged.write_bytes(b"\x00\xff")
    status, out, err = command("board", "--results", tmp_path)
    assert (status, len(out), len(err)) == (0, 1, 1)
    assert err[0].startswith(f"left out: {damaged} ")
    (tmp_path / "board" / "digits" / "protocol.json").unlink()
    status, out, err = command("board", "--results", tmp_path)
    assert (status, out, len(err)) == (2, [], 1)
    assert err[0].startswith("error: ")
    assert "digits is not the folder of a board" in err[0]


def test_an_out_that_cannot_be_written_leaves_nothing(command, tmp_path):
    add_task(tmp_path, "digits", FEW)
    (tmp_path / "taken").write_text("a file")
    (tmp_path / "folder" / "board.md").mkdir(parents=True)
    for out, said in (
        (tmp_path / "taken" / "index.html", f"cannot write {tmp_path / 'taken'}"),
        (tmp_path, "it is a folder; name another file with --out"),
        (tmp_path / "folder" / "index.html", "board.md: it is a folder"),
        (tmp_path / "board" / "board.csv", "which is a table of it"),
    ):
        status, printed, err = command("board", "--results", tmp_path, "--out", out)
        assert (status, printed, len(err)) == (2, [], 1)
        assert said in err[0]
    assert written(tmp_path / "board") == []
    assert written(tmp_path / "folder") == []
