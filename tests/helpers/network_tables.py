"""Tables of the networks' layers, and a walk through such a table in plain NumPy."""

import jax
import numpy as np

# A layer is its kind, its arguments, and the height and width of what it makes.
# conv: outputs, size, stride, padding. max, mean: stride. dense: outputs. affine: how many axes of features.
DIGITS = [
    ("conv", (16, 8, 2, 0), 11),
    ("act", (), 11),
    ("max", (2,), 5),
    ("conv", (32, 4, 2, 1), 2),
    ("act", (), 2),
    ("max", (2,), 1),
    ("dense", (32,), None),
    ("relu", (), None),
    ("dense", (10,), None),
]
COLOURS = [
    ("conv", (32, 3, 1, 1), 32),
    ("act", (), 32),
    ("conv", (32, 3, 1, 1), 32),
    ("act", (), 32),
    ("mean", (2,), 16),
    ("conv", (64, 3, 1, 1), 16),
    ("act", (), 16),
    ("conv", (64, 3, 1, 1), 16),
    ("act", (), 16),
    ("mean", (2,), 8),
    ("conv", (128, 3, 1, 1), 8),
    ("act", (), 8),
    ("conv", (128, 3, 1, 1), 8),
    ("act", (), 8),
    ("mean", (2,), 4),
    ("conv", (256, 3, 1, 1), 4),
    ("act", (), 4),
    ("conv", (10, 3, 1, 1), 4),
    ("average", (), None),
]
SCATTER_DIGITS = [
    ("affine", (1,), 7),
    ("conv", (16, 3, 2, 1), 4),
    ("tanh", (), 4),
    ("max", (1,), 3),
    ("conv", (32, 3, 1, 1), 3),
    ("tanh", (), 3),
    ("max", (1,), 2),
    ("dense", (32,), None),
    ("tanh", (), None),
    ("dense", (10,), None),
]
SCATTER_COLOURS = [
    ("affine", (1,), 8),
    ("conv", (64, 3, 1, 1), 8),
    ("tanh", (), 8),
    ("max", (2,), 4),
    ("conv", (64, 3, 1, 1), 4),
    ("tanh", (), 4),
    ("max", (2,), 2),
    ("dense", (10,), None),
]
PAPERNOT_DIGITS = [
    ("conv", (16, 8, 2, 3), 14),
    ("tanh", (), 14),
    ("max", (1,), 13),
    ("conv", (32, 4, 2, 0), 5),
    ("tanh", (), 5),
    ("max", (1,), 4),
    ("dense", (32,), None),
    ("tanh", (), None),
    ("dense", (10,), None),
]
TRAMER_DIGITS = [("conv", (16, 8, 2, 2), 13), ("tanh", (), 13), ("max", (1,), 12), *PAPERNOT_DIGITS[3:]]
TRAMER_COLOURS = [
    *(("max" if kind == "mean" else kind, *rest) for kind, *rest in COLOURS[:15]),
    ("dense", (128,), None),
    ("tanh", (), None),
    ("dense", (10,), None),
]
TRAMER_SCATTER_DIGITS = [
    ("conv", (16, 3, 2, 1), 4),
    ("tanh", (), 4),
    ("conv", (32, 3, 1, 1), 4),
    ("tanh", (), 4),
    ("dense", (32,), None),
    ("tanh", (), None),
    ("dense", (10,), None),
]
TRAMER_SCATTER_COLOURS = [*SCATTER_COLOURS[1:6], ("dense", (10,), None)]
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


def windows(x, size, stride):
    """Row, column, and the window [batch, size, size, channel] there, for all that fit."""
    for i in range((x.shape[1] - size) // stride + 1):
        for j in range((x.shape[2] - size) // stride + 1):
            yield i, j, x[:, stride * i : stride * i + size, stride * j : stride * j + size]


def pooled(x, stride, how):
    found = {(i, j): how(window, axis=(1, 2)) for i, j, window in windows(x, 2, stride)}
    height, width = (1 + max(place[axis] for place in found) for axis in (0, 1))
    return np.stack([np.stack([found[i, j] for j in range(width)], 1) for i in range(height)], 1)


def convolved(x, kernel, bias, stride, padding):
    size = kernel.shape[0]
    pads = tuple(np.broadcast_to(padding, 2))  # before and after, or one number for both
    x = np.pad(x, ((0, 0), pads, pads, (0, 0)))
    side = (x.shape[1] - size) // stride + 1
    out = np.empty((x.shape[0], side, side, kernel.shape[-1]))
    for i, j, window in windows(x, size, stride):
        out[:, i, j] = np.tensordot(window, kernel, 3) + bias
    return out


def walk(table, activation, params, x):
    """Logits of the layers of a table; every layer takes the next parameters of its kind."""
    params = jax.tree.map(np.float64, params)
    acts = {"relu": lambda z: np.maximum(z, 0), "tanh": np.tanh}
    seen = {"Conv": 0, "Dense": 0, "Affine": 0}

    def following(kind):
        seen[kind] += 1
        return params[f"{kind}_{seen[kind] - 1}"]

    for kind, args, side in table:
        kind = activation if kind == "act" else kind
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
        elif kind == "average":
            x = x.mean((1, 2))
        else:
            x = acts[kind](x)
        assert x.shape[1:-1] == ((side, side) if side else ())
    assert sum(seen.values()) == len(params)
    return x
