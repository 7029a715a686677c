"""Digits by client: blocks and remainder, pixels, accuracy, writing styles, and the three ways to get them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checked_task import wrong_fields
from forms_of_models import FORMS, parameters_and_models
from plain_accuracies import plain_accuracies
from tiny_emnist import hdf5, made_up

from bench.data.dataset import LocalCopy
from bench.data.tasks import digits

PIXELS = 784


def clients_of(train_sizes, test_sizes, seed=0):
    rng = np.random.default_rng(seed)

    def split(sizes):
        return [(rng.random((n, PIXELS), np.float32), rng.integers(0, 10, n)) for n in sizes]

    return digits.Digits(split(train_sizes), split(test_sizes))


def linear(data, batch_size=4):
    return digits.digit_task(data, model="linear", name="a", source="b", checksum="c", batch_size=batch_size)


def fake_mnist(count=300):
    """Random pictures whose labels go round, in place of MNIST."""
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (count, 28, 28)).astype(np.uint8)
    images[:, 0, 0], images[:, 0, 1] = 0, 255
    return images, np.arange(count) % 10, LocalCopy("mnist", {}, "a fake", "mnist-sum")


# ---- The task ----


def test_whole_blocks_are_trained_on_in_stored_order_and_the_remainder_validates():
    data = clients_of([9, 4, 3], [2, 1, 5])
    task = linear(data)
    assert task.num_examples.tolist() == [8, 4, 0]
    assert task.evaluation["validation"][2].tolist() == [1, 0, 3]
    assert task.evaluation["test"][2].tolist() == [2, 1, 5]
    for i, ((x, y), (test_x, test_y)) in enumerate(zip(data.train, data.test, strict=True)):
        n, rest = len(y) // 4 * 4, len(y) % 4
        np.testing.assert_array_equal(task.train[0][i, :n], x[:n])
        np.testing.assert_array_equal(jnp.argmax(task.train[1][i, :n], -1), y[:n])
        for split, images, labels in (("validation", x[n:], y[n:]), ("test", test_x, test_y)):
            size = len(labels)
            assert size == (rest if split == "validation" else len(test_y))
            np.testing.assert_array_equal(task.evaluation[split][0][i, :size], images)
            np.testing.assert_array_equal(task.evaluation[split][1][i, :size], labels)
    assert (task.name, task.source, task.checksum) == ("a", "b", "c")


def test_the_gram_matrix_is_that_of_the_training_inputs_and_0_for_padding():
    task = linear(clients_of([9, 4], [1, 1]))
    x = np.asarray(task.train[0], float)
    np.testing.assert_allclose(task.gram, x @ x.swapaxes(1, 2), rtol=1e-5)
    assert not task.gram[1, 4:].any()
    assert not task.gram[1, :, 4:].any()


@pytest.mark.parametrize("form", FORMS)
def test_accuracy_of_all_clients_together_and_by_client_counts_no_padding(form):
    data = clients_of([36, 26, 17], [20, 39, 15])
    task = linear(data, batch_size=20)
    params, models = parameters_and_models(task, form)
    remainders = [(x[len(y) // 20 * 20 :], y[len(y) // 20 * 20 :]) for x, y in data.train]
    for split, parts in (("test", data.test), ("validation", remainders)):
        hits = [
            sum(int(np.argmax(model @ image) == label) for image, label in zip(x, y, strict=True))
            for model, (x, y) in zip(models, parts, strict=True)
        ]
        counts = [len(y) for _, y in parts]
        assert 0 < sum(hits) < sum(counts)
        values = jax.jit(task.metrics)(params, task)
        for name, value in plain_accuracies(split, hits, counts, task.num_examples.tolist()).items():
            assert float(values[name]) == pytest.approx(value), name


# ---- Writing styles ----


def strokes(shears, widths, height=20):
    """Straight strokes on a 28 x 28 grid, one for each pair, with soft edges where they fall between pixels."""
    rows, columns = np.mgrid[:28, :28]
    images = []
    for shear, width in zip(shears, widths, strict=True):
        middle = 13.5 + shear * (rows - 13.5)
        ink = np.clip(width / 2 + 0.5 - np.abs(columns - middle), 0, 1)
        images.append(ink * (np.abs(rows - 13.5) < height / 2))
    return np.round(255 * np.array(images)).astype(np.uint8)


def test_slant_is_the_shift_to_the_right_per_row():
    shears = np.array([-0.4, -0.2, 0.0, 0.1, 0.3])
    for width in (2.0, 4.0):
        slant, _ = digits.style(strokes(shears, [width] * 5))
        np.testing.assert_allclose(slant, shears, atol=0.02)


def test_stroke_width_is_that_of_an_upright_stroke_and_orders_slanted_ones():
    widths = np.array([2.0, 3.0, 4.0, 6.0])
    _, measured = digits.style(strokes([0.0] * 4, widths, height=26))
    np.testing.assert_allclose(measured, widths, rtol=0.25)
    for shear in (-0.3, 0.0, 0.3):
        _, measured = digits.style(strokes([shear] * 4, widths))
        assert (np.diff(measured) > 0.5).all()


def test_style_does_not_depend_on_where_the_digit_stands():
    images = strokes([0.2], [3.0], height=16)
    moved = np.roll(images, (3, -2), (1, 2))
    np.testing.assert_allclose(digits.style(images), digits.style(moved), rtol=1e-4)


@pytest.mark.slow
def test_mnist_by_style_deals_a_thousand_clients_the_same_share_of_every_class(monkeypatch):
    monkeypatch.setattr(digits, "mnist", lambda data_files: fake_mnist(20_000))
    task = digits.mnist_by_style(0, batch_size=3)
    assert task.num_clients == 1000
    counts = np.zeros((1000, 10), int)
    for i in range(1000):
        n = int(task.num_examples[i])
        counts[i] += np.bincount(np.asarray(jnp.argmax(task.train[1][i, :n], -1)), minlength=10)
        for split in ("test", "validation"):
            _, labels, sizes = task.evaluation[split]
            counts[i] += np.bincount(np.asarray(labels[i, : sizes[i]]), minlength=10)
    assert (counts == 2).all()
    assert "no real writers" in task.source
    assert "a fake" in task.source


# ---- The three ways ----


@pytest.fixture
def by_writer(monkeypatch):
    """Thirty pictures by three people, 101 in both parts of MNIST."""
    images, labels, found = fake_mnist(30)
    writers = np.array([103] * 5 + [101] * 7 + [102] * 8, np.int32), np.array([101] * 6 + [103] * 4, np.int32)
    monkeypatch.setattr(digits, "mnist", lambda data_files: (images, labels, found))
    ids = LocalCopy("qmnist_writers", {}, "another fake", "ids-sum")
    monkeypatch.setattr(digits.retrieval, "get", lambda name, data_files=None: ids)
    monkeypatch.setattr(digits.formats, "qmnist_writers", lambda copy: writers)
    return images, labels, np.concatenate(writers)


def examples(task, client):
    """All (pixels, label) of a client, in any split."""
    n = int(task.num_examples[client])
    parts = [(task.train[0][client, :n], jnp.argmax(task.train[1][client, :n], -1))]
    for split in ("test", "validation"):
        pixels, labels, sizes = task.evaluation[split]
        parts.append((pixels[client, : sizes[client]], labels[client, : sizes[client]]))
    pixels, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sorted((bytes(np.float32(x).tobytes()), int(y)) for x, y in zip(pixels, labels, strict=True))


def test_mnist_by_writer_gives_everyone_the_own_pictures_once_with_background_1_and_ink_0(by_writer):
    images, labels, writers = by_writer
    task = digits.mnist_by_writer(0, batch_size=2, test_fraction=0.2)
    assert task.num_clients == 3
    for client, writer in enumerate((101, 102, 103)):
        mine = np.flatnonzero(writers == writer)
        pixels = (255 - images[mine].reshape(-1, PIXELS).astype(np.float32)) / np.float32(255)
        got = [(np.round(255 * np.frombuffer(x, np.float32)), y) for x, y in examples(task, client)]
        wanted = [(np.round(255 * x), y) for x, y in zip(pixels, labels[mine], strict=True)]
        assert sorted((x.tobytes(), y) for x, y in got) == sorted((x.tobytes(), y) for x, y in wanted)
    assert task.evaluation["test"][2].tolist() == [3, 2, 2]  # a fifth of 13, 8 and 9
    x = np.asarray(task.train[0][0, 0]).reshape(28, 28)
    assert x[0, 0] == 1.0  # no ink there, by construction
    assert x[0, 1] == 0.0  # full ink
    assert "a fake" in task.source
    assert "another fake" in task.source


def test_a_trial_is_a_split_of_each_writer_s_own_pictures(by_writer):
    first, again, other = (digits.mnist_by_writer(trial, batch_size=2) for trial in (0, 0, 1))
    assert wrong_fields(first) == []
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert not np.array_equal(first.train[0], other.train[0])
    assert [examples(first, i) for i in range(3)] == [examples(other, i) for i in range(3)]
    assert jax.tree.structure(first) == jax.tree.structure(other)
    assert jax.tree.map(jnp.shape, first.train) == jax.tree.map(jnp.shape, other.train)


@pytest.fixture
def emnist_folder(tmp_path, monkeypatch):
    """Three clients of federated EMNIST as HDF5, where BENCH_DATA points."""
    clients = made_up({"f0002_1": (5, 5), "f0000_2": (7, 7), "f0001_3": (4, 4)})
    monkeypatch.setenv("BENCH_DATA", str(hdf5(tmp_path, clients)))
    return clients


def test_emnist_digits_are_the_first_clients_by_id_with_their_own_split_as_they_are(emnist_folder):
    task = digits.emnist_digits(0, batch_size=3, num_clients=2)
    assert task.num_clients == 2
    assert task.num_examples.tolist() == [6, 3]
    for i, client in enumerate(("f0000_2", "f0001_3")):
        (x, y), (test_x, test_y) = ((pixels.reshape(-1, PIXELS), labels) for pixels, labels in emnist_folder[client])
        n = len(y) // 3 * 3
        np.testing.assert_array_equal(task.train[0][i, :n], x[:n])
        np.testing.assert_array_equal(jnp.argmax(task.train[1][i, :n], -1), y[:n])
        np.testing.assert_array_equal(task.evaluation["test"][0][i, : len(test_y)], test_x)
        np.testing.assert_array_equal(task.evaluation["test"][1][i, : len(test_y)], test_y)
    assert "user files" in task.source
    jax.tree.map(np.testing.assert_array_equal, task, digits.emnist_digits(1, batch_size=3, num_clients=2))
