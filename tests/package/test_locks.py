"""The locks name every package that is needed: they are installed in halves, without looking for what others need."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ASKED = {"requirements.lock": PROJECT["dependencies"]}
ASKED["requirements-test.lock"] = ASKED["requirements.lock"] + PROJECT["optional-dependencies"]["test"]


def applies(requirement: Requirement, extra: str = "") -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def needed(asked: list[str]) -> set[str]:
    """The names of what is asked for and of all that it needs, by what is installed here."""
    found, to_do = set(), [(Requirement(one), "") for one in asked]
    while to_do:
        one, extra = to_do.pop()
        name = str(canonicalize_name(one.name))
        if not applies(one, extra) or {(name, each) for each in ("", *one.extras)} <= found:
            continue
        for each in ("", *one.extras):
            found.add((name, each))
            to_do += [(Requirement(text), each) for text in metadata.requires(name) or []]
    return {name for name, _ in found}


def missing(lock: str, asked: list[str]) -> set[str]:
    entries = [Requirement(text.rstrip(" \\")) for text in re.findall(r"^[A-Za-z].*", lock, re.MULTILINE)]
    return needed(asked) - {str(canonicalize_name(one.name)) for one in entries if applies(one)}


@pytest.mark.parametrize("name", ASKED)
def test_a_lock_names_every_package_that_is_needed(name):
    lock = (ROOT / name).read_text()
    assert missing(lock, ASKED[name]) == set()
    assert missing(re.sub(r"^ml-dtypes==", "other==", lock, flags=re.MULTILINE), ASKED[name]) == {"ml-dtypes"}
