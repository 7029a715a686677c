"""Descriptions of Debian's packages with their tags, by the person who maintains them.

They are made once from a release's index: one line of JSON a package, with addresses replaced by a hash.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from bench.data.dataset import LocalCopy

PERSON = re.compile(r"([^,<]*)<([^>]*)>")
TEAM = re.compile(
    r"team|group|lists\.|packagers|maintainers|@packages\.|task ?force|qa\.debian|-devel|tracker\.debian|pkg-",
    re.IGNORECASE,
)
BRACES = re.compile(r"([^,{]*)\{([^}]*)\}")  # devel::{doc,library} stands for two tags


class DebianPackage(NamedTuple):
    """One package.

    person: hash of the address of the first maintainer or uploader who is a person, not a team.
    source: the source package; packages of one source share text.
    name: of the package.
    text: its description in English, synopsis and long text.
    tags: its debtags.
    """

    person: str
    source: str
    name: str
    text: str
    tags: tuple[str, ...]


def distil(name: str, packages: bytes, translation: bytes, sources: bytes) -> bytes:
    """Return the canonical file: a JSON line, by name, for each package with tags, an English description and a person.

    Args:
        name: canonical.
        packages, translation, sources: the index files Packages, Translation-en and Sources.
    """
    text: dict[tuple[str, str | None], str] = {
        (d["Package"], d["Description-md5"]): d["Description-en"] for d in stanzas(translation)
    }
    people = {d["Package"]: f"{d.get('Maintainer', '')}, {d.get('Uploaders', '')}" for d in stanzas(sources)}
    lines = {}
    for d in stanzas(packages):
        source = d.get("Source", d["Package"]).split(" ")[0]
        person = _person(people.get(source) or d.get("Maintainer", ""))
        description = text.get((d["Package"], d.get("Description-md5")))
        if "Tag" in d and person and description:
            hashed = hashlib.blake2b(person.encode(), digest_size=8).hexdigest()
            row = DebianPackage(hashed, source, d["Package"], description, tuple(_tags(d["Tag"])))
            lines[d["Package"]] = json.dumps(row)
    return "".join(f"{lines[package]}\n" for package in sorted(lines)).encode()


def documents(copy: LocalCopy) -> list[DebianPackage]:
    """Return the packages of the canonical file, in its order."""
    (path,) = copy.files.values()
    lines = path.read_text(encoding="utf-8").splitlines()
    return [DebianPackage._make([*fields, tuple(tags)]) for *fields, tags in map(json.loads, lines)]


def stanzas(index: bytes) -> Iterator[dict[str, str]]:
    """Yield the stanzas of an index as field -> value, with continued lines joined by line breaks."""
    for block in index.decode().split("\n\n"):
        fields: dict[str, str] = {}
        field = ""
        for line in block.splitlines():
            if line[:1] in (" ", "\t"):
                fields[field] += "\n" + line[1:]
            elif line:
                field, _, value = line.partition(":")
                fields[field] = value.strip()
        if fields:
            yield fields


def _person(people: str) -> str:
    """Return the first address of a person; empty where all are teams' addresses."""
    addresses = PERSON.findall(people.replace("\n", " "))
    return next((address.strip().lower() for name, address in addresses if not TEAM.search(f"{name} {address}")), "")


def _tags(field: str) -> list[str]:
    spelt = BRACES.sub(lambda m: ",".join(m[1].strip() + ending.strip() for ending in m[2].split(",")), field)
    return [tag.strip() for tag in spelt.replace("\n", " ").split(",") if tag.strip()]
