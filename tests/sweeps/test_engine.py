"""The engine: chunk, seeds at once, devices and length of a run change no number; a point touches only its own row."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_sweeps import COLUMNS, EVERY, ROUNDS, STATIC, TASK, hypers, train

from bench.algorithms.base import Algorithm, State
from bench.algorithms.ppsgd import ppsgd
from bench.errors import InputError
from bench.execution.run import use_compilation_cache
from bench.sweeps import engine

SAME = dict(rtol=1e-5, atol=1e-6)  # float32, sums in another order


@pytest.fixture(scope="module", autouse=True)
def _programs_kept():
    use_compilation_cache()


@pytest.fixture(scope="module")
def whole():
    """All points and both seeds in one call."""
    return train(hypers())


def assert_same(here, there, **tolerance):
    for name in COLUMNS:
        np.testing.assert_allclose(here[name], there[name], **(SAME | tolerance), err_msg=name)


@jax.jit
def one_round(task, point, key, state):
    return ppsgd(task, **dict(STATIC), **point).round(key, state)


@jax.jit
def measured(task, params):
    return task.metrics(params, task)


def by_hand(point: dict, seed: int) -> dict:
    """One run as a Python loop over rounds: no vmap, no scan, no padding."""
    task = TASK(0)
    algorithm = ppsgd(task, **dict(STATIC), **point)
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), 0), seed)
    state = algorithm.init(jax.random.fold_in(key, 0))
    rows = [measured(task, algorithm.params(state))]
    for block in range(ROUNDS // EVERY):
        clipped = []
        for t in range(block * EVERY, (block + 1) * EVERY):
            state, info = one_round(task, point, jax.random.fold_in(jax.random.fold_in(key, 1), t), state)
            clipped.append(info["clipped"])
        rows.append(measured(task, algorithm.params(state)) | {"clipped": np.mean(clipped)})
    rows[0]["clipped"] = np.nan
    return {name: np.array([row[name] for row in rows]) for name in COLUMNS}


def test_the_engine_is_a_plain_loop_over_rounds(whole):
    columns = hypers()
    for p in (0, 5, 11):
        alone = by_hand({name: jnp.float32(column[p]) for name, column in columns.items()}, seed=1)
        for name in COLUMNS:
            np.testing.assert_allclose(whole[name][1, p], alone[name], **SAME, err_msg=name)


@pytest.mark.parametrize("chunk", [1, 5])
def test_the_chunk_changes_no_result(whole, chunk):
    assert_same(train(hypers(), chunk=chunk), whole)


def test_seeds_at_once_and_one_at_a_time_agree(whole):
    for place, seed in enumerate((0, 1)):
        alone = train(hypers(), seeds=(seed,))
        assert_same({name: values[0] for name, values in alone.items()}, {n: whole[n][place] for n in COLUMNS})


def test_another_point_changes_no_other_row(whole):
    columns = hypers()
    more = {name: np.append(column, column[0] * 0.5) for name, column in columns.items()}
    assert_same({name: values[:, :-1] for name, values in train(more, chunk=12).items()}, whole)


def test_a_longer_run_begins_with_the_shorter_one(whole):
    longer = train(hypers(), rounds=2 * ROUNDS)
    for name in COLUMNS:
        assert longer[name].shape[-1] == 1 + 2 * ROUNDS // EVERY
        np.testing.assert_array_equal(longer[name][..., : 1 + ROUNDS // EVERY], whole[name])


def test_models_that_are_not_evaluated_before_the_first_round_are_trained_alike(whole):
    without = train(hypers(), at_start=False)
    for name in COLUMNS:
        assert np.isnan(without[name][..., 0]).all()
        np.testing.assert_array_equal(without[name][..., 1:], whole[name][..., 1:])


def test_a_run_depends_on_its_trial_and_seed_alone():
    """The key's bits are those of the fold, also beside other runs; every other pair has other bits."""
    pairs = [(trial, seed) for trial in range(3) for seed in range(3)]
    bits = jax.random.key_data(engine.run_keys(*np.array(pairs, np.int32).T))
    for pair, row in zip(pairs, bits, strict=True):
        np.testing.assert_array_equal(jax.random.key_data(engine.run_key(*pair)), row)
    assert len({tuple(row.tolist()) for row in bits}) == len(pairs)


def test_another_seed_or_trial_draws_anew(whole):
    """Also on the same data: what differs is the key alone. Points 3 and 5 learn with noise."""
    other = train(hypers(), trial=1, task=TASK(0))["excess_risk"]
    risks = np.stack([whole["excess_risk"], other])[:, :, [3, 5], 1:]
    assert len(np.unique(risks)) == risks.size


def test_a_point_that_diverges_spoils_its_own_row_alone():
    columns = hypers(clip_norm=np.inf)
    good = train(columns)
    columns["step_size"] = np.append(columns["step_size"][:-1], 1e6)
    bad = train(columns)
    assert not np.isfinite(bad["excess_risk"][:, -1, -1]).any()
    for name in COLUMNS:
        np.testing.assert_array_equal(bad[name][:, :-1], good[name][:, :-1])


def shapes_of(program, num_points: int, primitive: str) -> list[tuple]:
    """Shapes of all that one kind of operation, or compiled function, yields in the traced step, two seeds, sorted."""
    task = TASK(0)
    columns = {name: jnp.full(num_points, column[0], jnp.float32) for name, column in hypers().items()}
    keys = engine.run_keys(np.arange(2), np.arange(2))
    state, _ = engine.start.eval_shape(task, keys, columns, program=program)
    traced = jax.make_jaxpr(lambda *a: engine.advance(*a, program=program))(task, keys, columns, state, jnp.int32(0))
    found = []

    def look(jaxpr):
        for equation in jaxpr.eqns:
            if primitive in (equation.primitive.name, equation.params.get("name")):
                found.extend(out.aval.shape for out in equation.outvars)
            for inner in jax.tree.leaves(equation.params, is_leaf=lambda leaf: hasattr(leaf, "eqns")):
                if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                    look(getattr(inner, "jaxpr", inner))

    look(traced.jaxpr)
    return sorted(found)


def with_noise_of_its_own(task, *, step_size, **_):
    """A method that draws for each point: its key depends on a hyper-parameter."""
    inner = ppsgd(task, **dict(STATIC), step_size=step_size, **_)

    def one_round(key, state):
        return inner.round(jax.random.fold_in(key, step_size.astype(jnp.int32)), state)

    return Algorithm(inner.init, one_round, inner.params)


@pytest.mark.parametrize("primitive", ["_words_at_places", "top_k"])
@pytest.mark.parametrize("sampler", ["fixed", "poisson"])
def test_draws_are_made_once_for_all_points(sampler, primitive):
    """Clients, examples and noise: the shapes are the same for 7 and for 11 points."""
    static = tuple(sorted((dict(STATIC) | {"sampler": sampler}).items()))
    program = engine.Program(ppsgd, static, EVERY)
    seven = shapes_of(program, 7, primitive)
    assert seven
    assert seven == shapes_of(program, 11, primitive)


def test_a_draw_for_each_point_would_be_seen():
    program = engine.Program(with_noise_of_its_own, (), EVERY)
    assert shapes_of(program, 7, "random_bits") != shapes_of(program, 11, "random_bits")


def schedule_from_the_start(task, *, step_size):
    w = jnp.zeros(())
    return Algorithm(lambda key: State(step_size, w), lambda key, state: (state, {}), lambda state: task.init_params)


def schedule_from_a_round(task, *, step_size):
    def one_round(key, state):
        return State(state.schedule + step_size, state.variables), {}

    return Algorithm(lambda key: State(jnp.zeros(()), jnp.zeros(())), one_round, lambda state: task.init_params)


@pytest.mark.parametrize("make", [schedule_from_the_start, schedule_from_a_round])
def test_a_schedule_that_depends_on_the_point_is_refused_in_words(make):
    with pytest.raises(InputError, match=f"schedule of {make.__name__} depends on a hyper-parameter"):
        train({"step_size": np.ones(3)}, make=make, static=())


@pytest.mark.slow
def test_a_small_budget_gives_a_small_chunk(whole):
    """The compiler's own figure of the chunk that is chosen fits; the chunk before it did not."""
    program, task = engine.Program(ppsgd, STATIC, EVERY), TASK(0)
    free = engine.fitted_chunk(program, task, 2, hypers(), 12, budget=1e9)
    assert free.chunk == 12
    tight = engine.fitted_chunk(program, task, 2, hypers(), 12, budget=free.peak_bytes - 1)
    assert 1 <= tight.chunk <= 6
    assert tight.peak_bytes < free.peak_bytes
    assert engine.fitted_chunk(program, task, 2, hypers(), 12, budget=1).chunk == 1
    assert engine.fitted_chunk(program, task, 2, hypers(), 5, budget=1e9).chunk == 5
