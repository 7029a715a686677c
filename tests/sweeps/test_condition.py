"""Conditions on points: they choose what pandas would, and can do nothing else."""

import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_sweeps import points_of, private_sgd, sweep_of, walks

from bench.errors import InputError
from bench.sweeps.spec import select


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("step_size == 0.05", lambda t: t[t.step_size == 0.05]),
        ("personalization in (1, inf)", lambda t: t[t.personalization.isin([1, np.inf])]),
        ("personalization not in [0.0]", lambda t: t[t.personalization != 0]),
        (
            "0.04 < step_size <= 0.1 and noise_multiplier != 0",
            lambda t: t[(t.step_size < 0.1) & (t.noise_multiplier > 0)],
        ),
        (
            "not (step_size > 0.1) or personalization == inf",
            lambda t: t[(t.step_size < 0.1) | np.isinf(t.personalization)],
        ),
        ("~(step_size > 0.1) & (noise_multiplier < 1)", lambda t: t[(t.step_size < 0.1) & (t.noise_multiplier < 1)]),
        ("sampler == 'fixed' and num_sampled >= -4", lambda t: t),
        ("algorithm == 'PPSGD' and 1 == noise_multiplier", lambda t: t[t.noise_multiplier == 1]),
    ],
)
def test_select_chooses_the_points_that_pandas_would(where, expected):
    pd.testing.assert_frame_equal(
        points_of(select(private_sgd(), where)), expected(points_of(private_sgd())).reset_index(drop=True)
    )


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("step_sise < 1", "did you mean step_size"),
        ("step_size <", "does not parse"),
        ("step_size > 7", "selects none"),
        ("sampler < 3", "compares text with a number"),
        ("step_size", "no comparison"),
        ("step_size == [0.05]", "after `in` only"),
        ("step_size in 0.05", "a list after it"),
        ("step_size == 1 & batch_size == 3", "neither a column nor a value"),
        ("not " * 3000 + "step_size == 1", "does not parse"),
    ],
)
def test_a_bad_condition_is_one_line_with_the_columns(where, said):
    with pytest.raises(InputError, match=said) as caught:
        select(private_sgd(), where)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "where",
    [
        "__import__('os').system('touch {file}')",
        "@pd.io.common.os.system('touch {file}') == 0",
        "[open('{file}', 'w') for x in (1,)] == step_size",
        "(lambda: open('{file}', 'w'))() == step_size",
        "step_size.to_csv('{file}') == 1",
        "step_size == 9**9**9",
        "step_size if open('{file}', 'w') else 1",
    ],
)
def test_a_condition_can_do_nothing_but_choose(where, tmp_path):
    made = tmp_path / "made"
    with pytest.raises(InputError):
        select(private_sgd(), where.format(file=made))
    assert not made.exists()


COLUMNS = ["step_size", "noise_multiplier", "algorithm", "nosuch", "inf", "nan", "seed", "__class__"]
LITERALS = ["0.1", "-1", "'walk'", "''", "None", "[0.1,0.2]", "[]", "('a',)", "{1}", "1j", "b'x'", "...", "1e999"]
OPERATORS = ["<", "==", "!=", ">=", "in", "not in", "is", "=", ":=", "@", "+", "**", "and", "or", "&", "|", ","]
FORMS = ["not {}", "~({})", "-{}", "[{}]", "{}.abs()", "{0}({0})"]
# Letters of several languages, and characters that are no text. Hypothesis would first list all that exist, in seconds.
ANY = string.printable + "äßéİ漢字😀\x00\x7f\x85\u200f\u2028\ufeff\U0010ffff"
NEARLY = st.recursive(
    st.sampled_from([*COLUMNS, *LITERALS]),
    lambda inner: (
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(" ".join)
        | st.tuples(st.sampled_from(FORMS), inner).map(lambda pair: pair[0].format(pair[1]))
    ),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(NEARLY | st.text(ANY, max_size=20))
def test_whatever_is_written_chooses_or_is_refused_in_one_line(where):
    said = ""
    try:
        select(walks(), where)
    except InputError as error:
        said = str(error)
    assert said.isprintable()


@pytest.mark.parametrize("deep", ["(" * 1500 + "step_size < 1" + ")" * 1500, " and ".join(["step_size < 1"] * 400)])
def test_a_long_condition_chooses_or_is_refused(deep):
    test_whatever_is_written_chooses_or_is_refused_in_one_line.hypothesis.inner_test(deep)


def test_a_condition_on_a_column_of_one_method_selects_none_of_the_others():
    sweep = sweep_of(private_sgd().entries | walks().entries)
    assert set(select(sweep, "clip_norm == 10").entries) == {"PPSGD"}
    assert set(select(sweep, "algorithm == 'Walk'").entries) == {"Walk"}
