"""What the benchmark of DP-SGD steps times against each other does the same work."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench.perf import pfl


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
