"""School: splits, standardisation and scores, on a small file of our own, and what stands in for it."""

import io

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.io import savemat
from tiny_data import stand_in, write

from bench.data.tasks import school as module
from bench.data.tasks.school import made_up_schools, school, squared_error
from bench.models.additive import Additive

SIZES = [22, 31, 45]


def pupils():
    """Features and scores of three schools; each pupil's first feature is a number of its own."""
    rng = np.random.default_rng(0)
    features, exams, first = [], [], 0
    for size in SIZES:
        x = np.column_stack([np.arange(first, first + size), rng.integers(0, 2, (size, 2)), np.ones(size, int)])
        features.append(x)
        exams.append(rng.integers(1, 71, size))
        first += size
    return features, exams


def cells(arrays) -> np.ndarray:
    """A MATLAB cell array with one row."""
    out = np.empty((1, len(arrays)), object)
    for place, array in enumerate(arrays):
        out[0, place] = array
    return out


def written() -> bytes:
    """A file of these schools, as MALSAR has it: unsigned bytes, scores as columns."""
    file, (features, exams) = io.BytesIO(), pupils()
    columns = [y.astype(np.uint8)[:, None] for y in exams]
    savemat(file, {"X": cells([x.astype(np.uint8) for x in features]), "Y": cells(columns)})
    return file.getvalue()


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_schools", module._schools.__wrapped__)
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    folder = write(tmp_path / "mine", stand_in(monkeypatch, "school", {"school.mat": written()}))
    monkeypatch.setenv("BENCH_DATA", str(folder))


def real(task, half):
    """Inputs and targets of every school, without the padding."""
    inputs, targets = task.train if half == "train" else task.evaluation["test"]
    sizes = task.num_examples if half == "train" else task.evaluation["count"]
    return [(np.asarray(x)[:n], np.asarray(y)[:n]) for x, y, n in zip(inputs, targets, np.asarray(sizes), strict=True)]


def test_a_fifth_of_every_school_rounded_up_is_the_test(files):
    task = school(0)
    np.testing.assert_array_equal(task.evaluation["count"], [5, 7, 9])
    np.testing.assert_array_equal(task.num_examples, [17, 24, 36])
    assert task.source == "School (user files)"


def test_every_pupil_is_in_one_half_with_its_score(files):
    _, exams = pupils()
    task = school(3)
    for number, (train, test) in enumerate(zip(real(task, "train"), real(task, "test"), strict=True)):
        scores = np.concatenate([train[1], test[1]])
        np.testing.assert_allclose(np.sort(scores * 69 + 1), np.sort(exams[number]), rtol=1e-5)
        order = np.argsort(np.concatenate([train[0], test[0]])[:, 0])  # the pupils' own numbers, standardised
        np.testing.assert_allclose(scores[order] * 69 + 1, exams[number], rtol=1e-4)


def test_features_are_standardised_by_the_schools_own_training_pupils_and_the_last_is_the_bias(files):
    task = school(0)
    for inputs, _ in real(task, "train"):
        np.testing.assert_allclose(inputs[:, :3].mean(0), 0, atol=1e-5)
        np.testing.assert_allclose(inputs[:, :3].std(0), 1, rtol=1e-4)
    for half in ("train", "test"):
        assert all((inputs[:, 3] == 1).all() for inputs, _ in real(task, half))


def test_validation_is_of_the_training_pupils(files):
    """Their scores, as often as each is there, are those of the training half."""
    whole, part = school(1), school(1, part="validation")
    for train, kept, held in zip(
        *(real(*which) for which in ((whole, "train"), (part, "train"), (part, "test"))), strict=True
    ):
        np.testing.assert_allclose(np.sort(np.concatenate([kept[1], held[1]])), np.sort(train[1]))
    assert whole.checksum != part.checksum


def test_the_error_is_that_of_all_test_pupils_together():
    task = made_up_schools(0, num_schools=4)
    weights = np.linspace(-0.1, 0.2, 28)
    own = np.stack([weights * silo for silo in range(4)])
    squares = [
        (inputs @ model - targets) ** 2
        for (inputs, targets), model in zip(real(task, "test"), weights + own, strict=True)
    ]
    found = squared_error(Additive(jnp.asarray(weights, jnp.float32), jnp.asarray(own, jnp.float32)), task)
    assert float(found["test_squared_error"]) == pytest.approx(np.concatenate(squares).mean(), rel=1e-5)


def test_made_up_schools_are_the_same_in_all_splits_and_of_the_sizes_of_the_real_ones():
    one, other = (made_up_schools(trial, num_schools=30) for trial in (0, 1))
    np.testing.assert_array_equal(one.num_examples, other.num_examples)
    assert not np.array_equal(one.train[1], other.train[1])
    assert 17 <= int(one.num_examples.min()) < int(one.num_examples.max()) <= 200
