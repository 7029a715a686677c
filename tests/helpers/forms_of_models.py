"""Random parameters in the forms in which methods return linear models, and the model that each client then has."""

import jax.numpy as jnp
import numpy as np

from bench.kernels.sparse import Rows, densify
from bench.models.additive import Additive

FORMS = ("shared", "additive", "dense", "dual")


def parameters_and_models(task, form: str):
    """Parameters of a form, and the models of all clients by hand, float64 [client, output, feature].

    Args:
        task: stores dense inputs and has models [output, feature], or sparse ones with models [feature, output].
        form: "shared": one model for all; "additive": the same, with room for local models; "dense" and "dual": with
            local models, as they are, or as coefficients of the client's training inputs.
    """
    rng, stored = np.random.default_rng(2), task.train[0]
    sparse = isinstance(stored, Rows)
    stored = np.asarray(densify(stored) if sparse else stored, float)
    w = rng.standard_normal(task.init_params.shape)
    real = np.arange(stored.shape[1]) < np.asarray(task.num_examples)[:, None]
    coefficients = rng.standard_normal((*stored.shape[:2], w.shape[1 if sparse else 0])) * real[..., None]
    theta = np.einsum("njk,njd->ndk" if sparse else "njk,njd->nkd", coefficients, stored)
    shared = jnp.asarray(w, jnp.float32)
    local = {
        "shared": {},
        "additive": {},
        "dense": {"theta": jnp.asarray(theta, jnp.float32)},
        "dual": {"coefficients": jnp.asarray(coefficients, jnp.float32)},
    }[form]
    models = w + (theta if local else np.zeros_like(theta))
    return shared if form == "shared" else Additive(shared, **local), models.swapaxes(1, 2) if sparse else models
