"""The noise of MR-MTL on School keeps every silo within its budget, and wastes little of it."""

import dataclasses
import math

import jax.numpy as jnp
import pytest

from bench.algorithms.mr_mtl import releases
from bench.data.tasks.school import made_up_schools
from bench.papers.mrmtl.sweeps import BATCH_SIZE, DELTA, EPSILONS, ROUNDS, mrmtl_school, noise
from bench.privacy.accounting import epsilon

SIZES = [17, 33, 40, 63, 64, 95, 96, 127, 200]  # just before and after another batch, and the smallest and largest


@pytest.mark.parametrize("target", [EPSILONS[0], EPSILONS[-1]])
def test_every_silo_keeps_within_epsilon(target):
    task = dataclasses.replace(made_up_schools(0, num_schools=len(SIZES)), num_examples=jnp.asarray(SIZES, jnp.int32))
    found = releases(task, delta=DELTA, noise_multiplier=noise(target), batch_size=BATCH_SIZE, sampler="poisson")
    assert 0.97 * target < epsilon(found["paper"], ROUNDS) <= target
    assert epsilon(found["tight"], ROUNDS) < target


def test_without_a_budget_there_is_no_noise():
    assert noise(math.inf) == 0


def test_all_three_methods_have_the_same_cells():
    sweep = mrmtl_school("laptop")
    cells = ["target_epsilon", "sampler", "step_size", "noise_multiplier"]
    of = {name: entry.points[cells].drop_duplicates().to_numpy().tolist() for name, entry in sweep.entries.items()}
    assert of["MR-MTL"] == of["FedAvg"] == of["Local"]
    assert (sweep.entries["MR-MTL"].points["regularization"] > 0).all()
    assert set(sweep.entries["FedAvg"].points["start"]) == {"mean"}
