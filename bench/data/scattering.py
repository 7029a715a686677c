"""Scattering features of images, normalised in groups of channels: computed once, kept in the cache.

The windowed scattering transform (Mallat 2012; Bruna and Mallat 2013) of kymatio: averages of the image, of the moduli
of its wavelet transform, and of the moduli of theirs. With J = 2 scales and L = 8 angles these are
1 + JL + L^2 J(J-1)/2 = 81 channels for each colour, with one place for every 4 x 4 pixels. Nothing is learned, so they
cost no privacy. Every model that uses them begins with the same group normalisation, which depends only on the single
image and is therefore included in the features.

Sources: Bhaskar et al. 2025, as in its program; Tramèr and Boneh 2021 for the normalisation.
"""

from functools import cache
from pathlib import Path
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from rich.console import Console
from rich.progress import track

from bench.data.fetch.cache import filling, sha256
from bench.errors import InputError
from bench.files import cache_folder

SCALES, ANGLES = 2, 8  # J, L
STRIDE = 2**SCALES  # pixels from place to place
CHANNELS = 1 + SCALES * ANGLES + ANGLES**2 * SCALES * (SCALES - 1) // 2  # of each colour
GROUPS = 27
EPSILON = 1e-5  # added to the variance of a group
RECIPE = 1  # increased when the features of the same images change
PLANES = 48  # images times colours at once: the intermediate results stay in a CPU's cache


def recipe() -> str:
    """Return a description of everything but the images that determines features, for names and checksums."""
    return f"J{SCALES}-L{ANGLES}-recipe{RECIPE}"


def group_normalized(x: Array) -> Array:
    """Normalise each image's GROUPS groups of neighbouring channels, all places together, to mean 0 and variance 1.

    It is PyTorch's GroupNorm(27, channels) without its scale and bias, and also GroupNorm(27, channels * places) of the
    flattened features, since a group contains the same numbers.

    Args:
        x: [image, channel, height, width], the channels a multiple of GROUPS.
    """
    groups = x.reshape(x.shape[0], GROUPS, -1)
    centred = groups - jnp.mean(groups, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
    return (centred / jnp.sqrt(variance + EPSILON)).reshape(x.shape)


@cache
def transform(height: int, width: int):
    """Return the features of images of one size, as a compiled function.

    It takes uint8 [image, height, width, colour] and returns float32 [image, height / 4, width / 4, channel]; the
    channels of the first colour come first.
    """
    # Only the front end is imported, because the package imports names that newer SciPy no longer has.
    from kymatio.scattering2d.frontend.jax_frontend import ScatteringJax2D

    scattering = ScatteringJax2D(SCALES, (height, width), ANGLES)

    @jax.jit
    def features(images):
        planes = jnp.moveaxis(images, -1, 1).astype(jnp.float32)  # raw, 0 to 255
        # kymatio multiplies real filters by complex spectra, of fewer axes.
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            # [image, colour, channel, height, width]
            coefficients = cast(Array, scattering.scattering(planes))
        channels = coefficients.reshape(len(images), -1, *coefficients.shape[-2:])
        return jnp.moveaxis(group_normalized(channels), 1, -1)

    return features


def features(name: str, images: np.ndarray, checksum: str) -> np.ndarray:
    """Return the features of a data set's images from the cache; they are computed and cached where they are missing.

    They are stored in half precision: a normalised number is at most the root of a group's size, 24, and rounding
    changes a number by at most 2^-11 of itself (2^-25 for those below 2^-14), far less than DP-SGD's noise or its
    batches do.

    Args:
        name: of the data set, for the file's name.
        images: uint8 [image, height, width] or [image, height, width, colour].
        checksum: of the data set; other images have another one.

    Returns:
        float16 [image, height / 4, width / 4, channel], mapped from the file and read-only.

    Raises:
        InputError: the cached file is not what was written, or the cache cannot be written.
    """
    path = cache_folder("scattering") / f"{name}-{checksum}-{recipe()}.npy"
    if not path.exists():
        with filling(path.parent) as scratch:
            if not path.exists():  # another process was faster
                _compute(name, images if images.ndim == 4 else images[..., None], scratch / path.name)
                (scratch / _sum(path).name).replace(_sum(path))
                (scratch / path.name).replace(path)
    try:
        status = path.stat()
        _verify(path, status.st_size, status.st_mtime_ns)
        return np.load(path, mmap_mode="r")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: make it readable.") from None


def _compute(name: str, images: np.ndarray, path: Path) -> None:
    count, height, width, colours = images.shape
    shape = (count, height // STRIDE, width // STRIDE, colours * CHANNELS)
    header = {"descr": "<f2", "fortran_order": False, "shape": shape}
    batch = max(1, PLANES // colours)
    compute = transform(height, width)
    console = Console(stderr=True, soft_wrap=True)
    title = f"{name}: scattering features, once"
    if not console.is_terminal:
        console.print(title, highlight=False)
    with open(path, "wb") as file:  # not a memory map, which ends the process where the disk is full
        np.lib.format.write_array_header_1_0(file, header)
        for start in track(range(0, count, batch), title, console=console, disable=not console.is_terminal):
            block = images[start : start + batch]
            padded = np.pad(block, [(0, batch - len(block)), (0, 0), (0, 0), (0, 0)])  # one shape needs one program
            file.write(np.asarray(compute(padded))[: len(block)].astype("<f2").tobytes())
    _sum(path).write_text(f"{sha256(path)}  {path.name}\n")


def _sum(path: Path) -> Path:
    """Return the path of a feature file's checksum, in the format of sha256sum."""
    return path.with_name(f"{path.name}.sha256")


@cache
def _verify(path: Path, size: int, changed: int) -> None:
    """Verify a file, once in a process as long as its size and its time of change stay the same."""
    right = _sum(path).read_text().split()[:1] if _sum(path).is_file() else []
    if [sha256(path)] != right:
        raise InputError(f"{path}: does not match {_sum(path).name}: delete it, and it will be computed again.")
