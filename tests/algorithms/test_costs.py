"""What methods say that a round costs: against what a round of the program uses, and against counts by hand."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from slow_cases import cases
from tiny_peers import squared_peers, with_budget
from toy_problems import ALIKE, CLIENTS, EXAMPLES, FEATURES, VARIANTS, least_squares, toy_of

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Cost, Method
from bench.algorithms.parts.counting import used_at_least_once
from bench.errors import InputError
from bench.sweeps.spec import arguments

UNEQUAL = replace(least_squares(), num_examples=jnp.array([6, 2, 4, 1, 3], jnp.int32))
PEERS = squared_peers()
SIZES, NEIGHBORS = np.asarray(PEERS.num_examples), np.asarray(PEERS.peers.graph.num_neighbors)


def cost_of(name: str, task=None, **changes) -> Cost:
    toy = toy_of(name)
    said = ALGORITHMS[name].cost_of_round(task or toy.task(), **arguments(ALGORITHMS[name], toy.args | changes))
    assert said is not None, f"{name} does not say what a round costs: give its Method a `cost`"
    return said


ROUNDING = 3e-6  # of programs whose lanes are computed in different blocks

# ---- Examples: those whose value a round depends on ----


def kept(path) -> bool:
    """Whether a part of the state is the examples themselves."""
    return any(getattr(part, "key", None) in ("records", "inputs") for part in path)


@partial(jax.jit, static_argnames=("make", "static", "rounds"))
def _used(task, hypers, key, *, make, static, rounds):
    """How many examples a round depends on, in each of the rounds of a run."""

    def algorithm(task):
        return make(task, **dict(static), **hypers)

    def moved(which, size):
        """The task with another value of one example."""
        data = task.train if task.network is None else task.network.pool
        inputs = data[0]
        flat = inputs.reshape(size, -1)
        other = jnp.where((jnp.arange(size) == which)[:, None], flat + 0.37, flat).reshape(inputs.shape)
        data = (other, *data[1:])
        if task.network is None:
            return replace(task, train=data)
        return replace(task, network=replace(task.network, pool=data))

    size = int(np.prod(task.train[0].shape[:2])) if task.network is None else len(task.network.pool[1])
    keys = jax.random.split(key, rounds + 1)
    key_start = keys[0]
    start = algorithm(task).init(key_start)

    def step(state, key):
        def after(which):
            other = algorithm(moved(which, size))
            fresh = other.init(key_start)
            mine = jax.tree_util.tree_map_with_path(lambda path, now, new: new if kept(path) else now, state, fresh)
            return other.round(key, mine)[0]

        # The last is no example, so that nothing is moved: the run goes on from there.
        ends = jax.vmap(after)(jnp.arange(size + 1))
        differs = [
            jnp.any((jnp.abs(leaf[:-1] - leaf[-1:]) > ROUNDING).reshape(size, -1), axis=1)
            for path, leaf in jax.tree_util.tree_leaves_with_path(ends.variables)
            if not kept(path)
        ]
        return jax.tree.map(lambda leaf: leaf[-1], ends), jnp.sum(jnp.any(jnp.stack(differs), axis=0))

    return jax.lax.scan(step, start, keys[1:])[1]


def used(name: str, task, rounds: int, **changes) -> np.ndarray:
    method = ALGORITHMS[name]
    args = arguments(method, toy_of(name).args | changes)
    method.fits(task, **args)
    static = tuple(args.items())
    return np.asarray(_used(task, {}, jax.random.key(3), make=method.make, static=static, rounds=rounds))


# Methods whose examples a test below counts, and those that use them as `ppsgd` or `dp_fedavg` does, or all of them.
COUNTED = {"coordinate_descent", "ditto", "dp_scaffold", "fine_tuning", "local_dp", "local_models"}


@pytest.mark.parametrize("name", cases(ALGORITHMS, slow=VARIANTS | ALIKE | COUNTED))
def test_every_method_says_what_a_round_costs_and_uses_so_many_examples(name):
    task, said = toy_of(name).task(), cost_of(name)
    counts = used(name, task, toy_of(name).rounds if name == "localized" else 4)
    chance = 0.2 * said.examples if name in ("admm", "coordinate_descent") else 1e-3
    assert np.mean(counts) == pytest.approx(said.examples, abs=chance)
    assert said.gradients >= said.examples


RANDOM = [
    ("ppsgd", UNEQUAL, {"sampler": "cyclic", "num_sampled": 2, "batch_size": 3}),
    ("dp_scaffold", None, {"sampler": "poisson", "num_sampled": 2, "batch_size": 2, "num_steps": 3}),
    ("coordinate_descent", PEERS, {"num_ticks": 4, "num_awake": 3}),
]
FURTHER = [
    ("dp_fedavg", UNEQUAL, {"sampler": "fixed", "num_sampled": 2, "batch_size": 3, "num_steps": 3}),
    ("ditto", UNEQUAL, {"sampler": "fixed", "num_sampled": 2, "batch_size": 2}),
    ("ppsgd", None, {"sampler": "queue", "num_sampled": 2, "batch_size": 2, "num_epochs": 200}),
    ("mr_mtl", UNEQUAL, {"sampler": "poisson", "batch_size": 2}),
    ("mr_mtl", UNEQUAL, {"sampler": "shuffled", "batch_size": 2}),
    ("dpsgd_fedavg", None, {"batch_size": 2, "num_epochs": 4.0}),
    ("minibatch_sgd", None, {"sampler": "poisson", "batch_size": 2, "num_sampled": 3, "phase_rounds": 200}),
    ("admm", PEERS, {"num_ticks": 3}),
]
RANDOM += [pytest.param(*row, marks=pytest.mark.slow) for row in FURTHER]


@pytest.mark.parametrize(("name", "task", "changes"), RANDOM, ids=lambda value: value if isinstance(value, str) else "")
def test_on_average_a_round_uses_so_many_examples(name, task, changes):
    task = task or toy_of(name).task()
    counts = used(name, task, 120, **changes)
    error = 4 * float(np.std(counts)) / math.sqrt(len(counts))
    assert np.mean(counts) == pytest.approx(cost_of(name, task, **changes).examples, abs=error + 1e-3)


def test_examples_of_repeated_samples():
    rng = np.random.default_rng(0)
    seen = [len({one for _ in range(4) for one in rng.choice(10, 3, replace=False)}) for _ in range(4000)]
    assert used_at_least_once(10, 3, 4) == pytest.approx(np.mean(seen), rel=0.02)
    np.testing.assert_array_equal(used_at_least_once(np.array([0.0, 3.0]), np.array([0.0, 3.0]), 2), [0, 3])


# ---- Uploads and gradients by hand ----

ALL = CLIENTS * EXAMPLES
BY_HAND = [  # name, changes, numbers sent and gradients in a round
    ("dp_fedavg", {"num_steps": 4}, CLIENTS * FEATURES, 4 * ALL),
    ("dp_fedavg", {"sampler": "poisson", "num_sampled": 2, "batch_size": 3}, 2 * FEATURES, 6),
    ("dp_fedavg", {"sampler": "poisson", "num_sampled": 2, "clipping": "adaptive"}, 2 * (FEATURES + 1), 2 * EXAMPLES),
    ("dp_fedavg", {"sampler": "cyclic", "num_sampled": 2}, CLIENTS / 3 * FEATURES, ALL / 3),  # 2, 2 and 1 users
    ("dp_fedopt", {"num_steps": 2}, CLIENTS * FEATURES, 2 * ALL),
    ("dp_fedprox", {}, CLIENTS * FEATURES, 3 * ALL),
    ("dp_fedblur", {}, CLIENTS * FEATURES, 3 * ALL),
    ("dp_fedsam", {"num_steps": 2}, CLIENTS * FEATURES, 2 * 2 * ALL),
    ("dp_fedsmp", {}, CLIENTS * 2, 3 * ALL),  # two of three numbers
    ("dp_fedsmp", {"sampler": "poisson", "num_sampled": 2, "clipping": "adaptive"}, 2 * 3, 2 * 3 * EXAMPLES),
    ("dp_fedls", {}, CLIENTS * FEATURES, ALL),
    ("dp_fedrep", {}, CLIENTS * FEATURES, 8 * ALL),  # three steps of the representation, after five of the head
    ("dp_fedrep", {"order": "together", "num_sampled": 2, "sampler": "fixed"}, 2 * FEATURES, 2 * 3 * EXAMPLES),
    ("ppsgd", {}, CLIENTS * FEATURES, ALL),
    ("ppsgd", {"personalization": 0.0}, 0, ALL),
    ("ppsgd", {"personalization": math.inf, "num_sampled": 2, "sampler": "fixed"}, 2 * FEATURES, 2 * EXAMPLES),
    ("local_learning", {}, 0, ALL / 2),
    ("local_networks", {}, 0, 12),
    ("ditto", {}, CLIENTS * FEATURES, 2 * ALL),
    ("fine_tuning", {"num_steps": 2}, CLIENTS * FEATURES, 2 * ALL),
    ("dp_scaffold", {}, 2 * CLIENTS * FEATURES, 3 * ALL),
    ("dp_scaffold", {"control_variates": False, "num_sampled": 2}, 2 * FEATURES, 2 * 3 * EXAMPLES),
    ("mr_mtl", {"sampler": "shuffled", "batch_size": 4}, CLIENTS * FEATURES, CLIENTS * 4),  # one batch of four
    ("dpsgd_fedavg", {"num_epochs": 4.0}, 3 * 8 / 4, 12),  # three clients with a layer of (3 + 1) x 2, every 4 epochs
    ("minibatch_sgd", {}, CLIENTS * FEATURES, ALL),
    ("minibatch_sgd", {"sampler": "once", "phase_rounds": 3, "num_sampled": 2}, 2 * FEATURES, 4),
    ("minibatch_sgd", {"smoothing": "moreau"}, CLIENTS * FEATURES, 13 * ALL),
    ("accelerated", {"smoothing": "convolution"}, CLIENTS * FEATURES, ALL),
    ("subgradient", {}, CLIENTS * FEATURES, ALL),
    ("local_models", {}, 0, sum(SIZES)),
    ("local_dp", {}, 0, sum(SIZES)),
    ("model_propagation", {"num_ticks": 5}, 5 * np.mean(NEIGHBORS) * 3, 0),
    ("coordinate_descent", {"num_ticks": 5}, 5 * np.mean(NEIGHBORS) * 3, 5 * np.mean(SIZES)),
    ("dp_dsgd", {}, sum(NEIGHBORS) * 3, sum(SIZES)),
]


@pytest.mark.parametrize(("name", "changes", "uploads", "gradients"), BY_HAND)
def test_counted_by_hand(name, changes, uploads, gradients):
    said = cost_of(name, **changes)
    assert said[:2] == pytest.approx((uploads, gradients))


def test_phases_are_averaged_over_the_rounds_of_a_run():
    # 8 records of each of 30 silos: 4 of them in 40 rounds, then 2 in 20.
    said = cost_of("localized", rounds_ratio=0.5)
    records = 30 * (40 * 4 + 20 * 2)
    assert said.of_run(60)[:3] == pytest.approx((60 * 30 * FEATURES, records, records))


def test_own_steps_are_counted_once():
    said = cost_of("fine_tuning", UNEQUAL, num_steps=2, batch_size=3, own_steps=50)
    batches = 3 + 2 + 3 + 1 + 3
    assert said[:3] == pytest.approx((CLIENTS * FEATURES, 2 * batches, batches))
    assert said.of_run(10)[:2] == pytest.approx((10 * CLIENTS * FEATURES, 10 * 2 * batches + 50 * batches))
    assert said.once is not None
    assert said.once.examples == pytest.approx(6 + 2 + 4 + 1 + 3)  # nearly surely all


# ---- Peers, by simulation ----


def totals(name: str, task, rounds: int, **changes) -> dict[str, float]:
    """What the rounds of a run report, added up."""
    args = arguments(ALGORITHMS[name], toy_of(name).args | changes)
    algorithm = ALGORITHMS[name].make(task, **args)
    keys = jax.random.split(jax.random.key(1), rounds + 1)

    @jax.jit
    def run(keys):
        return jax.lax.scan(lambda state, key: algorithm.round(key, state), algorithm.init(keys[0]), keys[1:])[1]

    return {name: float(np.sum(value)) for name, value in run(keys).items()}


@pytest.mark.parametrize(
    ("name", "task", "changes"),
    [
        ("coordinate_descent", PEERS, {"num_ticks": 1}),
        ("coordinate_descent", PEERS, {"num_ticks": 3, "num_awake": 4}),
        ("coordinate_descent", with_budget(PEERS, agent_2=0.0, agent_7=0.0), {"num_ticks": 2, "num_awake": 2}),
        ("model_propagation", PEERS, {"num_ticks": 3}),
        ("admm", PEERS, {"num_ticks": 3}),
        ("dp_dsgd", with_budget(PEERS, agent_2=0.0), {}),
    ],
)
def test_messages_of_peers_are_what_runs_report(name, task, changes):
    reported = totals(name, task, 3000, **changes)["vectors_sent"] * 3
    assert cost_of(name, task, **changes).of_run(3000).uploads == pytest.approx(reported, rel=0.04)


@pytest.mark.parametrize("task", [PEERS, with_budget(PEERS, agent_2=0.0)])
def test_a_run_in_which_clocks_stop_costs_the_updates_that_agents_have(task):
    """Ten agents with four rings each, in rounds of three ticks: 14 rounds, in which everybody updates twice."""
    said = cost_of("coordinate_descent", task, num_ticks=3, max_updates=4, num_updates=2.0).of_run(14)
    speaks = np.asarray(task.peers.budget) > 0
    assert said[:2] == pytest.approx((2 * np.sum(NEIGHBORS[speaks]) * 3, 2 * np.sum(SIZES[speaks])))
    reported = totals("coordinate_descent", task, 14, num_ticks=3, max_updates=4, num_updates=2.0)
    assert said.uploads == pytest.approx(3 * reported["vectors_sent"])


def test_examples_of_a_round_that_holds_every_ring_are_all():
    everything = cost_of("coordinate_descent", PEERS, num_ticks=10, max_updates=1, num_updates=1.0)
    assert everything.examples == pytest.approx(sum(SIZES))
    assert np.all(used("coordinate_descent", PEERS, 1, num_ticks=10, max_updates=1, num_updates=1.0) == sum(SIZES))


def test_starts_cost_once():
    one = cost_of("coordinate_descent", start="propagation", start_noise_multiplier=1.0, clip_norm=1.0).once
    assert one is not None
    assert one[:3] == pytest.approx((sum(NEIGHBORS) * 3, sum(SIZES), sum(SIZES)))
    assert cost_of("coordinate_descent").once is None
    descent, exact = (cost_of("admm", start=start).once for start in ("descent", "local"))
    assert descent is not None
    assert exact is not None
    assert descent.gradients == 100 * sum(SIZES)
    assert exact.gradients == 2 * sum(SIZES)  # squared losses: one step of Newton, and one that stays


# ---- What an outside method may say ----


def test_a_method_that_says_nothing_and_what_is_refused():
    method = ALGORITHMS["local_models"]
    assert method._replace(cost=None).cost_of_round(PEERS) is None
    claims: list[tuple[Any, str]] = [
        (lambda task, **_: 3.0, "give a Cost of numbers of 0 or more"),
        (lambda task, **_: Cost(-1.0, 0.0, 0.0), "give a Cost"),
        (lambda task, **_: Cost(math.nan, 0.0, 0.0), "give a Cost"),
        (lambda task: Cost(0.0, 0.0, 0.0), "`cost` of local_models fails: TypeError"),
    ]
    for wrong, words in claims:
        with pytest.raises(InputError, match=words):
            Method(method.make, method.releases, version=1, cost=wrong).cost_of_round(PEERS, mu=1.0)
