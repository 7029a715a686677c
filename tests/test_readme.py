"""What the README shows works."""

import re
from pathlib import Path

import pytest

from bench.__main__ import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.mark.usefixtures("quick_compilation")
def test_the_python_of_the_readme_runs_and_gives_tables(tmp_path, monkeypatch):
    code = README.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    assert set(names["rows"]["seed"]) == {0}
    assert set(names["rows"]["step_size"]) == {0.4}
    assert set(names["table"]["target_epsilon"]) >= {1.0, 4.0}
    assert (tmp_path / "results" / "compare" / "mine" / "comparison.png").is_file()


def test_every_file_and_picture_that_the_readme_names_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_command_of_the_readme_exists():
    known = {command.name or command.callback.__name__ for command in app.registered_commands} | {"data"}
    said = set(re.findall(r"python -m bench (\w+)", README))
    assert len(said) >= 8
    assert said - known == set()
