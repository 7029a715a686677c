"""Who takes part in a round."""

from bench.algorithms.parts.samplers import BY_NAME
from bench.algorithms.parts.user_level import SAMPLERS


def test_every_sampler_that_arguments_may_name_can_be_drawn():
    assert [*BY_NAME] == [*SAMPLERS]
