"""DP-SGD + FedAvg equals plain loops, its special cases coincide, and its privacy is what it says."""

import dataclasses
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tiny_networks import loss, task

from bench.algorithms import ALGORITHMS
from bench.algorithms.dpsgd_fedavg import METHOD
from bench.algorithms.parts.local_dpsgd import FAILURE, local_release, releases
from bench.errors import InputError
from bench.kernels import sampling
from bench.kernels.gradient import gaussian_rows_like
from bench.privacy.accounting import epsilon, noise_multiplier
from bench.sweeps import engine
from bench.sweeps.spec import arguments, parameters

SETTINGS = {"total_epochs": 2, "batch_size": 5, "step_size": 0.3, "momentum": 0.5}
MEMBERS = np.stack([np.random.default_rng(client).permutation(24)[:12] for client in range(3)])


def trained(task, method=METHOD, **args):
    """The models after the last epoch, by the program that sweeps use; without momentum where the method has none."""
    without = {"momentum"} - parameters(method)[0].keys()
    args = arguments(method, {name: value for name, value in (SETTINGS | args).items() if name not in without})
    traced = {name: jnp.array([args.pop(name)]) for name in parameters(method)[1]}
    program = engine.Program(method.make, tuple(sorted(args.items())), 1)
    key = engine.run_keys(jnp.array([0]), jnp.array([0]))
    state, _ = engine.start(task, key, traced, program=program)
    for epoch in range(args["total_epochs"]):
        state, *_ = engine.advance(task, key, traced, state, jnp.int32(epoch), program=program)
    algorithm = program.algorithm(task, {name: value[0] for name, value in traced.items()})
    params = algorithm.params(engine.State((), jax.tree.map(lambda leaf: leaf[0, 0], state.variables)))
    return getattr(params, "theta", params)


def assert_close(got, want, rtol=2e-4, atol=2e-5):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def by_loops(
    task,
    *,
    num_epochs,
    clip_norm,
    noise_multiplier,
    sampler,
    total_epochs,
    batch_size,
    step_size,
    momentum,
    pull=0.0,
    server_step=None,
    own=False,
    variates=False,
    clipping="flat",
):
    """The method with one client, one batch and one example at a time, and the same randomness.

    pull: towards the server's model. server_step: makes the server's, (w, mean) -> w; None takes the mean. own:
    whether clients keep their models, which are then returned, and not the server's. variates: whether clients keep
    control variates.
    """
    step = server_step() if server_step else lambda w, mean: mean
    size, steps = task.train.shape[1], math.ceil(task.train.shape[1] / batch_size)
    grad = jax.jit(jax.grad(lambda params, x, y: loss(params, None, (x, y))))

    def add(a, b):
        return jax.tree.map(np.add, a, b)

    def times(a, factor):
        return jax.tree.map(lambda leaf: np.asarray(leaf) * np.float32(factor), a)

    def squared(leaf):
        return float(np.sum(np.square(leaf)))

    server = jax.tree.map(np.asarray, task.init_params)
    models = [server] * task.num_clients
    of_clients, of_all, seen = [times(server, 0)] * task.num_clients, times(server, 0), []
    run = engine.run_key(0, 0)
    for epoch in range(total_epochs):
        if epoch % num_epochs == 0:
            seen = [[] for _ in models]
            models = models if own else [server] * task.num_clients
            speeds = [times(server, 0)] * task.num_clients
        key = jax.random.fold_in(jax.random.fold_in(run, engine.ROUNDS), epoch)
        for batch in range(steps):
            key_batch, key_noise = jax.random.split(jax.random.fold_in(key, batch))
            everybody = jax.tree.map(lambda leaf: jnp.zeros((task.num_clients, *leaf.shape)), server)
            noise = gaussian_rows_like(key_noise, everybody)
            for client, members in enumerate(np.asarray(task.train)):
                if sampler == "in_order":
                    rows = range(batch * batch_size, min(size, (batch + 1) * batch_size))
                    divisor = len(rows)
                else:
                    rate, mine = 1 / steps, jax.random.fold_in(key_batch, client)
                    bound = sampling.poisson_bound(size, rate, FAILURE)
                    places, count = sampling.poisson_in_order(mine, size, rate, bound)
                    rows, divisor = np.asarray(places)[: int(count)], size // steps
                total = times(server, 0)
                for row in rows:
                    one = grad(models[client], *(leaf[members[row]] for leaf in task.network.pool))
                    parts = one if clipping == "per_layer" else {"all": one}
                    bound = clip_norm / math.sqrt(len(parts))
                    kept = {
                        name: times(part, min(1, bound / math.sqrt(sum(map(squared, jax.tree.leaves(part))))))
                        for name, part in parts.items()
                    }
                    total = add(total, kept if clipping == "per_layer" else kept["all"])
                if noise_multiplier:
                    mine = jax.tree.map(lambda leaf, client=client: leaf[client], noise)
                    total = add(total, times(mine, noise_multiplier * clip_norm))
                towards = times(add(models[client], times(server, -1)), pull)
                seen[client].append(times(total, 1 / divisor))
                if variates:
                    towards = add(towards, add(of_all, times(of_clients[client], -1)))
                speeds[client] = add(times(speeds[client], momentum), add(times(total, 1 / divisor), towards))
                models[client] = add(models[client], times(speeds[client], -step_size))
        if (epoch + 1) % num_epochs == 0:
            mean = jax.tree.map(lambda *leaves: np.mean(leaves, 0), *models)
            server = step(server, mean)
            means = [jax.tree.map(lambda *leaves: np.mean(leaves, 0), *ours) for ours in seen]
            changes = [add(new, times(old, -1)) for new, old in zip(means, of_clients, strict=True)]
            of_all = add(of_all, jax.tree.map(lambda *leaves: np.mean(leaves, 0), *changes))
            of_clients = means
    return jax.tree.map(lambda *leaves: np.stack(leaves), *models) if own else server


PRIVATE = {"sampler": "poisson", "clip_norm": 0.5, "noise_multiplier": 0.7}
SILENT = {"sampler": "in_order", "clip_norm": math.inf, "noise_multiplier": 0.0}


def adam_in_numpy(beta1, beta2, tau, step_size):
    """The server of FedAdam (Reddi et al. 2021, Algorithm 2), for the gradient w - mean."""
    memory = {}

    def step(w, mean):
        found = []
        for place, (at, to) in enumerate(zip(jax.tree.leaves(w), jax.tree.leaves(mean), strict=True)):
            first, second = memory.get(place, (0.0, tau**2))
            first, second = beta1 * first + (1 - beta1) * (at - to), beta2 * second + (1 - beta2) * (at - to) ** 2
            memory[place] = first, second
            found.append(at - step_size * first / (np.sqrt(second) + tau))
        return jax.tree.unflatten(jax.tree.structure(w), found)

    return step


def adamw_by_loops(tiny, *, beta1, beta2, tau, alignment, decay, total_epochs, num_epochs):
    """DP-FedAdamW with full batches in float64, for the noise and the gradients that the program has: `noise` and
    `sums` are recomputed from the same keys."""
    size = tiny.train.shape[1]
    grad = jax.jit(jax.grad(lambda params, x, y: loss(params, None, (x, y))))
    leaves = lambda tree: [np.asarray(leaf, float) for leaf in jax.tree.leaves(tree)]  # noqa: E731
    structure, w = jax.tree.structure(tiny.init_params), leaves(tiny.init_params)
    clients = range(tiny.num_clients)
    step_size, clip, sigma = SETTINGS["step_size"], PRIVATE["clip_norm"], PRIVATE["noise_multiplier"]
    moved, t = [np.zeros_like(leaf) for leaf in w], 0
    models = [list(w) for _ in clients]
    first, second = ([[np.zeros_like(leaf) for leaf in w] for _ in clients] for _ in range(2))
    run, k = engine.run_key(0, 0), 0
    for epoch in range(total_epochs):
        key = jax.random.fold_in(jax.random.fold_in(run, engine.ROUNDS), epoch)
        _, key_noise = jax.random.split(jax.random.fold_in(key, 0))
        shapes = jax.tree.map(lambda leaf: jnp.zeros((tiny.num_clients, *leaf.shape)), tiny.init_params)
        noise = leaves(gaussian_rows_like(key_noise, shapes))
        k, t = k + 1, t + 1
        for client in clients:
            total = [np.zeros_like(leaf) for leaf in w]
            params = jax.tree.unflatten(structure, [jnp.asarray(leaf, jnp.float32) for leaf in models[client]])
            for row in np.asarray(tiny.train[client]):
                g = leaves(grad(params, *(leaf[row] for leaf in tiny.network.pool)))
                factor = min(1.0, clip / math.sqrt(sum(float(np.sum(leaf**2)) for leaf in g)))
                total = [a + factor * b for a, b in zip(total, g, strict=True)]
            for place, leaf in enumerate(total):
                g = (leaf + sigma * clip * noise[place][client]) / size
                m = first[client][place] = beta1 * first[client][place] + (1 - beta1) * g
                v = second[client][place] = beta2 * second[client][place] + (1 - beta2) * g**2
                unbiased = np.maximum(v / (1 - beta2**t) - (sigma * clip / size) ** 2, 0)
                direction = m / (1 - beta1**k) / (np.sqrt(unbiased) + tau)
                at = models[client][place]
                models[client][place] = at - step_size * (direction + alignment * moved[place] + decay * at)
        if (epoch + 1) % num_epochs == 0:
            mean = [np.mean([models[client][place] for client in clients], 0) for place in range(len(w))]
            moved = [(a - b) / (step_size * num_epochs) for a, b in zip(w, mean, strict=True)]
            w, k, models = mean, 0, [list(mean) for _ in clients]
            blocks = [np.mean([second[client][place].mean() for client in clients]) for place in range(len(w))]
            first = [[np.zeros_like(leaf) for leaf in w] for _ in clients]
            second = [[np.full_like(leaf, block) for leaf, block in zip(w, blocks, strict=True)] for _ in clients]
    return w


@pytest.mark.parametrize("num_epochs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_the_steps_of_adamw_equal_loops(num_epochs):
    """At sampling rate 1, over four epochs: moments that go on, their correction for the noise, and the alignment."""
    tiny, own = task(MEMBERS), {"beta1": 0.8, "beta2": 0.9, "tau": 0.05, "alignment": 0.5, "decay": 0.1}
    how = PRIVATE | {"total_epochs": 4, "num_epochs": num_epochs, "batch_size": 12, "step_size": 0.02}
    got = trained(tiny, ALGORITHMS["dpsgd_fedadamw"], **how, **own)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SETTINGS, "step_size", 0.02)
        want = adamw_by_loops(tiny, **own, total_epochs=4, num_epochs=num_epochs)
    assert_close(got, want, rtol=2e-3, atol=2e-4)


ADAM = {"server_step_size": 0.05, "beta1": 0.5, "beta2": 0.9, "tau": 0.01}
EQUAL = [  # method, arguments of both, of the method, of the loops
    ("dpsgd_fedavg", {}, {}, {}),
    ("dpsgd_fedavg", SILENT | {"sampler": "poisson"}, {}, {}),
    ("dpsgd_fedavg", {"clipping": "per_layer"}, {}, {}),
    ("dpsgd_mrmtl", {}, {"regularization": 0.8}, {"pull": 0.8, "own": True}),
]
FURTHER = [
    ("dpsgd_fedavg", SILENT, {}, {}),
    ("dpsgd_fedopt", {}, ADAM | {"optimiser": "adam"}, {"server_step": partial(adam_in_numpy, 0.5, 0.9, 0.01, 0.05)}),
    ("dpsgd_fedprox", {}, {"proximal": 0.8}, {"pull": 0.8}),
    ("dpsgd_scaffold", {}, {}, {"variates": True, "momentum": 0.0}),
]


@pytest.mark.parametrize("num_epochs", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize(
    ("name", "both", "args", "plain"), EQUAL + [pytest.param(*row, marks=pytest.mark.slow) for row in FURTHER]
)
def test_equals_loops_over_clients_batches_and_examples(name, both, args, plain, num_epochs):
    """Over four epochs, so that clients start from a model that the server has made, and from a pull that is not 0."""
    tiny, both = task(MEMBERS), PRIVATE | {"total_epochs": 4, "num_epochs": num_epochs} | both
    got = trained(tiny, ALGORITHMS[name], **both, **args)
    assert_close(got, by_loops(tiny, **SETTINGS | both | plain))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("dpsgd_fedopt", {"optimiser": "momentum", "beta1": 0.0, "server_step_size": 1.0}),
        ("dpsgd_fedprox", {"proximal": 0.0}),
    ],
)
def test_special_cases_are_fedavg(name, args):
    tiny, longer = task(MEMBERS), PRIVATE | {"total_epochs": 4, "num_epochs": 2}
    assert_close(trained(tiny, ALGORITHMS[name], **longer, **args), trained(tiny, **longer), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_control_variates_cancel_in_the_mean_with_one_step_in_a_round_and_not_with_two():
    once = PRIVATE | {"total_epochs": 4, "batch_size": 12, "momentum": 0.0}
    for num_epochs in (1, 2):
        args = once | {"num_epochs": num_epochs}
        models = (trained(task(MEMBERS), method, **args) for method in (ALGORITHMS["dpsgd_scaffold"], METHOD))
        with_variates, without = (np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(one)]) for one in models)
        apart = np.abs(with_variates - without).max()
        assert apart < 1e-5 if num_epochs == 1 else apart > 1e-4


@pytest.mark.parametrize("name", ["dpsgd_fedopt", "dpsgd_fedprox", "dpsgd_mrmtl"])
def test_releases_and_costs_are_those_of_fedavg(name):
    """Servers and pulls compute from what is public, so they neither cost nor save privacy."""
    args = SETTINGS | PRIVATE | {"num_epochs": 1.0}
    tiny, other = task(MEMBERS), ALGORITHMS[name]
    theirs, ours = (
        method.readings(tiny, delta=1e-5, **arguments(method, args | extra))
        for method, extra in ((METHOD, {}), (other, {"regularization": 0.8} if name == "dpsgd_mrmtl" else {}))
    )
    assert {key: epsilon(release, 4) for key, release in ours.items()} == {
        key: epsilon(release, 4) for key, release in theirs.items()
    }
    assert other.cost is METHOD.cost


def test_noise_is_scaled_for_the_sum():
    """With gradients clipped to almost nothing one step moves the model by noise alone: sigma C / floor(q n)."""
    tiny = task(np.tile(np.arange(24), (200, 1)))
    args = {"total_epochs": 2, "num_epochs": 2.0, "batch_size": 24, "step_size": 1.0, "momentum": 0.0}
    algorithm = METHOD.make(tiny, sampler="poisson", clip_norm=1e-3, noise_multiplier=50.0, **args)
    state, _ = jax.jit(algorithm.round)(jax.random.key(4), algorithm.init(jax.random.key(0)))
    theta, start = (jax.tree.leaves(tree) for tree in (state.variables[0], tiny.init_params))
    moved = np.concatenate(
        [np.ravel(np.asarray(leaf) - np.asarray(first)) for leaf, first in zip(theta, start, strict=True)]
    )
    assert moved.std() == pytest.approx(50.0 * 1e-3 / 24, rel=0.02)


@pytest.mark.parametrize(
    ("num_examples", "target", "pld", "rdp"),
    [
        (6000, 2.93, 0.9595, 1.008),
        (6000, 1.2, 1.660, 1.777),
        (6000, 2.7, 0.9985, 1.050),
        (5000, 7.53, 0.6854, 0.7156),
        (5000, 3.0, 0.9973, 1.049),
        pytest.param(60_000, 2.93, 0.612, 0.655, marks=pytest.mark.slow),
        pytest.param(60_000, 2.7, 0.624, 0.672, marks=pytest.mark.slow),
        pytest.param(50_000, 7.53, 0.496, 0.517, marks=pytest.mark.slow),
    ],
)
def test_noise_is_that_of_opacus(num_examples, target, pld, rdp):
    """The values of Opacus 1.5.3 by its PRV and RDP accountants, 20 epochs of batches of 64, delta 1e-5."""

    def release(accountant):
        return lambda sigma: local_release(
            sigma, num_examples=num_examples, batch_size=64, delta=1e-5, accountant=accountant
        )

    assert noise_multiplier(target, release("pld"), 20) == pytest.approx(pld, rel=0.02)
    assert noise_multiplier(target, release("rdp"), 20) == pytest.approx(rdp, rel=0.01)


def epsilons(members, epochs, **changes):
    args = {"noise_multiplier": 1.0, "batch_size": 4, "sampler": "poisson"} | changes
    claims = releases(task(members), delta=1e-5, **args)
    return {name: epsilon(claim, epochs) for name, claim in claims.items()}


def test_epsilon_counts_every_step_and_every_copy():
    disjoint = epsilons(np.arange(24).reshape(3, 8), 2)
    assert disjoint["worst"] == disjoint["average"] == disjoint["paper"] < disjoint["rdp"]
    # Twice the epochs are twice the steps, and two clients with the same example are as two runs.
    assert epsilons(np.tile(np.arange(8), (2, 1)), 2)["worst"] == epsilons(np.arange(8)[None], 4)["paper"]
    mixed = epsilons(
        np.array([[0, 1, 2, 3, 4, 5, 6, 7], [0, 8, 9, 10, 11, 12, 13, 14], [0, 1, 2, 3, 15, 16, 17, 18]]), 3
    )
    assert mixed["paper"] < mixed["average"] < mixed["worst"]
    assert mixed["paper"] == epsilons(np.arange(8)[None], 3)["paper"]  # which the overlap does not enter
    assert mixed["worst"] == epsilons(np.tile(np.arange(8), (3, 1)), 3)["worst"]


def test_average_is_at_least_the_mean_over_examples():
    members = np.stack([np.random.default_rng(k).permutation(24)[:8] for k in range(9)])
    copies = np.bincount(members.ravel())
    single = [epsilons(np.tile(np.arange(8), (c, 1)), 2)["worst"] for c in copies if c]
    assert np.mean(single) <= epsilons(members, 2)["average"] <= np.max(single)


@pytest.mark.parametrize(("num_examples", "target"), [(6000, 1.2), (6000, 2.93), (5000, 7.53)])
def test_batches_that_do_not_fit_their_places_cost_a_hundredth_of_delta_at_most(num_examples, target):
    steps = math.ceil(num_examples / 64)
    places = sampling.poisson_bound(num_examples, 1 / steps, FAILURE)
    assert places < 3 * num_examples / steps  # or else this saves nothing
    exceeded = stats.binom.sf(places, num_examples, 1 / steps)
    assert 0 < (1 + math.exp(target)) * 20 * steps * exceeded < 0.01 * 1e-5


def test_without_noise_or_poisson_nothing_is_promised():
    assert set(epsilons(MEMBERS, 1, noise_multiplier=0.0, sampler="in_order").values()) == {math.inf}
    assert set(epsilons(MEMBERS, 0, noise_multiplier=0.0, sampler="in_order").values()) == {0.0}


def test_clients_of_unequal_size_are_refused():
    uneven = dataclasses.replace(task(MEMBERS), num_examples=jnp.array([12, 12, 11]))
    with pytest.raises(InputError, match="the clients of tiny have unequally many examples"):
        METHOD.check(uneven, total_epochs=2, num_epochs=1.0, batch_size=5, **PRIVATE)
