"""Clipped sums of the per-example gradients of a flax network, without forming every gradient.

One forward and one backward pass over a batch give, for every layer with parameters, its inputs a and the gradient d
of each example's loss in its outputs. Both the norm of an example's gradient and the clipped sum follow from these:

    dense:        G = a d^T,  |G| = |a| |d|
    convolution:  G = sum_p a_p d_p^T over places p, a_p the patch there;  |G|^2 = sum_pq <a_p, a_q> <d_p, d_q>,
                  or G itself, whichever is cheaper ("ghost norms": Li et al. 2022, Bu et al. 2022)
    elementwise:  G = a * d

On a CPU convolutions are products of patches with the kernel, see `patches`; on an accelerator patches are made for
the gradients alone, since it would write them to memory. A GPU multiplies float32 matrices in
TF32 by default, with 10 bits of mantissa. That is enough for the two passes, whose result is clipped whatever it is.
Norms and clipped sums are products in full float32: else an example's part could be longer than C by a thousandth.

Linear classifiers have a kernel of their own, `linear_network`.

An example's gradient is clipped as a whole, or layer by layer: the part of each of L layers to C / sqrt(L), so that the
whole has length C at most, which is what the noise is scaled for.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import cast

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float, Int, Shaped

from bench.kernels import linear_network
from bench.kernels.gradient import Tree, clip_factor, masked, scaled
from bench.kernels.order import first_largest
from bench.kernels.patches import patches
from bench.kernels.platforms import by_platform, on_cpu

_einsum = partial(jnp.einsum, precision="highest")
AFFINE, DENSE = "Affine_0", "Dense_0"  # the parts of a ScaledLinear
TOGETHER = 256  # the most examples that are differentiated together on an accelerator


class Affine(nn.Module):
    """scale * x + bias, elementwise over the last `axes` axes, initially 1 and 0; it may end a normalisation."""

    axes: int = 1

    @nn.compact
    def __call__(self, x: Array) -> Array:
        shape = x.shape[x.ndim - self.axes :]
        scale, bias = self.param("scale", nn.initializers.ones, shape), self.param("bias", nn.initializers.zeros, shape)
        leading_axes = range(x.ndim - self.axes)
        return x * jnp.expand_dims(scale, leading_axes) + jnp.expand_dims(bias, leading_axes)


class ScaledLinear(nn.Module):
    """A linear classifier, dense(affine(x)), of all axes but the first; `affine` scales each input by itself.

    Its clipped sums are computed by `linear_network`.
    """

    classes: int
    initializer: Callable[[int], Callable]  # number of inputs -> initialiser of the dense layer's kernel and bias
    affine: bool = True

    @nn.compact
    def __call__(self, x: Array) -> Array:
        if self.affine:
            x = Affine(x.ndim - 1)(x)
        x = x.reshape(x.shape[0], -1)
        init = self.initializer(x.shape[1])
        return nn.Dense(self.classes, kernel_init=init, bias_init=init)(x)


def cross_entropy(logits: Float[Array, "*example class"], labels: Int[Array, "*example"]) -> Float[Array, "*example"]:
    """Return -log softmax of the label's logit."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)


def micro_batch(widest: int) -> int:
    """Return the number of examples that are differentiated together on a CPU.

    It changes memory and time, and the results by rounding only.

    Args:
        widest: the size of one example in the widest layer, patches of a convolution included.
    """
    # About a megabyte stays in the cache, and XLA is slower with sizes other than powers of two. The networks of
    # CIFAR-10 are fastest with one example at a time: 0.7 to 0.8 of the time with eight.
    fitting = min(max(2**18 // widest, 1), 64)
    return 2 ** (fitting.bit_length() - 1)


def clipped_gradient_sum(
    network: nn.Module,
    params: Tree,
    inputs: Shaped[Array, "example ..."],
    labels: Int[Array, " example"],
    weight: Float[Array, " example"],
    clip_norm: float | Float[Array, ""],
    *,
    per_layer: bool = False,
) -> tuple[Tree, Float[Array, " example"], Float[Array, "example class"]]:
    """Compute sum_j weight_j clip(grad_j, C) of the cross-entropy of a network.

    Adding or removing one example of weight 1 moves the sum by at most C, in L2 over all parameters together, whether
    gradients are clipped as a whole or by layer.

    Args:
        network: its parameters are all in nn.Conv, nn.Dense and Affine layers, each called once.
        params: of the network.
        inputs: as the network takes them; another dtype is cast.
        labels: of the inputs.
        weight: 0 for padding.
        clip_norm: C > 0; inf does not clip.
        per_layer: whether each of the L layers is clipped by itself, to C / sqrt(L). A layer is a module with
            parameters: a kernel and its bias are clipped together.

    Returns:
        The sum, a pytree as params; the norms before clipping, above C where something is clipped: with `per_layer`,
        sqrt(L) times the norm of the longest layer; the logits.

    Raises:
        TypeError: for a network with parameters elsewhere.
    """
    inputs = inputs.astype(jnp.float32)
    rules = {}  # the layers of the network, filled while tracing

    def forward(probes):
        logits, layers = _tapped(network, params, inputs, probes, rules)
        return jnp.sum(cross_entropy(logits, labels)), (layers, logits)

    layers, _ = jax.eval_shape(lambda: forward(None)[1])
    probes = {path: jnp.zeros(outputs.shape, outputs.dtype) for path, (_, outputs) in layers.items()}
    slopes, (layers, logits) = jax.grad(forward, has_aux=True)(probes)
    squares, sums = {}, {}
    for path, rule in rules.items():
        squares[path], sums[path] = rule(layers[path][0], slopes[path])
    if per_layer:
        lengths = {path: math.sqrt(len(rules)) * jnp.sqrt(square) for path, square in squares.items()}
        norms = jnp.max(jnp.stack(list(lengths.values())), axis=0)
    else:
        norms = jnp.sqrt(sum(squares.values(), jnp.zeros(labels.shape)))
        lengths = dict.fromkeys(rules, norms)
    weight = jnp.where(jnp.isfinite(norms), weight, 0.0)
    scales = {path: weight * clip_factor(length, clip_norm) for path, length in lengths.items()}
    return _sums_as_params(params, {path: add(scales[path]) for path, add in sums.items()}), norms, logits


def clipped_gradient_of_rows(
    network: nn.Module,
    params: Tree,
    pool: tuple[Shaped[Array, "row ..."], Int[Array, " row"]],
    rows: Int[Array, " place"],
    count: int | Int[Array, ""],
    clip_norm: float | Float[Array, ""],
    *,
    usual: int | None = None,
    per_layer: bool = False,
) -> tuple[Tree, Float[Array, ""], Float[Array, ""]]:
    """Compute `clipped_gradient_sum` over the first `count` of some rows of a pool, a micro-batch at a time.

    Memory grows with the micro-batch, time with `count` and not with the length of `rows`.

    Args:
        network, params, clip_norm, per_layer: as for `clipped_gradient_sum`.
        pool: (inputs, labels).
        rows: of the pool; places from `count` on are ignored.
        count: number of examples.
        usual: number that `count` rarely exceeds, which an accelerator computes together; default all places.

    Returns:
        The sum, a pytree as params, the number of examples that were clipped, and the number that the network gets
        right.
    """
    example = jax.ShapeDtypeStruct((1, *pool[0].shape[1:]), jnp.float32)
    if isinstance(network, ScaledLinear) and not per_layer:
        batch, widest = _linear_batch, 2 * example.size  # the inputs, and as many slopes
    else:
        batch = partial(_batch, network, per_layer)
        layers = jax.eval_shape(lambda x: _tapped(network, params, x, None, {})[1], example)
        widest = max(x.size for x, _ in layers.values())
    together = min(-(-(usual or rows.shape[0]) // 32) * 32, TOGETHER)
    size = min(by_platform(micro_batch(widest), together), rows.shape[0])
    return _in_batches_of(size, batch, params, pool, rows, count, clip_norm)


def _batch(network: nn.Module, per_layer: bool, params, clip_norm):
    """Return how the sums of a micro-batch are computed, and how the clipped sum follows from those of all."""

    def batch_sums(inputs, labels, weight):
        return clipped_gradient_sum(network, params, inputs, labels, weight, clip_norm, per_layer=per_layer)

    return batch_sums, lambda total: total


def _linear_batch(params, clip_norm):
    """Return the same for a ScaledLinear."""
    dense, affine = params[DENSE], params.get(AFFINE)
    scaling = affine and linear_network.Scaling(affine["scale"].ravel(), affine["bias"].ravel())
    # XLA on a CPU is faster with the longer axis last.
    model = linear_network.Linear(dense["kernel"].T, dense["bias"], scaling)

    def batch_sums(inputs, labels, weight):
        # The barrier keeps XLA on a CPU from casting them anew, one by one, wherever they are used.
        flat = jax.lax.optimization_barrier(inputs.reshape(inputs.shape[0], -1).astype(jnp.float32))
        return linear_network.clipped_sums(model, flat, labels, weight, clip_norm)

    def total_gradient(sums):
        total = linear_network.gradient_of(model, sums)
        tree = {DENSE: {"kernel": total.kernel.T, "bias": total.offset}}
        if total.scaling is not None:
            tree[AFFINE] = total.scaling._asdict()
        return jax.tree.map(lambda leaf, like: leaf.reshape(like.shape), tree, params)

    return batch_sums, total_gradient


def _in_batches_of(size: int, batch: Callable, params, pool, rows, count, clip_norm):
    """Compute `clipped_gradient_of_rows` with `size` examples at a time."""
    padded = jnp.pad(rows, (0, -rows.shape[0] % size))
    batch_sums, finish = batch(params, clip_norm)

    def of_batch(index):
        place = index * size + jnp.arange(size)
        batch_rows = jax.lax.dynamic_slice_in_dim(padded, index * size, size)
        inputs, labels = (leaf[batch_rows] for leaf in pool)
        weight = (place < count).astype(jnp.float32)
        sums, norms, logits = batch_sums(inputs, labels, weight)
        clipped = jnp.sum(jnp.where(norms > clip_norm, weight, 0.0))
        correct = jnp.sum(jnp.where(first_largest(logits) == labels, weight, 0.0))
        return sums, clipped, correct

    def add(index, totals):
        return jax.tree.map(jnp.add, totals, of_batch(index))

    zeros = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), jax.eval_shape(of_batch, 0))
    sums, clipped, correct = jax.lax.fori_loop(0, (count + size - 1) // size, add, zeros)
    return finish(sums), clipped, correct


def _tapped(network: nn.Module, params, inputs: Array, probes, rules: dict):
    """Return the logits, and each layer's (inputs, outputs plus probes); the layers' rules are filled in."""
    layers = {}

    def intercept(call, args, kwargs, context):
        module = context.module
        if context.method_name != "__call__" or not isinstance(module, nn.Conv | nn.Dense | Affine):
            return call(*args, **kwargs)
        (x,) = args
        path = "/".join(module.path)
        rules[path] = partial(_elementwise, axes=module.axes) if isinstance(module, Affine) else _product
        if not isinstance(module, nn.Conv):
            outputs = call(x)
        elif on_cpu():
            x = _patches(module, x)
            kernel, bias = (module.get_variable("params", name) for name in ("kernel", "bias"))
            outputs = x @ kernel.reshape(-1, kernel.shape[-1]) + bias[None, None, None]
        else:
            outputs = call(x)
            rules[path] = lambda x, slopes: _product(_patches(module, x), slopes)
        layers[path] = x, outputs
        return outputs if probes is None else outputs + probes[path]

    with nn.intercept_methods(intercept):
        return cast(Array, network.apply({"params": params}, inputs)), layers


def _patches(conv: nn.Conv, x: Array) -> Array:
    """Return the `patches` of a layer's inputs."""
    size, strides, padding = conv.kernel_size, conv.strides or 1, conv.padding
    size, strides = ((number, number) if isinstance(number, int) else number for number in (size, strides))
    padding = (padding, padding) if isinstance(padding, int) else padding
    if not isinstance(padding, str):
        padding = [(number, number) if isinstance(number, int) else number for number in padding]
    return patches(x, size, strides, padding)


def _product(inputs: Array, slopes: Array):
    """Return the rule of dense layers and convolutions."""
    a = inputs.reshape(inputs.shape[0], -1, inputs.shape[-1])  # [example, place, input]
    d = slopes.reshape(slopes.shape[0], -1, slopes.shape[-1])  # [example, place, output]
    places, width, height = a.shape[1], a.shape[2], d.shape[2]
    offsets = jnp.sum(d, axis=1)
    squares = jnp.sum(jnp.square(offsets), axis=-1)
    if places**2 * (width + height) < 2 * width * height:  # its sum costs as much as the gradients do
        gram = _einsum("bpi,bqi->bpq", a, a) * _einsum("bpo,bqo->bpq", d, d)
        squares = squares + jnp.sum(gram, axis=(1, 2))

        def kernel(scale):
            return _einsum("bpi,bpo->io", masked(scale != 0, a), scaled(d, scale[:, None, None]))
    else:
        # XLA on a CPU is up to twice as fast with the longer axis last.
        form = "boi" if width > height else "bio"
        gradients = jnp.einsum(
            f"bpi,bpo->{form}", a, d
        )  # in TF32 it is another gradient, and its norm is still its norm
        squares = squares + jnp.sum(jnp.square(gradients), axis=(1, 2))

        def kernel(scale):
            return _einsum(f"b,{form}->io", scale, masked(scale != 0, gradients))

    return squares, lambda scale: {
        "kernel": kernel(scale),
        "bias": _einsum("b,bo->o", scale, masked(scale != 0, offsets)),
    }


def _elementwise(inputs: Array, slopes: Array, axes: int):
    where = tuple(range(1, inputs.ndim - axes))
    scales = jnp.sum(inputs * slopes, axis=where)
    offsets = jnp.sum(slopes, axis=where)
    squares = (jnp.sum(jnp.square(x), axis=range(1, x.ndim)) for x in (scales, offsets))
    return sum(squares), lambda scale: {
        "scale": jnp.tensordot(scale, masked(scale != 0, scales), 1, precision="highest"),
        "bias": jnp.tensordot(scale, masked(scale != 0, offsets), 1, precision="highest"),
    }


def _sums_as_params(params, sums: dict):
    """Return the layers' sums in the shape of params."""
    tree: dict = {}
    for path, leaves in sums.items():
        node = tree
        for name in path.split("/"):
            node = node.setdefault(name, {})
        node.update(leaves)
    if jax.tree.structure(tree) != jax.tree.structure(params):
        raise TypeError("every parameter must be in an nn.Conv, nn.Dense or Affine layer that is called once")
    return jax.tree.map(lambda total, like: total.reshape(like.shape), tree, params)
