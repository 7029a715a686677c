"""A convolutional network for digits with a personalised last layer: client i predicts (w + theta_i)^T phi(x).

The representation phi and the head w are shared, theta_i is local.

Source: Bietti et al. 2022, section 6 (Figure 1d), and the authors' program.
"""

from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array

from bench.kernels.patches import patches
from bench.kernels.platforms import by_platform

SIDE, FEATURES, NUM_CLASSES = 28, 32, 10


def convolution(inputs: Array, kernel: Array, strides, padding, **_) -> Array:
    """Compute `jax.lax.conv_general_dilated` of [example, row, column, channel].

    A CPU computes one product with the `patches`, and so does an accelerator for the gradient of the kernel alone.
    """
    return by_platform(_patch_convolution, _platform_convolution)(inputs, kernel, strides, padding)


def _patch_convolution(inputs: Array, kernel: Array, strides, padding) -> Array:
    return patches(inputs, kernel.shape[:2], strides, padding) @ kernel.reshape(-1, kernel.shape[-1])


_convolved = partial(jax.lax.conv_general_dilated, dimension_numbers=("NHWC", "HWIO", "NHWC"))
_platform_convolution = jax.custom_vjp(_convolved, nondiff_argnums=(2, 3))


def _forward(inputs: Array, kernel: Array, strides, padding):
    return _convolved(inputs, kernel, strides, padding), (inputs, kernel)


def _backward(strides, padding, saved: tuple[Array, Array], slopes: Array) -> tuple[Array, Array]:
    inputs, kernel = saved
    _, to_inputs = jax.vjp(lambda inputs: _convolved(inputs, kernel, strides, padding), inputs)
    _, to_kernel = jax.vjp(lambda kernel: _patch_convolution(inputs, kernel, strides, padding), kernel)
    return *to_inputs(slopes), *to_kernel(slopes)


_platform_convolution.defvjp(_forward, _backward)


def max_pool(x: Array) -> Array:
    """Return the largest value of each 2 x 2 window, stride 1, of [example, row, column, channel]."""
    x = jnp.maximum(x[:, 1:], x[:, :-1])
    return jnp.maximum(x[:, :, 1:], x[:, :, :-1])


class Representation(nn.Module):
    """phi: images [example, 28, 28, 1] -> features [example, 32], with 25,680 weights."""

    @nn.compact
    def __call__(self, images):
        kernel_init, bias_init = nn.initializers.glorot_normal(), nn.initializers.normal(1e-6)
        dense = partial(nn.Dense, kernel_init=kernel_init, bias_init=bias_init)
        conv = partial(nn.Conv, conv_general_dilated=convolution, kernel_init=kernel_init, bias_init=bias_init)
        x = max_pool(nn.relu(conv(16, (8, 8), strides=2, padding="SAME")(images)))
        x = max_pool(nn.relu(conv(32, (4, 4), strides=2, padding="VALID")(x)))
        return nn.relu(dense(FEATURES)(x.reshape(x.shape[0], -1)))


class Classifier(nn.Module):
    """The network as one module of two parts: pixels [example, 784] -> logits [example, 10]."""

    @nn.compact
    def __call__(self, pixels):
        phi = Representation(name="representation")(pixels.reshape(-1, SIDE, SIDE, 1))
        return nn.Dense(NUM_CLASSES, use_bias=False, kernel_init=nn.initializers.normal(FEATURES**-0.5), name="head")(
            phi
        )


def initial_parameters(key: Array) -> dict:
    """Return the shared model: phi's weights ("representation") and w ~ N(0, 1/32), [feature, output] ("head")."""
    key_phi, key_head = jax.random.split(key)
    return {
        "representation": Representation().init(key_phi, jnp.zeros((1, SIDE, SIDE, 1)))["params"],
        "head": jax.random.normal(key_head, (FEATURES, NUM_CLASSES)) / jnp.sqrt(FEATURES),
    }


def features(shared: dict, pixels: Array) -> Array:
    """Return phi of images given as pixels [example, 784]; [example, feature]."""
    images = pixels.reshape(-1, SIDE, SIDE, 1)
    return jnp.asarray(Representation().apply({"params": shared["representation"]}, images))


def mean_squared_loss(shared: dict, theta: Array, example) -> Array:
    """Return the mean of ((w + theta)^T phi(x) - y)^2 over the outputs for one example (pixels [784], y [output])."""
    pixels, y = example
    prediction = features(shared, pixels[None])[0] @ (shared["head"] + theta)
    return jnp.mean(jnp.square(prediction - y))
