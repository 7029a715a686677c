"""Work that is counted on a traced program: as XLA counts it where nothing loops, and loops as often as they run."""

import jax
import jax.numpy as jnp
import pytest
from jax import ShapeDtypeStruct as Shape

from bench.algorithms import ALGORITHMS
from bench.data.tasks.synthetic import synthetic
from bench.perf.counts import count, work_of
from bench.sweeps import engine

MATRIX, IMAGES = Shape((30, 40), jnp.float32), Shape((2, 12, 12, 3), jnp.float32)


def twice(x):
    return jnp.tanh(x @ x.T) * 2 + 1


def convolved(x):
    kernel = jnp.ones((5, 5, 3, 7))
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@pytest.mark.parametrize(
    ("function", "shape"),
    [(twice, MATRIX), (lambda x: jax.grad(lambda x: jnp.sum((x @ x.T) ** 2))(x), MATRIX), (convolved, IMAGES)],
)
def test_operations_are_those_of_the_compiler(function, shape):
    compiled = jax.jit(function).lower(shape).compile().cost_analysis()
    assert compiled is not None
    # Of functions of a number the compiler counts some as several operations, and some as none.
    assert count(function, shape).flops == pytest.approx(compiled["flops"], rel=0.05)


def test_a_loop_counts_as_often_as_it_runs():
    once, x = count(twice, MATRIX).flops, MATRIX
    scanned = count(lambda x: jax.lax.scan(lambda c, _: (c + jnp.sum(twice(x)), None), 0.0, length=17)[0], x)
    assert scanned.flops == pytest.approx(17 * once, rel=0.04)
    nested = count(lambda x: jax.lax.fori_loop(0, 5, lambda _, c: c + jax.jit(twice)(x), jnp.zeros((30, 30))), x)
    assert nested.flops == pytest.approx(5 * once, rel=0.04)
    endless = count(lambda x: jax.lax.while_loop(lambda c: jnp.sum(c) < 9, lambda c: c + twice(x)[:, :1], x), x)
    assert endless.flops == pytest.approx(once, rel=0.7)


def test_of_two_branches_the_larger_counts():
    chosen = count(lambda x: jax.lax.cond(jnp.sum(x) > 0, lambda: twice(x), lambda: jnp.zeros((30, 30))), MATRIX)
    assert chosen.flops == pytest.approx(count(twice, MATRIX).flops, rel=0.03)


def test_bytes_are_what_must_be_read():
    table, rows = Shape((1000, 8), jnp.float32), Shape((5,), jnp.int32)

    def looked_up(table, rows):
        return jnp.sum(table[rows])

    assert count(looked_up, table, rows).bytes == 5 * 8 * 4 + 5 * 4

    def scanned(table, rows):
        return jax.lax.scan(lambda total, row: (total + jnp.sum(table[row]), None), 0.0, rows)[0]

    assert count(scanned, table, rows).bytes == 5 * 8 * 4 + 5 * 4
    assert count(lambda table: jnp.sum(table) + jnp.sum(table**2), table).bytes == 1000 * 8 * 4
    assert count(lambda table: table.shape[0], table).bytes == 0


def test_a_round_of_a_sweep_is_linear_in_points_and_users():
    def flops(num_points, num_sampled):
        static = {"num_sampled": num_sampled, "batch_size": 2, "sampler": "fixed"}
        program = engine.Program(ALGORITHMS["ppsgd"].make, tuple(sorted(static.items())), 50)
        names = ("step_size", "personalization", "clip_norm", "noise_multiplier")
        return work_of(program, synthetic(0, num_clients=40, num_features=6), 1, names, num_points).round

    one, two, eight = (flops(num_points, 10) for num_points in (1, 2, 8))
    for field in ("flops", "bytes"):
        first, second, last = (getattr(work, field) for work in (one, two, eight))
        assert last == pytest.approx(first + 7 * (second - first), rel=0.02)
    users = [flops(1, num_sampled).flops for num_sampled in (10, 20, 30)]
    assert users[2] - users[1] == pytest.approx(users[1] - users[0], rel=0.02)
    least = 4 * 2 * 6  # of a user: predictions and gradients
    assert users[1] - users[0] > 10 * least


def test_rounds_share_the_evaluation_that_follows_them():
    task = synthetic(0, num_clients=10, num_features=6)
    static = (("batch_size", 2), ("num_sampled", 5), ("sampler", "fixed"))
    program = engine.Program(ALGORITHMS["ppsgd"].make, static, 10)
    work = work_of(program, task, 1, ("step_size", "personalization", "clip_norm", "noise_multiplier"), 1)
    assert min(work.round.flops, work.evaluation.flops) > 0
    run = 20 * work.round.flops + 2 * work.evaluation.flops
    assert 20 * work.per_round(eval_every=10).flops == pytest.approx(run)
