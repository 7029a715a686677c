"""The audit sees noise that neighbours share: on agents who all add noise, half of what they share is found out."""

from functools import partial

import pytest

from bench.algorithms import ALGORITHMS
from bench.audit import audit
from bench.audit.subject import subject_of
from bench.audit.text import text_of
from bench.errors import InputError

DP_DSGD = ALGORITHMS["dp_dsgd"]
RATIO = 0.8  # at which half of the shared noise takes a third of all that hides an agent


def declaring(task, *, factor, pair_noise_ratio, **args):
    """What so many times the shared noise would be worth."""
    return DP_DSGD.releases(task, pair_noise_ratio=factor * pair_noise_ratio, **args)


def family_of(ratio: float) -> str:
    given = {"pair_noise_ratio": ratio}
    return subject_of(DP_DSGD, family=None, rounds=2, delta=1e-5, args=given).family


def test_shared_noise_is_tried_where_it_is_shared():
    assert family_of(0.0) == "agents"
    assert family_of(RATIO) == "speakers"
    with pytest.raises(InputError, match="nobody shares noise"):
        subject_of(DP_DSGD, family="agents", rounds=2, delta=1e-5, args={"pair_noise_ratio": RATIO})


@pytest.mark.slow
def test_the_right_shared_noise_passes_and_half_of_it_is_refuted():
    quick = {"rounds": 1, "runs": 6000}
    right = audit(DP_DSGD, args={"pair_noise_ratio": RATIO}, **quick)
    assert not right.refuted, text_of(right)
    (outsiders,) = (finding for finding in right.findings if finding.reading == "paper")
    assert outsiders.epsilon == pytest.approx(3, rel=2e-3)
    assert max(bound.lower_bound for bound in outsiders.bounds) > 1.5
    half = DP_DSGD._replace(releases=partial(declaring, factor=2))
    assert audit(half, args={"pair_noise_ratio": RATIO / 2}, **quick).refuted
