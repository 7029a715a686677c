"""The convolutional network: layers against those of JAX, user gradients against a loop, PPSGD against the formulas."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench.algorithms import ALGORITHMS
from bench.data.tasks import digits
from bench.kernels import personal
from bench.kernels.platforms import made_for
from bench.models import digits_cnn
from bench.papers import SWEEPS

USERS, EACH = 3, 4


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    images = [(rng.random((EACH + 1, 784), np.float32), rng.integers(0, 10, EACH + 1)) for _ in range(USERS)]
    return digits.digit_task(
        digits.Digits(images, [(x[:2], y[:2]) for x, y in images]),
        model="cnn",
        name="tiny",
        source="made up",
        checksum="0",
        batch_size=2,
    )


@pytest.mark.parametrize(
    ("strides", "padding", "size"), [((2, 2), "SAME", 8), ((2, 2), "VALID", 4), ((1, 2), "SAME", 3)]
)
def test_the_convolution_of_either_platform_is_the_ordinary_one(strides, padding, size):
    keys = jax.random.split(jax.random.key(0))
    x, kernel = jax.random.normal(keys[0], (2, 13, 14, 3)), jax.random.normal(keys[1], (size, size, 3, 5))
    expected = jax.lax.conv_general_dilated(
        x, kernel, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"), precision="highest"
    )

    def slope(inputs, kernel):
        return jax.grad(lambda *args: jnp.sum(jnp.sin(digits_cnn.convolution(*args, strides, padding))), (0, 1))(
            inputs, kernel
        )

    gradients = []
    for platform in ("cpu", "cuda"):
        with made_for(platform):
            got = digits_cnn.convolution(x, kernel, strides, padding)
            gradients.append(slope(x, kernel))
        np.testing.assert_allclose(got, expected, atol=1e-3)
    jax.tree.map(lambda *pair: np.testing.assert_allclose(*pair, rtol=1e-3, atol=1e-3), *gradients)


@pytest.mark.slow
def test_the_network_has_the_published_size(task):
    count = {name: sum(leaf.size for leaf in jax.tree.leaves(part)) for name, part in task.init_params.items()}
    assert count == {"representation": 25_680, "head": 320}
    assert float(jnp.std(task.init_params["head"])) == pytest.approx(1 / math.sqrt(32), rel=0.2)


def loss_of_one(w, theta, x, y):
    """The loss of one example, with convolutions of JAX's own."""
    p = w["representation"]
    x = x.reshape(1, 28, 28, 1)
    for layer, stride, padding in (("Conv_0", 2, "SAME"), ("Conv_1", 2, "VALID")):
        x = jax.lax.conv_general_dilated(
            x, p[layer]["kernel"], (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = jax.nn.relu(x + p[layer]["bias"][None, None, None])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID")
    phi = jax.nn.relu(x.reshape(-1) @ p["Dense_0"]["kernel"] + p["Dense_0"]["bias"])
    return jnp.mean((phi @ (w["head"] + theta) - y) ** 2)


gradient_of_one = jax.jit(jax.grad(loss_of_one, argnums=(0, 1)))


def loop_gradient(w, theta, rows):
    """Mean gradient over a user's examples, one by one."""
    each = [gradient_of_one(w, theta, x, y) for x, y in rows]
    return jax.tree.map(lambda *leaves: sum(leaves) / len(leaves), *each)


def test_vmapped_user_gradients_are_those_of_a_loop(task):
    thetas = 0.1 * jax.random.normal(jax.random.key(3), (USERS, 32, 10))
    form = personal.dense(task.loss, task.init_local, USERS)
    batch = personal.Batch(None, None, task.train, jnp.full((USERS, EACH), 1 / EACH))
    shared, local = jax.jit(form.gradients)(task.init_params, thetas, batch)
    for user in range(USERS):
        expected = loop_gradient(task.init_params, thetas[user], zip(*(leaf[user] for leaf in task.train), strict=True))
        got = jax.tree.map(lambda leaf, u=user: leaf[u], (shared, local))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), got, expected)
        assert float(jnp.max(jnp.abs(expected[1]))) > 1e-3


@pytest.mark.parametrize("a", [0.3, *(pytest.param(a, marks=pytest.mark.slow) for a in (0.0, 30.0, math.inf))])
def test_the_grids_arguments_give_the_programs_steps(a, task):
    """Of the sweep's point (a, s): eta_w on the mean over L users, clipped jointly, and L eta_theta on theta."""
    points = SWEEPS["ppsgd_cnn"]("paper").entries["PPSGD"].points
    s, clip_norm, num_sampled = 0.5, 0.1, 10
    point = points[(points["legend_personalization"] == a) & (points["legend_step_size"] == s)].iloc[0]
    eta_w, eta_theta = (a * s, s) if a <= 1 else (s, 0.0 if math.isinf(a) else s / a)
    from bench.algorithms.ppsgd import step_sizes

    got_w, got_local = step_sizes(point["step_size"], point["personalization"])
    assert float(got_w) == pytest.approx(eta_w)
    assert float(got_local) == pytest.approx(num_sampled * eta_theta)
    if a != 0.3:
        return
    algorithm = ALGORITHMS["ppsgd"].make(
        task,
        num_sampled=USERS,
        batch_size=EACH,
        sampler="all",
        step_size=float(point["step_size"]),
        personalization=float(point["personalization"]),
        clip_norm=clip_norm,
        noise_multiplier=0.0,
    )
    state, info = jax.jit(algorithm.round)(jax.random.key(0), algorithm.init(jax.random.key(0)))
    params, expected = algorithm.params(state), task.init_params
    norms = []
    for user in range(USERS):
        rows = zip(*(leaf[user] for leaf in task.train), strict=True)
        g_w, g_theta = loop_gradient(task.init_params, jnp.zeros((32, 10)), rows)
        norms.append(math.sqrt(sum(float(jnp.sum(leaf**2)) for leaf in jax.tree.leaves(g_w))))
        factor = -eta_w / USERS / max(1.0, norms[-1] / clip_norm)
        expected = jax.tree.map(lambda w, g, f=factor: w + f * g, expected, g_w)
        np.testing.assert_allclose(params.theta[user], -num_sampled * eta_theta * g_theta, atol=1e-5)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5), params.w, expected)
    assert float(info["clipped"]) == pytest.approx(np.mean([norm > clip_norm for norm in norms]))
