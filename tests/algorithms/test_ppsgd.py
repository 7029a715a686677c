"""PPSGD: a second implementation fed the same draws, its noise, its special cases, its rates."""

import dataclasses
from functools import cache
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bench.algorithms.ppsgd import ppsgd
from bench.data.problems.synthetic import synthetic
from bench.data.task import Task
from bench.kernels import gradient, sampling
from bench.models.additive import squared_loss
from bench.reference import ppsgd as reference

pytestmark = pytest.mark.usefixtures("quick_compilation")

UNEQUAL = (9, 4, 2, 1, 6, 5)  # examples of the clients of the small tasks
AT_LEAST_TWO = (9, 4, 2, 3, 6, 5)
D, K = 5, 3  # features, outputs
PERSONALIZATION = [0.0, 0.3, 1.0, 3.0, np.inf]
HYPER = dict(step_size=0.2, personalization=1.0, clip_norm=1.0, noise_multiplier=0.7)


def stored_task(sizes=UNEQUAL, seed=0):
    """Stored examples of clients of unequal size and scale, so that a clipping threshold separates them."""
    rng = np.random.default_rng(seed)
    scale = np.linspace(0.3, 1.5, len(sizes))[:, None, None]
    x = scale * rng.standard_normal((len(sizes), max(sizes), D))
    y = rng.standard_normal((len(sizes), max(sizes), K))
    real = (np.arange(max(sizes)) < np.array(sizes)[:, None])[..., None]
    x, y = (jnp.asarray(a * real, jnp.float32) for a in (x, y))
    return Task(
        init_params=jnp.zeros((K, D)),
        num_examples=jnp.array(sizes, jnp.int32),
        train=(x, y),
        gram=jnp.einsum("nid,njd->nij", x, x),
        loss=squared_loss,
    )


def fresh(key, task, clients, batch_size):
    """Examples of a stream whose clients differ in scale; y is one number."""
    ids = jnp.arange(task.num_clients) if clients is None else clients
    key_x, key_y = jax.random.split(key)
    x = jax.random.normal(key_x, (ids.shape[0], batch_size, D)) * (0.3 + 0.25 * ids.astype(jnp.float32)[:, None, None])
    return x, jnp.sum(x, axis=-1) + jax.random.normal(key_y, x.shape[:2])


def stream_task(sizes=UNEQUAL):
    return Task(init_params=jnp.zeros(D), num_examples=jnp.array(sizes, jnp.int32), loss=squared_loss, sample=fresh)


def recorded_round(task, static, hyper, key, state):
    """One round, and everything that was drawn in it by the name of the function that drew it."""
    drawn = {}

    def keep(name, original):
        def wrapped(*args):
            drawn[name] = original(*args)
            return drawn[name]

        return wrapped

    if task.sample is not None:
        task = dataclasses.replace(task, sample=keep("sample", task.sample))
    names = ("fixed_size", "poisson", "queue_draw", "distinct_rows")
    fakes = {name: keep(name, getattr(sampling, name)) for name in names}
    noise = keep("gaussian_like", gradient.gaussian_like)
    with patch.multiple(sampling, **fakes), patch.object(gradient, "gaussian_like", noise):
        state, info = ppsgd(task, **hyper, **static).round(key, state)
    return state, info, drawn


@cache
def compiled(make, sizes, num_rounds, **static):
    """A task, its algorithm, and a compiled run that returns the states after every round and what was drawn."""
    task = make(sizes)

    @jax.jit
    def run(hyper, keys):
        def step(state, key):
            state, info, drawn = recorded_round(task, static, hyper, key, state)
            return state, (state.variables, info, drawn)

        first = ppsgd(task, **hyper, **static).init(keys[0])
        last, (later, info, drawn) = jax.lax.scan(step, first, keys[1:])
        return first.variables, later, info, drawn, ppsgd(task, **hyper, **static).params(last)

    return task, run


def played(make, num_rounds, sizes=UNEQUAL, seed=0, **args):
    """Run PPSGD; returns the iterates z_0 .. z_T, each (w, theta), the rounds' draws and info, the last params."""
    hyper = {name: jnp.float32(args.pop(name, value)) for name, value in HYPER.items()}
    task, run = compiled(make, sizes, num_rounds, **args)
    outputs = run(hyper, jax.random.split(jax.random.key(seed), num_rounds + 1))
    first, later, info, drawn, params = jax.tree.map(np.asarray, outputs)

    def at(t, tree):
        return jax.tree.map(lambda leaf: leaf[t], tree)

    iterates = [in_paper_form(task, z) for z in (first, *(at(t, later) for t in range(num_rounds)))]
    rounds = [minibatches(task, args["batch_size"], at(t, drawn)) for t in range(num_rounds)]
    return iterates, rounds, info, params


def in_paper_form(task, variables):
    """(w, theta), [feature, output], from either way of keeping theta."""
    w, local = np.asarray(variables["w"]), np.asarray(variables["local"])
    if w.ndim == 1:
        return w, local
    if local.shape[-1] != D:
        local = np.einsum("njk,njd->nkd", local, np.asarray(task.train[0]))
    return w.T, np.swapaxes(local, 1, 2)


def minibatches(task, batch_size, drawn):
    """A round's draws as {client: (x, y)} and the noise, [feature, output]; padding is left out."""
    everybody = np.arange(task.num_clients), np.ones(task.num_clients, bool)
    if "queue_draw" in drawn:
        _, clients, blocks, present = drawn["queue_draw"]
        rows = blocks[:, None] * batch_size + np.arange(batch_size)
        real = np.ones(rows.shape, bool)
    else:
        clients, present = drawn.get("poisson", everybody)
        if "fixed_size" in drawn:
            clients, present = drawn["fixed_size"], np.ones(len(drawn["fixed_size"]), bool)
        rows = np.broadcast_to(np.arange(batch_size), (len(clients), batch_size))
        rows, real = drawn.get("distinct_rows", (rows, rows < np.asarray(task.num_examples)[clients][:, None]))
    used = {}
    for place in np.flatnonzero(present):
        mine = rows[place][real[place]]
        if task.train is None:
            used[int(clients[place])] = tuple(leaf[place][mine] for leaf in drawn["sample"])
        else:
            used[int(clients[place])] = tuple(np.asarray(leaf)[clients[place]][mine] for leaf in task.train)
    return used, drawn["gaussian_like"].T


def rounds_as_run(rounds):
    """The draws as `reference.as_run` takes them; rounds in which nobody takes part are left out."""
    for used, normal in rounds:
        if used:
            yield np.array(list(used)), *map(np.stack, zip(*used.values(), strict=True)), normal


def agree(ours, theirs, tolerance=1e-5):
    """Every iterate within `tolerance` of the largest entry, w and theta each."""
    assert len(ours) == len(theirs)
    for got, wanted in zip(ours, theirs, strict=True):
        for a, b in zip(got, wanted, strict=True):
            assert np.max(np.abs(a - b)) <= tolerance * max(np.max(np.abs(b)), 1e-3)


def copies(iterates):
    return [(w.copy(), theta.copy()) for w, theta in iterates]


def start(iterates):
    return [tuple(np.zeros_like(part) for part in iterates[0])]


# ---- The second implementation agrees ----


@pytest.mark.parametrize("personalization", PERSONALIZATION)
@pytest.mark.parametrize(
    ("make", "sampler", "local"),
    [
        (stream_task, "all", "dense"),
        (stream_task, "fixed", "dense"),
        (stored_task, "all", "dense"),
        (stored_task, "fixed", "dense"),
        (stored_task, "fixed", "dual"),
    ],
)
def test_everybody_and_fixed_size_agree_with_the_loop_as_run(make, sampler, local, personalization):
    args = dict(sampler=sampler, num_sampled=6 if sampler == "all" else 3, batch_size=2, local=local)
    iterates, rounds, info, _ = played(make, 12, AT_LEAST_TWO, personalization=personalization, **args)
    hyper = HYPER | {"personalization": personalization}
    theirs = reference.as_run(rounds_as_run(rounds), 6, iterates[0][0].shape, **hyper)
    agree(iterates, start(iterates) + copies(theirs))
    assert 0 < np.mean(info["clipped"]) < 1  # some are clipped and some are not


@pytest.mark.parametrize("personalization", PERSONALIZATION)
@pytest.mark.parametrize("local", ["dense", "dual"])
def test_the_queue_agrees_with_the_loop_as_run_also_in_the_tail_and_when_empty(local, personalization):
    args = dict(sampler="queue", num_sampled=3, batch_size=2, num_epochs=2, local=local)
    iterates, rounds, info, _ = played(stored_task, 14, personalization=personalization, **args)
    hyper = HYPER | {"personalization": personalization}
    theirs = copies(reference.as_run(rounds_as_run(rounds), 6, (D, K), **hyper))
    taking_part = [len(used) for used, _ in rounds]
    assert 3 in taking_part
    assert 0 in taking_part
    assert set(taking_part) & {1, 2}
    assert list(info["released"]) == [count > 0 for count in taking_part]
    theirs += [theirs[-1]] * taking_part.count(0)  # nothing moves any more
    agree(iterates, start(iterates) + theirs)


def paper_symbols(personalization, *, divisor):
    """eta, alpha and sigma_zeta of a run with HYPER, by the mapping that `ppsgd` documents."""
    _, eta_theta = reference.step_sizes(HYPER["step_size"], personalization)
    sigma_zeta = HYPER["noise_multiplier"] * HYPER["clip_norm"] / divisor
    return dict(eta=divisor * eta_theta, alpha=personalization / divisor, sigma_zeta=sigma_zeta)


FINITE = [0.0, 0.3, 1.0, 3.0]  # the paper's alpha and eta cannot say a = inf


@pytest.mark.parametrize("personalization", FINITE)
@pytest.mark.parametrize(
    ("make", "local", "batch_size"),
    [(stream_task, "dense", 4), (stored_task, "dense", 4), (stored_task, "dual", 4)]
    + [(stored_task, local, max(UNEQUAL)) for local in ("dense", "dual")],
)
def test_sampler_all_is_algorithm_1(make, local, batch_size, personalization):
    args = dict(sampler="all", num_sampled=6, batch_size=batch_size, local=local)
    iterates, rounds, info, _ = played(make, 10, personalization=personalization, **args)
    theirs = reference.algorithm_1(
        [[used[i] for i in range(6)] for used, _ in rounds],
        [normal for _, normal in rounds],
        clip_norm=HYPER["clip_norm"],
        **paper_symbols(personalization, divisor=6),
    )
    agree(iterates, theirs)
    assert 0 < np.mean(info["clipped"]) < 1


@pytest.mark.parametrize("personalization", FINITE)
@pytest.mark.parametrize(
    ("make", "local", "num_sampled"),
    [(stream_task, "dense", 3), (stored_task, "dense", 3), (stored_task, "dual", 3), (stored_task, "dense", 6)],
)
@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_sampler_poisson_is_algorithm_2_with_sums_and_3_with_means(make, local, num_sampled, reduce, personalization):
    args = dict(sampler="poisson", num_sampled=num_sampled, batch_size=4, local=local, reduce=reduce)
    iterates, rounds, info, _ = played(make, 10, personalization=personalization, **args)
    sizes, q = np.minimum(UNEQUAL, 4), num_sampled / 6
    theirs = reference.algorithm_2(
        [[i in used for i in range(6)] for used, _ in rounds],
        [[used.get(i) for i in range(6)] for used, _ in rounds],
        [normal for _, normal in rounds],
        q=q,
        sizes=sizes,
        clip_norm=HYPER["clip_norm"],
        average_users=reduce == "mean",
        **paper_symbols(personalization, divisor=q * (sizes.sum() if reduce == "sum" else 6)),
    )
    agree(iterates, theirs)
    assert len({len(used) for used, _ in rounds}) > 1 or q == 1
    assert 0 < np.mean(info["clipped"]) < 1


@pytest.mark.parametrize("local", ["dense", "dual"])
def test_average_is_the_mean_of_the_iterates_before_the_last(local):
    args = dict(sampler="fixed", num_sampled=3, batch_size=2, local=local, average=True)
    iterates, _, _, params = played(stored_task, 7, **args)
    form = {"w": params.w, "local": params.theta if local == "dense" else params.coefficients}
    agree([in_paper_form(stored_task(), form)], [reference.average_iterate(iterates)])


def test_the_comparison_notices_noise_on_the_wrong_scale():
    """The agreement above can fail: with sigma 1 % larger, or C applied to sums, it does."""
    iterates, rounds, _, _ = played(stored_task, 12, AT_LEAST_TWO, sampler="fixed", num_sampled=3, batch_size=2)
    for change in ({"noise_multiplier": 0.707}, {"clip_norm": 2.0}, {"personalization": 1.01}):
        theirs = reference.as_run(rounds_as_run(rounds), 6, (D, K), **(HYPER | change))
        with pytest.raises(AssertionError):
            agree(iterates, start(iterates) + copies(theirs))


# ---- The noise ----


def silent_task(sizes=(4, 2, 2, 0, 0), num_features=100):
    """Inputs are 0, so every gradient is, always, and w is nothing but noise."""
    inputs, targets = (jnp.zeros((len(sizes), max(sizes), k)) for k in (num_features, 10))
    return Task(
        init_params=jnp.zeros((10, num_features)),
        num_examples=jnp.array(sizes, jnp.int32),
        train=(inputs, targets),
        loss=squared_loss,
    )


@cache
def compiled_last(num_rounds, **static):
    """A compiled run of any task, many keys at once."""

    def run(task, hyper, key):
        keys = jax.random.split(key, num_rounds + 1)
        algorithm = ppsgd(task, **hyper, **static)
        state, info = jax.lax.scan(lambda s, k: algorithm.round(k, s), algorithm.init(keys[0]), keys[1:])
        return state.variables, jax.tree.map(jnp.mean, info)

    return jax.jit(jax.vmap(run, in_axes=(None, None, 0)))


def last(task, num_rounds, num_keys, seed=0, **args):
    """Variables after the last round, and the mean info, for many keys; leaves [key, ...]."""
    hyper = {name: jnp.float32(args.pop(name, value)) for name, value in HYPER.items()}
    keys = jax.random.split(jax.random.key(seed), num_keys)
    return jax.tree.map(np.asarray, compiled_last(num_rounds, **args)(task, hyper, keys))


def has_std(samples, std):
    """Whether independent Gaussian samples can have mean 0 and this std: a chi-square test of level 1e-6."""
    samples = np.ravel(samples).astype(float)
    statistic = np.sum(np.square(samples / std))
    return 1e-6 < stats.chi2.cdf(statistic, samples.size) < 1 - 1e-6


@pytest.mark.parametrize(
    ("sampler", "num_sampled", "reduce", "divisor"),
    [
        ("all", 5, "mean", 5),
        ("all", 5, "sum", 6),  # two examples of three users
        ("fixed", 3, "mean", 3),
        ("fixed", 3, "sum", 3 / 5 * 6),
        ("poisson", 2, "mean", 2),
        ("poisson", 2, "sum", 2 / 5 * 6),
        ("queue", 4, "mean", 3),  # only three users have a block
    ],
)
def test_noise_on_w_has_std_eta_w_sigma_C_over_D(sampler, num_sampled, reduce, divisor):
    """With D the number of users or examples that is expected, or present in the queue. Two thirds or one and a half
    times that is noticed."""
    args = dict(sampler=sampler, num_sampled=num_sampled, reduce=reduce, batch_size=2)
    hyper = dict(step_size=0.5, personalization=0.3, noise_multiplier=7.0, clip_norm=0.2)
    variables, info = last(silent_task(), 1, 30, **args, **hyper)
    formula = 0.3 * 0.5 * 7.0 * 0.2 / divisor
    assert has_std(variables["w"], formula)
    assert not has_std(variables["w"], formula * 2 / 3)
    assert not has_std(variables["w"], formula * 3 / 2)
    assert not variables["local"].any()
    assert (info["released"] == 1).all()  # also in the Poisson rounds in which nobody takes part


def test_noise_is_fresh_in_every_round():
    """After T rounds its std is sqrt(T) times that of one."""
    args = dict(sampler="fixed", num_sampled=3, batch_size=2)
    hyper = dict(step_size=0.5, personalization=np.inf, noise_multiplier=1.0, clip_norm=1.0)
    w = last(silent_task(), 9, 30, **args, **hyper)[0]["w"]
    assert has_std(w, 3 * 0.5 / 3)
    assert not has_std(w, 0.5 / 3)


# ---- Who has no effect ----


def with_garbage(task, where):
    """The task with other, large numbers in the examples where the mask [client, example] says so."""
    rng = np.random.default_rng(9)
    mask = jnp.asarray(where)[..., None]
    train = tuple(
        jnp.where(mask, jnp.asarray(100 * rng.standard_normal(leaf.shape), jnp.float32), leaf) for leaf in task.train
    )
    return dataclasses.replace(task, train=train, gram=jnp.einsum("nid,njd->nij", train[0], train[0]))


@pytest.mark.parametrize("local", ["dense", "dual"])
@pytest.mark.parametrize(
    ("sampler", "num_sampled", "batch_size"), [("all", 6, 4), ("all", 6, 9), ("poisson", 3, 4), ("queue", 3, 2)]
)
def test_a_padded_example_has_no_effect(sampler, num_sampled, batch_size, local):
    task = stored_task()
    other = with_garbage(task, np.arange(9) >= np.array(UNEQUAL)[:, None])
    args = dict(sampler=sampler, num_sampled=num_sampled, batch_size=batch_size, local=local)
    ours, theirs = (last(t, 5, 2, **args)[0] for t in (task, other))
    jax.tree.map(np.testing.assert_array_equal, ours, theirs)
    with pytest.raises(AssertionError):  # the comparison can fail
        jax.tree.map(
            np.testing.assert_array_equal, ours, last(with_garbage(task, np.ones((6, 9), bool)), 5, 2, **args)[0]
        )


@pytest.mark.parametrize("local", ["dense", "dual"])
@pytest.mark.parametrize("sampler", ["fixed", "poisson"])
def test_a_client_that_does_not_take_part_neither_moves_nor_matters(sampler, local):
    task = stored_task()
    args = dict(sampler=sampler, num_sampled=2, batch_size=2, local=local)
    before = last(task, 1, 10, **args)[0]
    absent = ~before["local"].any((2, 3))  # [key, client]; everybody who takes part moves
    assert absent.any()
    assert not absent.all()
    for key in range(10):
        mask = np.broadcast_to(absent[key][:, None], (6, 9))
        after = last(with_garbage(task, mask), 1, 10, **args)[0]
        np.testing.assert_array_equal(before["w"][key], after["w"][key])
        np.testing.assert_array_equal(before["local"][key], after["local"][key])


# ---- Special cases that must coincide ----


@pytest.mark.parametrize(("noise_multiplier", "clip_norm"), [(0.0, np.inf), (0.0, 0.1), (1.0, 10.0), (1000.0, 100.0)])
def test_local_learning_leaves_w_at_0_and_does_not_feel_noise_or_clipping(noise_multiplier, clip_norm):
    args = dict(sampler="fixed", num_sampled=3, batch_size=2, personalization=0.0)
    variables = last(stored_task(), 8, 2, noise_multiplier=noise_multiplier, clip_norm=clip_norm, **args)[0]
    assert not variables["w"].any()
    plain = last(stored_task(), 8, 2, noise_multiplier=0.0, clip_norm=np.inf, **args)[0]
    np.testing.assert_array_equal(variables["local"], plain["local"])
    assert np.isfinite(plain["local"]).all()
    assert plain["local"].any()


def test_global_learning_leaves_theta_at_0():
    args = dict(sampler="fixed", num_sampled=3, batch_size=2, personalization=np.inf)
    variables = last(stored_task(), 8, 2, **args)[0]
    assert not variables["local"].any()
    assert variables["w"].any()


def test_fixed_size_sampling_of_everybody_is_everybody_up_to_order():
    args = dict(num_sampled=6, batch_size=9)
    ours, theirs = (last(stored_task(), 8, 2, sampler=sampler, **args)[0] for sampler in ("fixed", "all"))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), ours, theirs)


@pytest.mark.parametrize("personalization", [0.3, 3.0, np.inf])
def test_without_clipping_and_noise_it_is_gradient_descent_on_the_pooled_loss(personalization):
    """f(w, theta) = mean over clients of their mean loss; theta_i steps with N times its partial gradient."""
    task = stored_task()
    x, y = task.train
    sizes = task.num_examples.astype(jnp.float32)
    real = (jnp.arange(9.0)[None] < sizes[:, None]).astype(jnp.float32)

    def pooled(w, theta):
        losses = 0.5 * jnp.sum(jnp.square(jnp.einsum("nmd,nkd->nmk", x, w + theta) - y), -1)
        return jnp.mean(jnp.sum(losses * real, 1) / sizes)

    eta_w, eta_theta = reference.step_sizes(0.2, personalization)
    w, theta = jnp.zeros((K, D)), jnp.zeros((6, K, D))
    for _ in range(6):
        grad_w, grad_theta = jax.grad(pooled, (0, 1))(w, theta)
        w, theta = w - eta_w * grad_w, theta - eta_theta * 6 * grad_theta
    hyper = dict(personalization=personalization, clip_norm=np.inf, noise_multiplier=0.0)
    variables = last(task, 6, 1, sampler="all", num_sampled=6, batch_size=9, **hyper)[0]
    np.testing.assert_allclose(variables["w"][0], w, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(variables["local"][0], theta, rtol=1e-4, atol=1e-6)


def test_algorithm_2_with_equal_minibatches_is_algorithm_3_with_matched_steps():
    """A sum is m times a mean: the same run has threshold m C, and a local step m times smaller."""
    args = dict(sampler="poisson", num_sampled=3, batch_size=2)
    task = stored_task(AT_LEAST_TWO)
    means = last(task, 8, 2, reduce="mean", personalization=1.0, clip_norm=0.5, **args)[0]
    sums = last(task, 8, 2, reduce="sum", personalization=2.0, clip_norm=1.0, **args)[0]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), means, sums)


@pytest.mark.parametrize("alpha", [0.05, 0.5, 3.0])
def test_users_with_one_truth_v_end_at_the_minimizer_of_least_alpha_norm(alpha):
    """Lemma 4.6: w = alpha N / (alpha N + 1) v and theta_i = v / (alpha N + 1), whatever their examples are.

    From 0, w = alpha sum_i theta_i always: both add up the same gradients.
    """
    rng = np.random.default_rng(0)
    v = rng.standard_normal((K, D)).astype(np.float32)
    x = jnp.asarray(rng.standard_normal((4, 20, D)), jnp.float32)
    task = Task(
        init_params=jnp.zeros((K, D)),
        num_examples=jnp.full(4, 20, jnp.int32),
        train=(x, jnp.einsum("nmd,kd->nmk", x, v)),
        loss=squared_loss,
    )
    hyper = dict(personalization=4 * alpha, step_size=0.3, clip_norm=np.inf, noise_multiplier=0.0)
    variables = last(task, 600, 1, sampler="all", num_sampled=4, batch_size=20, **hyper)[0]
    np.testing.assert_allclose(variables["w"][0], 4 * alpha / (4 * alpha + 1) * v, atol=1e-3)
    np.testing.assert_allclose(variables["local"][0], np.tile(v / (4 * alpha + 1), (4, 1, 1)), atol=1e-3)


# ---- Rates ----


@pytest.mark.parametrize("noise_multiplier", [0.01, 0.02])
def test_the_noise_floor_of_global_learning_is_that_of_a_linear_recursion(noise_multiplier):
    """Where every user's Hessian is lambda I and nothing is clipped, w - v is stationary with variance
    s (sigma C / N)^2 / (lambda (2 - s lambda)): four times as much for twice the noise."""
    clip_norm, step, curvature = 100.0, 0.5, 0.8
    v = np.random.default_rng(0).standard_normal((1, 8)).astype(np.float32)
    x = jnp.tile(np.sqrt(8 * curvature) * jnp.eye(8), (3, 1, 1))
    task = Task(
        init_params=jnp.zeros((1, 8)),
        num_examples=jnp.full(3, 8, jnp.int32),
        train=(x, jnp.einsum("nmd,kd->nmk", x, v)),
        loss=squared_loss,
    )
    hyper = dict(personalization=np.inf, step_size=step, clip_norm=clip_norm, noise_multiplier=noise_multiplier)
    variables, info = last(
        task, 40, 400, seed=round(1e3 * noise_multiplier), sampler="all", num_sampled=3, batch_size=8, **hyper
    )
    assert not info["clipped"].any()
    floor = step * (noise_multiplier * clip_norm / 3) ** 2 / (curvature * (2 - step * curvature))
    assert has_std(variables["w"] - v, np.sqrt(floor))
    assert not has_std(variables["w"] - v, np.sqrt(floor) * 1.15)
    assert not has_std(variables["w"] - v, np.sqrt(floor) / 1.15)


def test_doubling_the_noise_multiplies_the_excess_risk_of_global_learning_by_4():
    """On the synthetic stream with its clipping, where noise dominates."""
    task = synthetic(0, num_clients=20, num_features=10, delta_std=0.0)
    risks = []
    for noise_multiplier in (4.0, 8.0):
        hyper = dict(personalization=np.inf, step_size=0.3, clip_norm=10.0, noise_multiplier=noise_multiplier)
        seed = round(noise_multiplier)
        w = last(task, 100, 200, seed=seed, sampler="all", num_sampled=20, batch_size=2, **hyper)[0]["w"]
        risks.append(np.mean(np.asarray(jax.vmap(lambda w: task.metrics(w, task)["excess_risk"])(w))))
    assert 4 * 0.8 < risks[1] / risks[0] < 4 * 1.25
