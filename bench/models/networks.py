"""Image networks: on pixels, and on scattering features that are already group-normalised.

Convolutions, pooling, padding and initial values are those of PyTorch, in which the networks were published; the
layers are flax's, on [batch, height, width, channel]. The comment on each line gives the height (and width) of its
result.

Sources: Bhaskar et al. 2025, as in its program; the "papernot" networks are of Papernot et al., "Tempered sigmoid
activations for deep learning with differential privacy", AAAI 2021; the "tramer" networks are of Tramèr and Boneh,
"Differentially private learning needs better features (or much more data)", ICLR 2021, as in its program.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast

import flax.linen as nn
import jax.numpy as jnp
from jax import Array, random

from bench.errors import check_name
from bench.kernels.per_example import Affine, ScaledLinear

CLASSES = 10


@dataclass(frozen=True)
class TemperedSigmoid:
    """The activation s / (1 + exp(-T z)) - o; tanh by default."""

    scale: float = 2.0
    inverse_temperature: float = 2.0
    offset: float = 1.0

    def __call__(self, z: Array) -> Array:
        # 1 / (1 + exp(-2 u)) = (1 + tanh u) / 2, and the right side loses no digits near 0.
        half = self.scale / 2
        return half * jnp.tanh(self.inverse_temperature / 2 * z) + (half - self.offset)


# ---- Layers ----


def _uniform(fan_in: int) -> Callable:
    """Return the initialiser uniform in +-1 / sqrt(fan-in), which is PyTorch's kaiming_uniform_(a=sqrt(5)) and its
    initialiser of biases.
    """
    bound = fan_in**-0.5
    return lambda key, shape, dtype=jnp.float32: random.uniform(key, shape, dtype, -bound, bound)


def _conv(x: Array, features: int, size: int, *, stride: int = 1, padding: int = 0) -> Array:
    init = _uniform(size * size * x.shape[-1])
    pads = ((padding, padding), (padding, padding))
    return nn.Conv(features, (size, size), (stride, stride), pads, kernel_init=init, bias_init=init)(x)


def _dense(x: Array, features: int) -> Array:
    init = _uniform(x.shape[-1])
    return nn.Dense(features, kernel_init=init, bias_init=init)(x)


def _flat(x: Array) -> Array:
    return x.reshape(x.shape[0], -1)


def _windows(x: Array, stride: int) -> list[Array]:
    """Return the four places of every 2 x 2 window, without the remainder at the lower and right edge."""
    height, width = ((length - 2) // stride * stride + 1 for length in x.shape[1:3])
    return [x[:, i : i + height : stride, j : j + width : stride] for i in (0, 1) for j in (0, 1)]


def max_pool(x: Array, stride: int = 2) -> Array:
    """Return maxima of 2 x 2 windows of [batch, height, width, channel]; equal maxima share the gradient.

    It uses slices, because XLA's own windows, and above all their gradient, are slow on a CPU.
    """
    first, second, third, fourth = _windows(x, stride)
    return jnp.maximum(jnp.maximum(first, second), jnp.maximum(third, fourth))


def mean_pool(x: Array, stride: int = 2) -> Array:
    """Return means of 2 x 2 windows of [batch, height, width, channel]."""
    return cast(Array, sum(_windows(x, stride)) / 4)


# ---- Networks of Bhaskar et al. ----


class DigitCNN(nn.Module):
    """A network on [batch, 28, 28, 1]; `activation` is used after the convolutions."""

    activation: Callable = TemperedSigmoid()

    @nn.compact
    def __call__(self, x: Array) -> Array:
        x = self.activation(_conv(x, 16, 8, stride=2))  # 11
        x = max_pool(x)  # 5
        x = self.activation(_conv(x, 32, 4, stride=2, padding=1))  # 2
        x = max_pool(x)  # 1
        x = nn.relu(_dense(_flat(x), 32))
        return _dense(x, CLASSES)


class ColourCNN(nn.Module):
    """A network on [batch, 32, 32, 3]; also the network of Papernot et al. for CIFAR-10."""

    activation: Callable = TemperedSigmoid()

    @nn.compact
    def __call__(self, x: Array) -> Array:
        for features in (32, 64, 128):  # 32, 16, 8
            for _ in range(2):
                x = self.activation(_conv(x, features, 3, padding=1))
            x = mean_pool(x)  # 16, 8, 4
        x = self.activation(_conv(x, 256, 3, padding=1))  # 4
        x = _conv(x, CLASSES, 3, padding=1)  # 4
        return jnp.mean(x, axis=(1, 2))


class ScatterDigitCNN(nn.Module):
    """A network on [batch, 7, 7, 81] of scattering features."""

    @nn.compact
    def __call__(self, x: Array) -> Array:
        x = Affine()(x)
        x = nn.tanh(_conv(x, 16, 3, stride=2, padding=1))  # 4
        x = max_pool(x, stride=1)  # 3
        x = nn.tanh(_conv(x, 32, 3, padding=1))  # 3
        x = max_pool(x, stride=1)  # 2
        x = nn.tanh(_dense(_flat(x), 32))
        return _dense(x, CLASSES)


class ScatterColourCNN(nn.Module):
    """A network on [batch, 8, 8, 243] of scattering features."""

    @nn.compact
    def __call__(self, x: Array) -> Array:
        x = Affine()(x)
        for _ in range(2):
            x = nn.tanh(_conv(x, 64, 3, padding=1))  # 8, 4
            x = max_pool(x)  # 4, 2
        return _dense(_flat(x), CLASSES)


# ---- Networks of the papers that Bhaskar et al. cite ----


class OriginalDigitCNN(nn.Module):
    """A network on [batch, 28, 28, 1]. Papernot et al. pad the first convolution to 14 places, Tramèr and Boneh by 2 to
    13.

    Both have 5 places after the second convolution, so equally many parameters.
    """

    activation: Callable = TemperedSigmoid()
    padding: int = 3

    @nn.compact
    def __call__(self, x: Array) -> Array:
        x = self.activation(_conv(x, 16, 8, stride=2, padding=self.padding))  # 14, 13
        x = max_pool(x, stride=1)  # 13, 12
        x = self.activation(_conv(x, 32, 4, stride=2))  # 5
        x = max_pool(x, stride=1)  # 4
        x = self.activation(_dense(_flat(x), 32))
        return _dense(x, CLASSES)


class OriginalColourCNN(nn.Module):
    """A network on [batch, 32, 32, 3], of Tramèr and Boneh."""

    @nn.compact
    def __call__(self, x: Array) -> Array:
        for features in (32, 64, 128):  # 32, 16, 8
            for _ in range(2):
                x = nn.tanh(_conv(x, features, 3, padding=1))
            x = max_pool(x)  # 16, 8, 4
        x = nn.tanh(_dense(_flat(x), 128))
        return _dense(x, CLASSES)


class OriginalScatterDigitCNN(nn.Module):
    """A network on [batch, 7, 7, 81] of scattering features, of Tramèr and Boneh."""

    @nn.compact
    def __call__(self, x: Array) -> Array:
        x = nn.tanh(_conv(x, 16, 3, stride=2, padding=1))  # 4
        x = nn.tanh(_conv(x, 32, 3, padding=1))  # 4
        x = nn.tanh(_dense(_flat(x), 32))
        return _dense(x, CLASSES)


class OriginalScatterColourCNN(nn.Module):
    """A network on [batch, 8, 8, 243] of scattering features, of Tramèr and Boneh."""

    @nn.compact
    def __call__(self, x: Array) -> Array:
        x = nn.tanh(_conv(x, 64, 3, padding=1))  # 8
        x = max_pool(x)  # 4
        x = nn.tanh(_conv(x, 64, 3, padding=1))  # 4
        return _dense(_flat(x), CLASSES)


# ---- By data set and name ----


class ImageNetwork(NamedTuple):
    """A network and its kind of input.

    module: float32 [batch, height, width, channel] -> logits [batch, class].
    features: "pixels" or "scattering".
    """

    module: nn.Module
    features: str


_DIGITS = {
    "cnn_relu": ImageNetwork(DigitCNN(nn.relu), "pixels"),
    "cnn_tempered": ImageNetwork(DigitCNN(), "pixels"),
    "scatter_linear": ImageNetwork(ScaledLinear(CLASSES, _uniform), "scattering"),
    "scatter_cnn": ImageNetwork(ScatterDigitCNN(), "scattering"),
    "papernot_cnn": ImageNetwork(OriginalDigitCNN(), "pixels"),
    "tramer_cnn": ImageNetwork(OriginalDigitCNN(nn.tanh, padding=2), "pixels"),
    "tramer_scatter_linear": ImageNetwork(ScaledLinear(CLASSES, _uniform, affine=False), "scattering"),
    "tramer_scatter_cnn": ImageNetwork(OriginalScatterDigitCNN(), "scattering"),
}

NETWORKS: dict[str, dict[str, ImageNetwork]] = {
    "mnist": _DIGITS,
    "fashion_mnist": _DIGITS,
    "cifar10": {
        "cnn_relu": ImageNetwork(ColourCNN(nn.relu), "pixels"),
        "cnn_tempered": ImageNetwork(ColourCNN(), "pixels"),
        "scatter_linear": ImageNetwork(ScaledLinear(CLASSES, _uniform), "scattering"),
        "scatter_cnn": ImageNetwork(ScatterColourCNN(), "scattering"),
        "papernot_cnn": ImageNetwork(ColourCNN(), "pixels"),
        "tramer_cnn": ImageNetwork(OriginalColourCNN(), "pixels"),
        "tramer_scatter_linear": ImageNetwork(ScaledLinear(CLASSES, _uniform, affine=False), "scattering"),
        "tramer_scatter_cnn": ImageNetwork(OriginalScatterColourCNN(), "scattering"),
    },
}


def network(dataset: str, model: str) -> ImageNetwork:
    """Return the network of that name for that data set.

    Raises:
        InputError: for a data set that has no networks, or an unknown name.
    """
    check_name("data set with networks", dataset, NETWORKS)
    check_name(f"model for {dataset}", model, NETWORKS[dataset])
    return NETWORKS[dataset][model]
