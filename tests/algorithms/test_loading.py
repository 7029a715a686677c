"""Methods from files: found by name, refused in one line, never mixed with what an edited file gave before."""

import math
import os
import sys

import pytest

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Method
from bench.algorithms.loading import load_method, undeclared
from bench.errors import InputError
from bench.privacy.accounting import epsilon
from bench.privacy.events import full_gaussian

FILE = """
from bench import Algorithm, Method, Scalar, State
from bench.privacy.events import full_gaussian

def still(task, *, step_size: Scalar):
    return Algorithm(lambda key: State((), 0.0), lambda key, state: (state, {}), lambda state: state.variables)

def other(task, *, step_size: Scalar):
    return still(task, step_size=step_size)

METHOD = Method(still, lambda task, *, delta, **_: full_gaussian(1.0, delta=delta), version=1)
number = 3
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def test_a_name_is_a_built_in_method():
    assert load_method("ppsgd") == ("ppsgd", ALGORITHMS["ppsgd"])


def test_a_file_alone_its_method_and_the_methods_factory_are_the_same(file):
    found = [load_method(f"{file}{name}") for name in ("", ":METHOD", ":still")]
    assert {label for label, _ in found} == {"still"}
    assert len({method.version for _, method in found}) == 1
    assert all(epsilon(method.readings(None, delta=1e-4)["paper"], 1) < math.inf for _, method in found)


def test_an_edited_file_has_another_version(file, monkeypatch):
    """Also where it is as long as before and was changed in the same second, which Python takes for the same file."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = load_method(str(file))[1].version
    when = file.stat().st_mtime
    file.write_text(FILE.replace("0.0", "1.0"))
    os.utime(file, (when, when))
    assert load_method(str(file))[1].version != before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_factory_of_which_nothing_is_said_promises_nothing(file):
    label, method = load_method(f"{file}:other")
    assert label == "other"
    assert method.releases is undeclared
    assert math.isinf(epsilon(method.readings(None, delta=1e-4)["paper"], 1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{file}:nothing", "no method in"),
        ("{file}:number", "is a int"),
        ("{folder}/absent.py", "is not a file"),
        ("{file}x:still", "must be a Python file"),
        ("ppsg", "did you mean ppsgd"),
    ],
)
def test_what_is_no_method_is_refused_with_the_culprit(file, text, words):
    with pytest.raises(InputError, match=words):
        load_method(text.format(file=file, folder=file.parent))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("x = 1 +", "line 1 .*SyntaxError"),
        ("\n1 / 0\n", "line 2 .*ZeroDivision"),
        ("import sys\nsys.exit(0)\n", r"calls sys.exit\(0\) when it is imported: remove that call"),
        (FILE + "\nMETHOD = METHOD._replace(space={'nosuch': [1]})\n", "named in its `space`, is called 'nosuch'"),
        (
            FILE + "\nMETHOD = METHOD._replace(space={'step_size': []})\n",
            "`space` of still has .* for step_size",
        ),
        (FILE + "\nMETHOD = METHOD._replace(make=None)\n", "`make` of a Method is None"),
        (FILE + "\nMETHOD = METHOD._replace(releases=None)\n", "`releases` of still is None"),
    ],
)
def test_a_file_that_does_not_import_is_refused_with_the_line(tmp_path, code, words):
    path = tmp_path / "broken.py"
    path.write_text(code)
    with pytest.raises(InputError, match=words):
        load_method(str(path))


def test_a_space_may_have_lists_and_intervals(file):
    for text in ("[0.1, 1.0]", "(0.1,)", "Interval(0.1, 1.0)"):
        code = FILE.replace("version=1)", f"version=1, space={{'step_size': {text}}})")
        file.write_text(f"from bench.parts import Interval\n{code}")
        assert set(load_method(str(file))[1].space) == {"step_size"}


def test_a_file_with_several_methods_or_none_wants_a_name(file):
    file.write_text(FILE + "\nSECOND = Method(other, None, version=1)\n")
    with pytest.raises(InputError, match="METHOD, SECOND"):
        load_method(str(file))
    file.write_text("x = 1\n")
    with pytest.raises(InputError, match="has no Method"):
        load_method(str(file))


def test_the_suite_s_own_methods_that_a_file_builds_on_are_not_its_own(file):
    file.write_text(f"from bench.parts import ALGORITHMS\nPPSGD = ALGORITHMS['ppsgd']\n{FILE}")
    assert load_method(str(file))[0] == "still"
    file.write_text("from bench.parts import ALGORITHMS\nPPSGD = ALGORITHMS['ppsgd']\n")
    with pytest.raises(InputError, match="has no Method of its own"):
        load_method(str(file))
    assert load_method(f"{file}:PPSGD")[0] == "ppsgd"


def test_one_release_by_itself_is_a_dictionary_of_one():
    release = full_gaussian(1.0, delta=1e-4)
    method = Method(undeclared, lambda task, *, delta: release, version=1)
    assert method.readings(None, delta=1e-4) == {"paper": release}


@pytest.mark.parametrize("said", [None, "much", {}, {"paper": 1.0}])
def test_what_is_no_release_is_refused(said):
    method = Method(undeclared, lambda task, *, delta: said, version=1)
    with pytest.raises(InputError, match="`releases` of undeclared gives"):
        method.readings(None, delta=1e-4)


def test_an_edited_neighbour_that_a_file_imports_changes_its_version(file):
    helper = file.parent / "helper_of_mine.py"
    versions = []
    for number in (1, 2):
        helper.write_text(f"FACTOR = {number}\n")
        file.write_text(FILE + "\nimport helper_of_mine\n")
        sys.modules.pop("helper_of_mine", None)
        versions.append(load_method(str(file))[1].version)
    assert versions[0] != versions[1]


def test_an_error_that_cannot_say_what_it_is_is_one_line_too(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("class E(Exception):\n    def __str__(self):\n        raise ValueError\n\n\nraise E\n")
    with pytest.raises(InputError, match=r"mine\.py, line 6 cannot be imported: E$"):
        load_method(str(path))
