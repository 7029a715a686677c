"""Plays in Markdown: a speech begins with a line that names its role in bold, and directions are in italics."""

import re

from bench.data.dataset import LocalCopy

TITLE = re.compile(r"^# (.+)$")
ROLE = re.compile(r"^\*\*(.+?)\*\*\s*$")
DIRECTION = re.compile(r"_[^_]*_")


def speeches(copy: LocalCopy) -> dict[tuple[str, str], list[str]]:
    """Return (play, role) -> the role's speeches in the order of the play, of every play.

    Stage directions, headings and marks of escape are left out; lines of a speech are joined by a new line.

    Args:
        copy: the file plays.md.
    """
    by_role: dict[tuple[str, str], list[str]] = {}
    play = role = None
    for line in copy.files["plays.md"].read_text(encoding="utf-8").splitlines():
        if title := TITLE.match(line):
            play, role = title[1].strip(), None
        elif line.startswith("#"):
            role = None
        elif name := ROLE.match(line):
            role = name[1].strip()
            if play is not None:
                by_role.setdefault((play, role), []).append("")
        elif play is not None and role is not None:
            spoken = DIRECTION.sub("", line).replace("\\", "").strip()
            if spoken:
                texts = by_role[play, role]
                texts[-1] = f"{texts[-1]}\n{spoken}" if texts[-1] else spoken
    return {key: spoken for key, texts in by_role.items() if (spoken := [speech for speech in texts if speech])}
