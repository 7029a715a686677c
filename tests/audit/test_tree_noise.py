"""Noise that is correlated between rounds: DP-FTRL (Kairouz et al. 2021), in which the model follows prefix sums of
clipped gradients and the noise of a prefix is that of the nodes of a binary tree.
"""

import pytest
from tree_noise import method

from bench.audit import audit
from bench.audit.text import text_of


@pytest.mark.slow
@pytest.mark.parametrize("takes_part", ["once", "always"])
def test_a_tree_of_half_the_height_is_refuted_and_one_of_the_whole_is_not(takes_part):
    """Half of the height is noise too small by the square root of 2."""
    args = {"takes_part": takes_part, "step_size": 1.0}
    right = audit(method(1.0), args=args)
    assert not right.refuted, text_of(right)
    assert right.findings[0].epsilon == pytest.approx(3, rel=2e-3)
    wrong = audit(method(0.5**0.5), args=args)
    assert wrong.findings[0].epsilon == pytest.approx(3, rel=2e-3)
    assert wrong.refuted, text_of(wrong)


@pytest.mark.slow
def test_what_it_would_have_found_is_found():
    """The power that is printed is that of an audit of a method whose noise is too small by that factor."""
    args = {"takes_part": "once"}
    found = audit(method(1.0), args=args, runs=900)
    (finding,) = found.findings
    assert 1 < finding.unseen_factor < 1.2
    assert f"noise {finding.unseen_factor:.3g} times smaller would have been seen" in text_of(found)
    assert audit(method(1 / finding.unseen_factor / 1.02), args=args, runs=900).refuted
