"""Speeches by role: what is spoken, and nothing of headings and directions."""

from bench.data.dataset import LocalCopy
from bench.data.read import plays

TWO = """# One

## ACT I

### SCENE I. A street.

_Enter ANN_

**ANN**  
_\\[Aside]_  
Who's there?  
Speak, _rising_ now.

_Exit_

**BEN**  
I.

**ANN**  
Ah!

# Two

An address to the reader.

**ANN**  
Good night.

**CID**

_Dies_
"""


def copy(tmp_path, text):
    (tmp_path / "plays.md").write_text(text)
    return LocalCopy("shakespeare", {"plays.md": tmp_path / "plays.md"}, "made up", "0")


def test_roles_of_one_name_in_two_plays_are_two_and_directions_are_not_spoken(tmp_path):
    assert plays.speeches(copy(tmp_path, TWO)) == {
        ("One", "ANN"): ["Who's there?\nSpeak,  now.", "Ah!"],
        ("One", "BEN"): ["I."],
        ("Two", "ANN"): ["Good night."],
    }
