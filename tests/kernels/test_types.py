"""The annotations of all public kernels: complete, and checked at run time by the hook in tests/conftest.py."""

import importlib
import inspect
import pkgutil

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jaxtyping import TypeCheckError

import bench.kernels
from bench.kernels.graph import Graph
from bench.kernels.linear_network import Linear
from bench.kernels.local_steps import LocalSteps
from bench.kernels.personal import Batch
from bench.kernels.sampling import Queue
from bench.kernels.sparse import Rows

FUNCTIONS = {
    f"{module.name}.{name}": function
    for module in pkgutil.iter_modules(bench.kernels.__path__)
    for name, function in vars(importlib.import_module(f"bench.kernels.{module.name}")).items()
    if inspect.isfunction(function)
    and function.__module__ == f"bench.kernels.{module.name}"
    and not name.startswith("_")
}

KEY = jax.random.key(0)
VECTOR, MATRIX, STACK = jnp.ones(3), jnp.ones((2, 3)), jnp.ones((4, 2, 3))
COUNTS = jnp.ones(4, jnp.int32)
PAIR = Graph(jnp.array([[1], [0]], jnp.int32), jnp.ones((2, 1)), jnp.zeros((2, 1), jnp.int32))
ROWS = Rows(jnp.zeros((2, 1), jnp.int32), jnp.ones((2, 1)), num_features=3)
QUEUE = Queue(jnp.zeros((4, 1, 2), jnp.int32), jnp.zeros(4, jnp.int32))
POOL = jnp.ones((5, 3)), jnp.zeros(5, jnp.int32)
NETWORK = nn.Dense(2)
CLASSIFIER = Linear(jnp.ones((2, 3)), jnp.ones(2), None)
BATCH = Batch(None, jnp.zeros((4, 1), jnp.int32), (jnp.ones((4, 1, 3)),), jnp.ones((4, 1)))


def link(score, target):
    return 0.5 * (score - target) ** 2


WRONG = {  # a call of each function with one argument that is not what it is said to be, and that argument's name
    "division.places_of": ((COUNTS, 2), "mine"),
    "draws.laplace": ((VECTOR,), "key"),
    "draws.normal": ((VECTOR,), "key"),
    "draws.normal_rows": ((KEY, VECTOR, 3), "rows"),
    "draws.two_sided": ((VECTOR, (2,)), "key"),
    "gradient.clip": ((VECTOR.astype(int), 1.0), "tree"),
    "gradient.clip_factor": ((VECTOR, VECTOR), "clip_norm"),
    "gradient.clipped_sum": (({"a": jnp.ones((2, 3)), "b": jnp.ones((3, 3))}, 1.0), "trees"),
    "gradient.clipped_sum_by_layer": (({"a": jnp.ones((2, 3)), "b": jnp.ones((3, 3))}, 1.0), "trees"),
    "gradient.clipped_sum_linear": ((STACK, jnp.ones((4, 2, 5)), jnp.ones((4, 2, 3)), 1.0), "gram"),
    "gradient.gaussian_like": ((VECTOR, VECTOR), "key"),
    "gradient.gaussian_rows_like": ((KEY, [jnp.ones((2, 3)), jnp.ones((3, 3))]), "trees"),
    "gradient.kept": ((jnp.ones(3, bool), jnp.ones((2, 4))), "each"),
    "gradient.linear_norms": ((jnp.ones((4, 2, 5)), STACK), "gram"),
    "gradient.linear_sum": ((STACK, jnp.ones((4, 3, 5))), "residuals"),
    "gradient.norms_of": (({"a": jnp.ones((2, 3)), "b": jnp.ones((3, 3))},), "trees"),
    "gradient.of_batch": ((1.0,), "loss"),
    "gradient.rows_of_finite": ((STACK, jnp.ones((4, 3, 2))), "gram"),
    "gradient.scaled": ((VECTOR, 1.0), "factor"),
    "gradient.weighted_sum": ((STACK, jnp.ones((4, 2)), jnp.ones(4)), "norms"),
    "gradient.noise_scale": ((1.0, VECTOR), "clip_norm"),
    "graph.confidence": ((jnp.ones(4),), "num_examples"),
    "graph.dense": ((jnp.ones((2, 2)),), "graph"),
    "graph.neighbor_sum": ((PAIR, VECTOR), "models"),
    "graph.propagate": ((PAIR, MATRIX, VECTOR), "anchor"),
    "graph.roughness": ((PAIR, VECTOR), "models"),
    "linear.clipped_combination": ((VECTOR, MATRIX, jnp.ones(2), 1.0), "inputs"),
    "linear.clipped_gradient": ((link, VECTOR, MATRIX, VECTOR, jnp.ones(2), 1.0), "targets"),
    "linear.finite_rows": ((VECTOR.astype(int),), "inputs"),
    "linear.lengths": ((VECTOR.astype(int), 1), "inputs"),
    "linear_network.clipped_sums": ((CLASSIFIER, jnp.ones((4, 3)), COUNTS, jnp.ones(5), 1.0), "weight"),
    "linear_network.gradient_of": ((CLASSIFIER, VECTOR), "sums"),
    "local_steps.dense": ((link, VECTOR.astype(int)), "nothing_local"),
    "local_steps.dual": ((STACK,), "gram"),
    "newton.minimizer": ((link, MATRIX, jnp.ones(2), VECTOR, 1.0), "weight"),
    "newton.newton_step": ((link, jnp.ones(2), MATRIX, jnp.ones(2), jnp.ones(2), 1.0), "inputs"),
    "newton.pulled_minimizer": ((link, jnp.ones(3), 1.0, MATRIX, jnp.ones(2), VECTOR, 1.0), "weight"),
    "newton.steps_to_minimizer": ((link, MATRIX, jnp.ones(2), VECTOR, 1.0), "weight"),
    "order.kth_largest": ((MATRIX, 2), "values"),
    "patches.patches": ((jnp.ones((5, 5, 1)), (2, 2), (1, 1), "SAME"), "x"),
    "per_example.clipped_gradient_of_rows": (
        (NETWORK, {}, (POOL[0], POOL[1][:4]), jnp.zeros(2, jnp.int32), 2, 1.0),
        "pool",
    ),
    "per_example.clipped_gradient_sum": ((NETWORK, {}, *POOL, VECTOR, 1.0), "weight"),
    "per_example.cross_entropy": ((MATRIX, COUNTS), "labels"),
    "per_example.micro_batch": ((1.5,), "widest"),
    "personal.clients_of": ((STACK, BATCH), "gram"),
    "personal.dense": ((link, VECTOR.astype(int), 3), "init_local"),
    "personal.dual": ((STACK, 1), "gram"),
    "personal.local_scores": ((jnp.ones((4, 2, 2)), jnp.ones((4, 3, 1)), BATCH), "local"),
    "personal.shared_scores": ((STACK, VECTOR), "w"),
    "personal.within": ((STACK, BATCH), "gram"),
    "platforms.by_platform": ((link, 1.0, VECTOR), "accelerator"),
    "platforms.in_turn": ((1.0,), "function"),
    "platforms.over_clients": ((1.0, VECTOR, MATRIX), "function"),
    "platforms.only": ((1.0, True), "function"),
    "platforms.unless": ((jnp.ones(3, bool), link, link), "rare"),
    "proximal.project_ball": ((VECTOR, jnp.ones(2), 1.0), "center"),
    "proximal.proximal_step": ((VECTOR, (VECTOR, jnp.ones(2)), (1.0, 1.0), VECTOR, 1.0), "anchors"),
    "sampling.bins": ((COUNTS, 4, 2), "key"),
    "sampling.distinct_rows": ((KEY, MATRIX, 5, 2), "num_examples"),
    "sampling.dealt": ((COUNTS, 4, 2), "key"),
    "sampling.fixed_size": ((COUNTS, 4, 2), "key"),
    "sampling.fixed_size_of": ((KEY, COUNTS, 2), "allowed"),
    "sampling.poisson": ((KEY, 4.5, 0.5, 4), "num_clients"),
    "sampling.poisson_bound": (("4", 0.5), "num_clients"),
    "sampling.poisson_in_order": ((KEY, 4, 0.5, None), "bound"),
    "sampling.queue_draw": ((KEY, QUEUE, jnp.ones(4), 2), "num_blocks"),
    "sampling.queue_rounds": (([3, 3], 1.5, 1), "num_epochs"),
    "sampling.full_queue_rounds": (([3, 3], 1.5, 1), "num_epochs"),
    "sampling.queue_start": ((KEY, jnp.ones(4), 1, 2), "num_blocks"),
    "sampling.queued_blocks": ((QUEUE.order, jnp.ones(2), COUNTS, COUNTS), "clients"),
    "sampling.uniform_rows": ((KEY, 0, 2, 1.5), "width"),
    "smoothing.moreau_slopes": ((link, VECTOR, jnp.ones(2), VECTOR, 3), "targets"),
    "smoothing.uniform_ball": ((KEY, 3), "shape"),
    "sparse.densify": ((MATRIX,), "rows"),
    "sparse.product": ((ROWS, jnp.ones((4, 2))), "model"),
    "sparse.transposed_product": ((ROWS, jnp.ones((2, 2), jnp.int32)), "coefficients"),
    "threefry.at_places": ((KEY, VECTOR), "places"),
    "threefry.bits": ((VECTOR, (2,)), "key"),
    "threefry.counts_places": ((VECTOR,), "key"),
    "threefry.fraction": ((VECTOR,), "words"),
    "threefry.places_in_rows": ((VECTOR, 2), "rows"),
    "threefry.uniform_at_rows": ((KEY, VECTOR, 2), "rows"),
    "threefry.uniform": ((KEY, 3), "shape"),
    "user_gradients.of_linear": ((STACK, MATRIX, BATCH), "gram"),
    "user_gradients.of_loss": ((link, VECTOR.astype(int), VECTOR, BATCH), "nothing_local"),
}
KEYWORDS = {name: {"local": LocalSteps(1.0, 2)} for name in ("local_steps.dense", "local_steps.dual")}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_and_result_says_what_it_is(name):
    function = FUNCTIONS[name]
    signature = inspect.signature(function)
    said = [parameter.annotation for parameter in signature.parameters.values()] + [signature.return_annotation]
    assert inspect.Signature.empty not in said
    assert not any(annotation is Array for annotation in said), "an array without its shape"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_another_shape_or_type_is_refused(name):
    args, parameter = WRONG[name]
    with pytest.raises(TypeCheckError, match=f"whilst typechecking parameter '{parameter}'"):
        FUNCTIONS[name](*args, **KEYWORDS.get(name, {}))


def test_results_are_checked_too(monkeypatch):
    monkeypatch.setattr(bench.kernels.gradient.jnp, "where", lambda *_: np.ones(3))
    with pytest.raises(TypeCheckError, match="return value"):
        FUNCTIONS["gradient.noise_scale"](1.0, 1.0)
