"""Tables of the networks' layers, and a walk through such a table in plain NumPy."""

import jax
import numpy as np

# A layer is its kind, its arguments, the height and width of what it makes, and the activation after it.
# conv: outputs, size, stride, padding. max, mean: stride. dense: outputs. affine: how many axes of features.
# The activation "act" is that of the table's network.
DIGITS = [
    ("conv", (16, 8, 2, 0), 11, "act"),
    ("max", (2,), 5),
    ("conv", (32, 4, 2, 1), 2, "act"),
    ("max", (2,), 1),
    ("dense", (32,), None, "relu"),
    ("dense", (10,), None),
]
COLOURS = [
    ("conv", (32, 3, 1, 1), 32, "act"),
    ("conv", (32, 3, 1, 1), 32, "act"),
    ("mean", (2,), 16),
    ("conv", (64, 3, 1, 1), 16, "act"),
    ("conv", (64, 3, 1, 1), 16, "act"),
    ("mean", (2,), 8),
    ("conv", (128, 3, 1, 1), 8, "act"),
    ("conv", (128, 3, 1, 1), 8, "act"),
    ("mean", (2,), 4),
    ("conv", (256, 3, 1, 1), 4, "act"),
    ("conv", (10, 3, 1, 1), 4),
    ("average", (), None),
]
SCATTER_DIGITS = [
    ("affine", (1,), 7),
    ("conv", (16, 3, 2, 1), 4, "tanh"),
    ("max", (1,), 3),
    ("conv", (32, 3, 1, 1), 3, "tanh"),
    ("max", (1,), 2),
    ("dense", (32,), None, "tanh"),
    ("dense", (10,), None),
]
SCATTER_COLOURS = [
    ("affine", (1,), 8),
    ("conv", (64, 3, 1, 1), 8, "tanh"),
    ("max", (2,), 4),
    ("conv", (64, 3, 1, 1), 4, "tanh"),
    ("max", (2,), 2),
    ("dense", (10,), None),
]
PAPERNOT_DIGITS = [
    ("conv", (16, 8, 2, 3), 14, "tanh"),
    ("max", (1,), 13),
    ("conv", (32, 4, 2, 0), 5, "tanh"),
    ("max", (1,), 4),
    ("dense", (32,), None, "tanh"),
    ("dense", (10,), None),
]
TRAMER_DIGITS = [("conv", (16, 8, 2, 2), 13, "tanh"), ("max", (1,), 12), *PAPERNOT_DIGITS[2:]]
TRAMER_COLOURS = [
    *(("max" if kind == "mean" else kind, *rest) for kind, *rest in COLOURS[:9]),
    ("dense", (128,), None, "tanh"),
    ("dense", (10,), None),
]
TRAMER_SCATTER_DIGITS = [
    ("conv", (16, 3, 2, 1), 4, "tanh"),
    ("conv", (32, 3, 1, 1), 4, "tanh"),
    ("dense", (32,), None, "tanh"),
    ("dense", (10,), None),
]
TRAMER_SCATTER_COLOURS = [*SCATTER_COLOURS[1:4], ("dense", (10,), None)]
TABLES = {
    ("mnist", "cnn_relu"): (DIGITS, "relu"),
    ("mnist", "cnn_tempered"): (DIGITS, "tanh"),
    ("mnist", "scatter_linear"): ([("affine", (3,), 7), ("dense", (10,), None)], None),
    ("mnist", "scatter_cnn"): (SCATTER_DIGITS, None),
    ("mnist", "papernot_cnn"): (PAPERNOT_DIGITS, None),
    ("mnist", "tramer_cnn"): (TRAMER_DIGITS, None),
    ("mnist", "tramer_scatter_linear"): ([("dense", (10,), None)], None),
    ("mnist", "tramer_scatter_cnn"): (TRAMER_SCATTER_DIGITS, None),
    ("cifar10", "cnn_relu"): (COLOURS, "relu"),
    ("cifar10", "cnn_tempered"): (COLOURS, "tanh"),
    ("cifar10", "scatter_linear"): ([("affine", (3,), 8), ("dense", (10,), None)], None),
    ("cifar10", "scatter_cnn"): (SCATTER_COLOURS, None),
    ("cifar10", "papernot_cnn"): (COLOURS, "tanh"),
    ("cifar10", "tramer_cnn"): (TRAMER_COLOURS, "tanh"),
    ("cifar10", "tramer_scatter_linear"): ([("dense", (10,), None)], None),
    ("cifar10", "tramer_scatter_cnn"): (TRAMER_SCATTER_COLOURS, None),
}

ACTIVATIONS = {"relu": lambda z: np.maximum(z, 0), "tanh": np.tanh}


def windows(x, size, stride):
    """Row, column, and the window [batch, size, size, channel] there, for all that fit."""
    for i in range((x.shape[1] - size) // stride + 1):
        for j in range((x.shape[2] - size) // stride + 1):
            yield i, j, x[:, stride * i : stride * i + size, stride * j : stride * j + size]


def pooled(x, stride, how):
    side = (x.shape[1] - 2) // stride + 1
    out = np.empty((x.shape[0], side, side, x.shape[-1]))
    for i, j, window in windows(x, 2, stride):
        out[:, i, j] = how(window, axis=(1, 2))
    return out


def convolved(x, kernel, bias, stride, padding):
    size = kernel.shape[0]
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    side = (x.shape[1] - size) // stride + 1
    out = np.empty((x.shape[0], side, side, kernel.shape[-1]))
    for i, j, window in windows(x, size, stride):
        out[:, i, j] = np.tensordot(window, kernel, 3) + bias
    return out


def walk(table, activation, params, x):
    """Logits of the layers of a table; every layer takes the next parameters of its kind."""
    params = jax.tree.map(np.float64, params)
    seen = {"Conv": 0, "Dense": 0, "Affine": 0}

    def following(kind):
        seen[kind] += 1
        return params[f"{kind}_{seen[kind] - 1}"]

    for kind, args, side, *activations in table:
        if kind == "conv":
            outputs, size, stride, padding = args
            layer = following("Conv")
            assert layer["kernel"].shape == (size, size, x.shape[-1], outputs)
            x = convolved(x, layer["kernel"], layer["bias"], stride, padding)
        elif kind == "dense":
            x = x.reshape(len(x), -1)
            layer = following("Dense")
            assert layer["kernel"].shape == (x.shape[-1], *args)
            x = x @ layer["kernel"] + layer["bias"]
        elif kind == "affine":
            layer = following("Affine")
            assert layer["scale"].shape == layer["bias"].shape == x.shape[x.ndim - args[0] :]
            x = x * layer["scale"] + layer["bias"]
        elif kind in ("max", "mean"):
            x = pooled(x, *args, getattr(np, kind))
        else:
            assert kind == "average"
            x = x.mean((1, 2))
        for name in activations:
            x = ACTIVATIONS[activation if name == "act" else name](x)
        assert x.shape[1:-1] == ((side, side) if side else ())
    assert sum(seen.values()) == len(params)
    return x
