"""PPSGD agrees with a second implementation that is fed the same draws."""

import dataclasses
from functools import cache
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_ppsgd import AT_LEAST_TWO, HYPER, UNEQUAL, D, K, stored_task

from bench.algorithms.ppsgd import ppsgd
from bench.data.task import Task
from bench.kernels import gradient, sampling
from bench.models.additive import squared_loss
from bench.papers.ppsgd import reference

PERSONALIZATION = [0.0, 0.3, 1.0, 3.0, np.inf]


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
    w, local = np.asarray(variables["w"]), np.asarray(variables["kept"])
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


@pytest.mark.parametrize("personalization", PERSONALIZATION)
@pytest.mark.parametrize(
    ("make", "sampler", "local"),
    [(stream_task, "all", "dense"), (stream_task, "fixed", "dense"), (stored_task, "fixed", "dual")],
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
    [(stream_task, "dense", 4), (stored_task, "dual", 4), (stored_task, "dense", max(UNEQUAL))],
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
    ("make", "local", "reduce"),
    [(stream_task, "dense", "sum"), (stored_task, "dense", "mean")]
    + [(stored_task, "dual", reduce) for reduce in ("sum", "mean")],
)
def test_sampler_poisson_is_algorithm_2_with_sums_and_3_with_means(make, local, reduce, personalization):
    args = dict(sampler="poisson", num_sampled=3, batch_size=4, local=local, reduce=reduce)
    iterates, rounds, info, _ = played(make, 10, personalization=personalization, **args)
    sizes, q = np.minimum(UNEQUAL, 4), 0.5
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
    assert len({len(used) for used, _ in rounds}) > 1
    assert 0 < np.mean(info["clipped"]) < 1


@pytest.mark.parametrize("local", ["dense", "dual"])
def test_average_is_the_mean_of_the_iterates_before_the_last(local):
    args = dict(sampler="fixed", num_sampled=3, batch_size=2, local=local, average=True)
    iterates, _, _, params = played(stored_task, 7, **args)
    form = {"w": params.w, "kept": params.theta if local == "dense" else params.coefficients}
    agree([in_paper_form(stored_task(), form)], [reference.average_iterate(iterates)])


def test_the_comparison_notices_noise_on_the_wrong_scale():
    """The agreement above can fail: with sigma 1 % larger, or C applied to sums, it does."""
    iterates, rounds, _, _ = played(stored_task, 12, AT_LEAST_TWO, sampler="fixed", num_sampled=3, batch_size=2)
    for change in ({"noise_multiplier": 0.707}, {"clip_norm": 2.0}, {"personalization": 1.01}):
        theirs = reference.as_run(rounds_as_run(rounds), 6, (D, K), **(HYPER | change))
        with pytest.raises(AssertionError):
            agree(iterates, start(iterates) + copies(theirs))
