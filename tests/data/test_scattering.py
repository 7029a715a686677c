"""Scattering features: kymatio's numbers, PyTorch's normalisation, half precision, a cache that can be trusted."""

import math

import numpy as np
import pytest

from bench.data import scattering
from bench.errors import InputError


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """The folder of the features, for tests of the cache alone: the features are grey values, which take no time."""

    def transform(height, width):
        return lambda images: np.repeat(images[:, ::4, ::4] / np.float32(255), scattering.CHANNELS, axis=-1)

    monkeypatch.setattr(scattering, "transform", transform)
    return tmp_path / "scattering"


def pictures(count, *shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, *shape)).astype(np.uint8)


def compute(images):
    """As `features` has it, in float32 and one picture at a time, in the first place of a batch."""
    batch = np.zeros((scattering.PLANES // images.shape[3], *images.shape[1:]), np.uint8)
    out = []
    for batch[0] in images:
        out.append(np.array(scattering.transform(*images.shape[1:3])(batch)[0]))
    return np.stack(out)


def normalised(channels):
    """Group normalisation of [image, channel, height, width] number by number, in double precision."""
    out = np.zeros(channels.shape)
    size = channels.shape[1] // 27
    for image in range(len(channels)):
        for group in range(27):
            mine = slice(group * size, (group + 1) * size)
            numbers = channels[image, mine].astype(float).ravel()
            mean = math.fsum(numbers) / len(numbers)
            variance = math.fsum((number - mean) ** 2 for number in numbers) / len(numbers)
            out[image, mine] = (channels[image, mine] - mean) / math.sqrt(variance + 1e-5)
    return out


# ---- The numbers ----


@pytest.mark.parametrize("shape", [(28, 28, 1), (32, 32, 3)])
def test_they_are_kymatio_s_coefficients_of_raw_pixels_normalised_with_one_colour_after_the_other(shape):
    from kymatio.scattering2d.frontend.numpy_frontend import ScatteringNumPy2D

    images = pictures(3, *shape)
    images[2] = 0  # an empty picture has no variance
    plain = ScatteringNumPy2D(2, shape[:2], 8)
    channels = [plain.scattering(images[..., colour].astype(np.float32)) for colour in range(shape[2])]
    wanted = normalised(np.concatenate(channels, axis=1)).transpose(0, 2, 3, 1)
    got = compute(images)
    assert got.dtype == np.float32
    assert got.shape == wanted.shape == (3, shape[0] // 4, shape[1] // 4, 81 * shape[2])
    np.testing.assert_allclose(got, wanted, atol=3e-5)


def test_groups_are_neighbouring_channels_with_all_their_places():
    x = np.random.default_rng(1).normal(3, 7, (2, 54, 4, 3)).astype(np.float32)
    got = np.asarray(scattering.group_normalized(x))
    np.testing.assert_allclose(got, normalised(x), atol=1e-5)
    flat = np.asarray(scattering.group_normalized(x.reshape(2, -1, 1, 1)))  # as the linear network is published
    np.testing.assert_array_equal(flat.reshape(got.shape), got)


@pytest.mark.parametrize("shape", [(28, 28), (32, 32, 3)])
def test_half_precision_rounds_by_at_most_two_to_the_minus_eleven(shape):
    images = pictures(3, *shape)
    images[1] = 0
    images[1, 5] = 255  # one bright line: the longest tails there are
    exact = compute(images.reshape(*images.shape[:3], -1)).astype(float)
    stored = scattering.features("made_up", images, "abc").astype(float)
    # Another place in a batch may be summed in another order.
    assert (np.abs(stored - exact) <= 2.0**-11 * np.abs(exact) + 2.0**-25 + 1e-5).all()
    assert np.abs(exact).max() <= math.sqrt(exact[0].size / 27)


# ---- The cache ----


@pytest.mark.parametrize("count", [16, 17])
def test_pictures_keep_their_order_and_a_last_batch_may_be_short(count, folder):
    images = pictures(count, 32, 32, 3)
    got = scattering.features("made_up", images, "abc")
    assert got.shape == (count, 8, 8, 243)
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, compute(images).astype(np.float16))


def test_they_are_computed_once_and_read_after_that(folder, monkeypatch, capsys):
    images = pictures(5, 28, 28)
    first = scattering.features("made_up", images, "abc")
    assert capsys.readouterr().err == "made_up: scattering features, once\n"
    monkeypatch.setattr(scattering, "transform", lambda *shape: pytest.fail("computed again"))
    again = scattering.features("made_up", images, "abc")
    assert capsys.readouterr().err == ""
    np.testing.assert_array_equal(again, first)
    with pytest.raises(ValueError, match="read-only"):
        again[0] = 0


@pytest.mark.parametrize("damage", ["a bit", "no checksum", "an empty checksum"])
def test_a_damaged_file_is_refused_by_name_and_computed_anew_once_deleted(folder, damage):
    images = pictures(2, 28, 28)
    first = np.array(scattering.features("made_up", images, "abc"))
    (path,) = folder.glob("*.npy")
    (beside,) = folder.glob("*.sha256")
    content = bytearray(path.read_bytes())
    if damage == "a bit":
        content[-1000] ^= 1
        path.write_bytes(content)
    else:
        beside.unlink()
        if damage == "an empty checksum":
            beside.touch()
    scattering._verify.cache_clear()  # as a new process has it
    with pytest.raises(InputError, match=f"{path.name}: does not match .*sha256"):
        scattering.features("made_up", images, "abc")
    path.unlink()
    np.testing.assert_array_equal(scattering.features("made_up", images, "abc"), first)


def test_an_interrupted_computation_leaves_nothing_and_can_be_repeated(folder, monkeypatch):
    images = pictures(60, 28, 28)  # two batches
    transform, calls = scattering.transform, []

    def stopping(*shape):
        def run(batch):
            calls.append(batch)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return transform(*shape)(batch)

        return run

    with monkeypatch.context() as patch:
        patch.setattr(scattering, "transform", stopping)
        with pytest.raises(KeyboardInterrupt):
            scattering.features("made_up", images, "abc")
    assert [path.name for path in folder.iterdir()] == [".lock"]
    assert scattering.features("made_up", images, "abc").shape == (60, 7, 7, 81)
