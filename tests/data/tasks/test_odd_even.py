"""MNIST odd/even: silos, labels, scale and split, on pictures with known content; and the quadratic."""

from itertools import chain

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checked_task import wrong_fields

from bench.data.dataset import LocalCopy
from bench.data.files import DataFiles
from bench.data.tasks import digits, odd_even
from bench.data.tasks.quadratic import LABEL_NOISE, half_square, lipschitz, quadratic
from bench.errors import InputError
from bench.models.additive import Additive


@pytest.fixture(scope="module")
def pictures():
    """60 000 pictures are 700 here, ten digits unequally often; each has a brightness pattern of its digit."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(10), [70, 80, 75, 77, 70, 60, 66, 72, 63, 67]))
    images = (rng.integers(0, 40, (700, 28, 28)) + 20 * labels[:, None, None]).astype(np.uint8)
    odd_even._features.cache_clear()
    found = LocalCopy("mnist", {}, "made up", "0123")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digits, "mnist", lambda data_files: (images, labels, found))
        yield images, labels
    odd_even._features.cache_clear()


def test_silos_hold_one_even_and_one_odd_digit(pictures):
    task = odd_even.odd_even(0)
    assert wrong_fields(task) == []
    count = 60 // 7  # of the rarest digit
    assert task.train[0].shape == (25, int(0.8 * 2 * count), 50)
    assert task.evaluation["test"][0].shape == (25, 2 * count - int(0.8 * 2 * count), 50)
    first, lengths, _, _ = odd_even._features(DataFiles())
    assert first.shape == (10, count, 50)
    scale = lengths.max()
    for silo, (even, odd) in enumerate(odd_even.PAIRS):
        for inputs, labels in (task.train, task.evaluation["test"]):
            for x, y in zip(np.asarray(inputs[silo]) * scale, np.asarray(labels[silo]), strict=True):
                own = first[even if y == 1 else odd]
                assert np.linalg.norm(own - x, axis=1).min() < 1e-3


def test_features_are_centred_projections_on_the_leading_directions(pictures):
    images, labels = pictures
    flat = images.reshape(700, -1).astype(np.float64) / 255
    centred = flat - flat.mean(0)
    _, strengths, directions = np.linalg.svd(centred, full_matrices=False)
    ours, lengths, _, _ = odd_even._features(DataFiles())
    theirs = centred @ directions[:50].T
    np.testing.assert_allclose(np.linalg.norm(theirs, axis=1), lengths, rtol=1e-3)
    digit = theirs[labels == 3][: ours.shape[1]]
    np.testing.assert_allclose(ours[3] @ ours[3].T, digit @ digit.T, atol=1e-2 * strengths[0] ** 2 / 700)


def test_the_loss_is_1_lipschitz_over_all_images_and_the_script_bound_is_none(pictures):
    task, script = odd_even.odd_even(0), odd_even.odd_even(0, bound="one silo")
    _, lengths, _, _ = odd_even._features(DataFiles())
    assert task.linear.lipschitz[1] == 1.0
    assert np.linalg.norm(task.train[0], axis=-1).max() <= 1 + 1e-6
    ratio = np.asarray(script.train[0]) / np.asarray(task.train[0])
    own = lengths.max() / (2 * np.linalg.norm(np.asarray(task.train[0])[1], axis=-1).max() * lengths.max())
    np.testing.assert_allclose(np.median(ratio), own, rtol=1e-4)
    assert script.linear.lipschitz == (np.inf, np.inf)
    assert (task.name, script.name) == ("odd_even", "odd_even_script_bound")
    assert task.checksum != script.checksum
    grad = jax.grad(task.loss)
    w = 30 * jax.random.normal(jax.random.key(0), (50,))
    slopes = jax.vmap(lambda x, y: grad(w, jnp.zeros(50), (x, y)))(*(leaf[0] for leaf in task.train))
    assert np.linalg.norm(slopes, axis=-1).max() <= 1


def images_of(rows, count):
    """(digit, place among the digit's images) of the records of each silo."""
    return [
        [(even, row) if row < count else (odd, row - count) for row in silo]
        for silo, (even, odd) in zip(rows, odd_even.PAIRS, strict=True)
    ]


def copies(rows, count):
    """Shares of test records that are copies of a training record of their own silo, and of some silo."""
    train, images = int(odd_even.TRAIN * rows.shape[1]), images_of(rows, count)
    everywhere = {image for silo in images for image in silo[:train]}
    own = np.mean([np.isin(silo[train:], silo[:train]) for silo in rows])
    return own, np.mean([image in everywhere for silo in images for image in silo[train:]])


def test_most_test_records_are_copies_of_training_records():
    """As published, 54 % of one of their own silo, 98 % of one of some silo; none where the images are split first."""
    count = odd_even.SMALLEST_DIGIT // odd_even.PART
    rows = odd_even.draws(0, count)
    np.testing.assert_allclose(copies(rows, count), (0.54, 0.98), atol=0.01)
    np.testing.assert_allclose(copies(rows, count)[0], 1 - np.exp(-0.8), atol=0.02)  # drawn with replacement
    split = odd_even.draws(0, count, split_first=True)
    assert split.shape == rows.shape
    assert copies(split, count) == (0, 0)
    assert all((silo < count).any() and (silo >= count).any() for silo in split)


def test_trials_differ_and_repeat(pictures):
    one, again, other = odd_even.odd_even(0), odd_even.odd_even(0), odd_even.odd_even(1)
    assert np.array_equal(one.train[0], again.train[0])
    assert not np.array_equal(one.train[0], other.train[0])
    assert one.checksum == other.checksum
    assert jax.tree.structure(one) == jax.tree.structure(other)


@pytest.mark.parametrize("own", [False, True])
def test_loss_and_error_are_those_of_a_loop_over_silos(pictures, own):
    task = odd_even.odd_even_hinge(0)
    models = np.random.default_rng(1).standard_normal((25, 50)).astype(np.float32)
    models = models if own else models[[0] * 25]
    losses, errors = [], []
    for model, x, y, test_x, test_y in zip(models, *task.train, *task.evaluation["test"], strict=True):
        losses.append(np.maximum(0, 1 - y * (x @ model)).mean())
        errors.append(np.mean(np.sign(test_x @ model) != test_y))

    def measured(models):
        params = Additive(jnp.zeros(50), jnp.asarray(models)) if own else jnp.asarray(models[0])
        return odd_even.loss_and_error(params, task)

    found = measured(models)
    np.testing.assert_allclose(found["train_loss"], np.mean(losses), rtol=1e-5)
    np.testing.assert_allclose(found["test_error"], np.mean(errors), rtol=1e-5)
    assert np.isnan(measured(np.where(np.arange(25)[:, None] == 3 * own, np.nan, models))["test_error"])


# The quadratic.


def test_the_risk_is_the_excess_of_the_mean_risk_over_silos():
    """Against a sample: many records of each silo, the loss at w minus the loss at the minimiser."""
    task = quadratic(0, num_records=4000)
    x, y = (np.asarray(leaf, np.float64) for leaf in task.train)
    star = np.asarray(task.evaluation["minimiser"], np.float64)
    w = star + 0.5 * np.random.default_rng(0).standard_normal(50)

    def mean_loss(w):
        return 0.5 * np.mean((np.einsum("lnd,d->ln", x, w) - y) ** 2)

    claimed = float(jax.jit(task.metrics)(jnp.asarray(w, jnp.float32), task)["excess_risk"])
    np.testing.assert_allclose(mean_loss(w) - mean_loss(star), claimed, rtol=0.1)
    best = np.linalg.lstsq(x.reshape(-1, 50), y.ravel(), rcond=None)[0]
    variance = np.asarray(task.evaluation["variance"])
    assert np.sum(variance * (best - star) ** 2) < 0.01 * np.sum(variance * star**2)


@pytest.mark.parametrize("spread", [0.0, 0.5, 2.0])
def test_gradients_are_bounded_in_the_ball(spread):
    """At the worst model of the unit ball for each record, and for a record on which the silo's model is aligned."""
    x, y = (np.asarray(leaf, np.float64) for leaf in quadratic(1, num_records=64, spread=spread).train)
    np.testing.assert_allclose(np.linalg.norm(x, axis=-1), 1, rtol=1e-5)
    worst = 1 + np.abs(y)  # w = -sign(y) x
    assert worst.max() <= lipschitz(spread)
    aligned = 1 + (1 + spread) + LABEL_NOISE  # |w_l| is at most 1 + spread
    assert aligned == pytest.approx(lipschitz(spread))


def test_silos_differ_by_their_spread():
    """The parts of the labels that differ between silos are proportional to the spread, and as large as it says."""
    tasks = {spread: quadratic(1, num_records=4000, spread=spread) for spread in (0.0, 0.5, 2.0)}
    x, alike = (np.asarray(leaf, np.float64) for leaf in tasks[0.0].train)
    apart = {spread: np.asarray(task.train[1], np.float64) - alike for spread, task in tasks.items()}
    np.testing.assert_allclose(apart[2.0], 4 * apart[0.5], atol=1e-5)
    models = np.stack([np.linalg.lstsq(x[l], apart[2.0][l], rcond=None)[0] for l in range(len(x))])
    np.testing.assert_allclose(models.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(models, axis=1).max(), 2.0, rtol=1e-3)
    minimiser = np.asarray(tasks[0.0].evaluation["minimiser"])
    assert np.abs(np.einsum("lnd,d->ln", x, minimiser) - alike).max() <= LABEL_NOISE * (1 + 1e-5)  # one model for all
    np.testing.assert_allclose(half_square(jnp.float32(3.0), jnp.float32(1.0)), 2.0)


def test_the_data_to_tune_on_are_made_of_training_images_alone():
    count = odd_even.SMALLEST_DIGIT // odd_even.PART
    final = odd_even.draws(0, count, split_first=True)
    tuning = odd_even.draws(0, count, split_first=True, part="validation")
    train = int(odd_even.TRAIN * final.shape[1])
    assert tuning.shape == (*final.shape[:1], 2 * int(odd_even.TRAIN * count))
    tested, tuned_on = ({*chain(*images_of(rows, count))} for rows in (final[:, train:], tuning))
    assert not tested & tuned_on  # of no silo: five silos share a digit's images
    assert copies(tuning, count) == (0, 0)


def test_silos_by_dirichlet_have_no_image_in_common_and_digits_of_their_own(pictures):
    def records(array):
        return [row.tobytes() for row in np.asarray(array).reshape(-1, array.shape[-1])]

    final, tuning = (odd_even.odd_even_dirichlet(0, num_silos=4, part=part) for part in ("test", "validation"))
    trained, tested = records(final.train[0]), records(final.evaluation["test"][0])
    assert final.train[0].shape == (4, 10 * 6 // 4, 50)  # six of eight images of a digit
    assert len(set(trained)) == 60
    assert not set(trained) & set(tested)
    for part in (tuning.train[0], tuning.evaluation["test"][0]):
        assert set(records(part)) <= set(trained)
    assert not set(records(tuning.train[0])) & set(records(tuning.evaluation["test"][0]))
    assert tuning.name == "odd_even_dirichlet_0.3_validation"
    even, alike = (
        [np.asarray(odd_even.odd_even_dirichlet(t, num_silos=4, concentration=alpha).train[1]) > 0 for t in range(20)]
        for alpha in (0.3, 100.0)
    )
    assert np.std(np.mean(even, axis=2)) > 1.3 * np.std(np.mean(alike, axis=2))
    assert final.checksum != odd_even.odd_even_dirichlet(0, num_silos=4, concentration=1.0).checksum
    with pytest.raises(InputError, match="part"):
        odd_even.odd_even_dirichlet(0, part="tests")


def test_silos_by_dirichlet_are_tested_on_their_own_digits_and_on_all_alike(pictures):
    """Second implementation: records are told apart by their digit in a list, not by weights."""
    task = odd_even.odd_even_dirichlet(0, num_silos=4)
    inputs, targets = (np.asarray(leaf) for leaf in task.evaluation["test"])
    digit = np.asarray(task.evaluation["digit"])
    first, lengths, _, _ = odd_even._features(DataFiles())
    digit_of = {row.tobytes(): each for each, rows in enumerate(first / lengths.max()) for row in rows}
    assert [digit_of[row.tobytes()] for row in inputs] == list(digit)
    np.testing.assert_array_equal(targets, np.where(digit % 2 == 0, 1, -1))
    held = [[digit_of[row.tobytes()] for row in rows] for rows in np.asarray(task.train[0])]
    models = np.random.default_rng(1).standard_normal((4, 50)).astype(np.float32)

    def local(silo, model):
        wrong = inputs @ model * targets <= 0
        return np.mean([wrong[digit == each].mean() for each in held[silo]])

    alone = Additive(jnp.zeros(50), jnp.asarray(models))
    found = jax.jit(task.metrics)(alone, task)
    np.testing.assert_allclose(found["local_test_error"], np.mean([local(i, models[i]) for i in range(4)]), rtol=1e-5)
    everywhere = [np.mean(inputs @ model * targets <= 0) for model in models]
    np.testing.assert_allclose(found["test_error"], np.mean(everywhere), rtol=1e-5)
    losses = [np.logaddexp(0, -y * (x @ model)) for x, y, model in zip(*task.train, models, strict=True)]
    np.testing.assert_allclose(found["train_loss"], np.mean(losses), rtol=1e-5)
    shared = jax.jit(task.metrics)(jnp.asarray(models[0]), task)
    np.testing.assert_allclose(shared["local_test_error"], np.mean([local(i, models[0]) for i in range(4)]), rtol=1e-5)
    np.testing.assert_allclose(shared["test_error"], everywhere[0], rtol=1e-5)
    # One model for all meets the digits of all silos together, which are as frequent as in the test.
    np.testing.assert_allclose(shared["local_test_error"], shared["test_error"], rtol=1e-5)
    assert abs(found["local_test_error"] - found["test_error"]) > 1e-3
    assert np.isnan(jax.jit(task.metrics)(jnp.full(50, jnp.nan), task)["local_test_error"])


def test_the_number_of_records_by_which_delta_is_chosen():
    count = odd_even.SMALLEST_DIGIT // odd_even.PART
    assert odd_even.NUM_DEALT == 10 * int(odd_even.TRAIN * count) // len(odd_even.PAIRS) == 247
