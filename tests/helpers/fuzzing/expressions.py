"""Conditions for --where: those that mean something, and those that do not."""

import string

from hypothesis import strategies as st

COLUMNS = ["step_size", "noise_multiplier", "algorithm", "nosuch", "inf", "nan", "seed", "__class__"]
LITERALS = ["0.1", "-1", "'walk'", "''", "None", "[0.1,0.2]", "[]", "('a',)", "{1}", "1j", "b'x'", "...", "1e999"]
OPERATORS = ["<", "==", "!=", ">=", "in", "not in", "is", "=", ":=", "@", "+", "**", "and", "or", "&", "|", ","]

# Letters of several languages, and characters that are no text. Hypothesis would first list all that exist, in seconds.
ANY = string.printable + "äßéİ漢字😀\x00\x7f\x85\u200f\u2028\ufeff\U0010ffff"


def expressions() -> st.SearchStrategy[str]:
    """Text that is a condition, nearly one, or none at all."""
    leaves = st.sampled_from([*COLUMNS, *LITERALS])

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, st.sampled_from(OPERATORS), inner).map(" ".join),
            inner.map("not {}".format),
            inner.map("~({})".format),
            inner.map("-{}".format),
            inner.map("[{}]".format),
            st.tuples(inner, inner).map(lambda pair: "{}({})".format(*pair)),
            inner.map("{}.abs()".format),
        )

    grown = st.recursive(leaves, larger, max_leaves=6)
    deep = st.integers(1, 1500).map(lambda depth: "(" * depth + "step_size < 1" + ")" * depth)
    long = st.integers(1, 400).map(lambda count: " and ".join(["step_size < 1"] * count))
    nots = st.integers(1, 1500).map(lambda count: "not " * count + "step_size < 1")
    return st.one_of(grown, st.text(ANY, max_size=20), deep, long, nots)
