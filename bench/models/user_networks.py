"""Networks of the user-level tasks; "head" is the last layer, and logits of an example are its own.

Convolutions are products of patches, which stay fast where every user has weights of its own (`bench.kernels.patches`).
"""

from functools import partial
from typing import cast

import flax.linen as nn
import jax.numpy as jnp
from jax import Array

from bench.models.digits_cnn import convolution


class PictureCNN(nn.Module):
    """Pictures uint8 [example, 32, 32, 3] -> logits [example, 10]: three convolutions, each with group normalisation.

    It has 66,000 parameters, fewer than the networks of the literature, since noise grows with their number.
    """

    widths: tuple[int, ...] = (32, 64, 64)
    classes: int = 10

    @nn.compact
    def __call__(self, pictures):
        conv = partial(nn.Conv, kernel_size=(3, 3), use_bias=False, conv_general_dilated=convolution)
        x = pictures.astype(jnp.float32) / 127.5 - 1.0
        for layer, width in enumerate(self.widths):
            x = conv(width, name=f"conv_{layer}")(x)
            x = nn.relu(nn.GroupNorm(num_groups=8, name=f"norm_{layer}")(x))
            height, across = x.shape[1] // 2, x.shape[2] // 2
            x = jnp.mean(x.reshape(x.shape[0], height, 2, across, 2, width), axis=(2, 4))  # 16, 8, 4
        x = jnp.mean(x.reshape(x.shape[0], 2, x.shape[1] // 2, 2, x.shape[2] // 2, x.shape[3]), axis=(2, 4))
        return nn.Dense(self.classes, name="head")(x.reshape(x.shape[0], -1))


class NextCharacter(nn.Module):
    """The characters before one, [example, character] -> logits of it: an embedding of each, and a hidden layer.

    characters: in the alphabet.
    """

    characters: int
    embedding: int = 8
    hidden: int = 64

    @nn.compact
    def __call__(self, before):
        x = nn.Embed(self.characters, self.embedding, name="embedding")(before.astype(jnp.int32))
        x = nn.tanh(nn.Dense(self.hidden, name="hidden")(x.reshape(x.shape[0], -1)))
        return nn.Dense(self.characters, name="head")(x)


class CharacterLSTM(nn.Module):
    """The same with two recurrent layers, the usual network of this task (LEAF; Reddi et al. 2021)."""

    characters: int
    embedding: int = 8
    hidden: int = 256

    @nn.compact
    def __call__(self, before):
        x = nn.Embed(self.characters, self.embedding, name="embedding")(before.astype(jnp.int32))
        for layer in range(2):
            x = cast(Array, nn.RNN(nn.OptimizedLSTMCell(self.hidden), name=f"recurrent_{layer}")(x))
        return nn.Dense(self.characters, name="head")(x[:, -1])
