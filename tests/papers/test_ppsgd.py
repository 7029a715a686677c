"""Sweeps of Bietti et al.: where the schedule of queues is evaluated last, and step sizes beyond the published grid."""

from types import SimpleNamespace

import numpy as np
import pytest

from bench.kernels.sampling import full_queue_rounds, queue_rounds
from bench.papers import SWEEPS
from bench.papers.ppsgd import sweeps
from bench.sweeps.grids import with_grid

UNEQUAL = SimpleNamespace(num_examples=np.r_[[10] * 40, [30] * 20, [400] * 3])
ARGS = {"batch_size": 10, "num_epochs": 2, "num_sampled": 5}


@pytest.mark.parametrize("every", [1, 7, 10])
def test_the_last_evaluation_is_before_the_tail(every):
    """Three users have most of the data: three quarters of all rounds have fewer than five users."""
    rounds = sweeps._evaluated_rounds(UNEQUAL, ARGS, every)
    full = full_queue_rounds(UNEQUAL.num_examples // 10, 2, 5)
    assert full < queue_rounds(UNEQUAL.num_examples // 10, 2, 5) / 2
    assert rounds % every == 0
    assert full - every < rounds <= full


def test_data_of_fewer_rounds_are_evaluated_once():
    few = SimpleNamespace(num_examples=np.array([10] * 6))
    assert sweeps._evaluated_rounds(few, ARGS, 500) == 500


@pytest.mark.parametrize(
    ("name", "step", "noisy"),
    [
        ("ppsgd_digits", "step_size", 1.0),
        ("ppsgd_tags", "step_size", 1.0),
        ("ppsgd_tags_made_up", "step_size", 1.0),
        ("ppsgd_cnn", "legend_step_size", 0.3),
    ],
)
def test_step_sizes_beyond_the_published_grid_stand_apart_and_give_way_to_own_grids(name, step, noisy):
    sweep = SWEEPS[name]("laptop")
    published, further = (sweep.entries[label].points for label in ("PPSGD", "PPSGD, further step sizes"))
    tried = published[step]
    small = further[step] < tried.min()
    assert (small | (further[step] > tried.max())).all()
    assert (further.loc[small, "noise_multiplier"] >= noisy).all()
    assert (further.loc[~small, "noise_multiplier"] < noisy).all()
    assert (further["personalization"] > 0).all()
    columns = [column for column in published if column not in (step, "step_size")]
    settings = published[columns].drop_duplicates()
    assert len(further[columns].drop_duplicates().merge(settings)) == len(further[columns].drop_duplicates())
    assert "PPSGD, further step sizes" not in with_grid(sweep, {step: [1.0]}).entries


def test_the_network_has_the_steps_of_its_program_beyond_the_published_grid_too():
    points = SWEEPS["ppsgd_cnn"]("laptop").entries["PPSGD, further step sizes"].points
    a, s = points["legend_personalization"], points["legend_step_size"]
    eta_w, eta_theta = s * np.minimum(a, 1), 10 * s / np.maximum(a, 1)
    np.testing.assert_allclose(points["personalization"], a / 10)
    np.testing.assert_allclose(points["step_size"], np.maximum(eta_w, eta_theta))
