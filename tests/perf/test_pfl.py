"""What the benchmark of DP-SGD steps times against each other does the same work."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench.models.networks import network
from bench.perf import pfl
from bench.perf.counts import count


@pytest.mark.slow
def test_both_programs_make_the_same_step(monkeypatch):
    monkeypatch.setattr(pfl, "POOL", 40)
    module, params, pool = pfl._client(*pfl.SCATTERING)
    rows = jnp.arange(3, 38, dtype=jnp.int32)  # not a multiple of a micro-batch
    key = jax.random.key(1)
    plain, here = (
        pfl._program(clipped_sum, module, params, pool, len(rows))(key, params, pool, rows)
        for clipped_sum in (pfl._plain, pfl._kernel)
    )
    moved = jax.tree.map(lambda new, old: float(jnp.max(jnp.abs(new - old))), here, params)
    assert min(jax.tree.leaves(moved)) > 0.003
    for ours, theirs in zip(jax.tree.leaves(here), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", pfl.COLOUR)
def test_all_examples_of_a_step_are_counted(monkeypatch, name):
    monkeypatch.setattr(pfl, "POOL", 16)
    flops = {}
    for batch in (8, 16):
        monkeypatch.setattr(pfl, "BATCH", batch)
        flops[batch] = pfl.workload(*pfl.COLOUR[name]).work.flops
    dataset, model, shape, _ = pfl.COLOUR[name]
    module = network(dataset, model).module
    params = jax.eval_shape(lambda: module.init(jax.random.key(0), jnp.zeros((1, *shape)))["params"])
    inputs = jax.ShapeDtypeStruct((1, *shape), jnp.float32)
    forward = count(lambda params, x: module.apply({"params": params}, x), params, inputs).flops
    # A forward pass, the gradients in the inputs of all layers but the first, and those in the parameters.
    assert 2.5 * forward < (flops[16] - flops[8]) / 8 < 3.5 * forward
