"""A user's own data with a network, from a file and from Python."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench.comparison.problems import own_clients
from bench.data.task import Head
from bench.errors import InputError

FILE = """
import flax.linen as nn

class Net(nn.Module):
    width: int = 4

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(self.width, (2, 2), name="body")(x))
        return nn.Dense(3, name="head")(x.reshape(x.shape[0], -1))

def make():
    return Net()

def narrow():
    return Net(1)

def nothing():
    return 3
"""


class OneLayer(nn.Module):
    outputs: int = 3

    @nn.compact
    def __call__(self, x):
        x = x.astype(jnp.float32)  # of whole numbers
        return nn.Dense(self.outputs, name="head")(x.reshape(x.shape[0], -1))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savez("mine.npz", inputs=rng.normal(size=(60, 4, 4, 1)), targets=np.arange(60) % 3, clients=np.arange(60) % 4)
    (tmp_path / "net.py").write_text(FILE)
    return tmp_path


def test_a_network_of_a_file_trains_on_pictures_of_a_file(files):
    problem = own_clients("mine.npz", network="net.py:make")
    task = problem.test_tasks()(0)
    assert task.train[0].shape[2:] == (4, 4, 1)
    assert task.need(Head).entries == ("head",)
    assert [np.asarray(task.evaluation[part][2]).tolist() for part in ("test", "validation")] == [[3] * 4, [2] * 4]
    found = jax.jit(task.metrics)(task.init_params, task)
    assert {"test_accuracy", "common_accuracy"} <= set(found)
    again, other = (own_clients("mine.npz", network=f"net.py:{name}").test(0).checksum for name in ("make", "narrow"))
    assert task.checksum == again != other


def test_a_network_of_one_layer_has_no_head_and_words_stay_whole_numbers(files):
    numbers = np.arange(60)
    np.savez("words.npz", inputs=np.arange(120).reshape(60, 2) % 7, targets=numbers % 3, clients=numbers % 4)
    task = own_clients("words.npz", network=lambda: OneLayer()).test(0)
    assert task.head is None
    assert task.train[0].dtype == np.int32


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ("net.py:mak", "network in net.py"),
        ("net.py:nothing", "is 3: give a flax module"),
        ("none.py:make", "none.py is not a file"),
        (lambda: OneLayer(2), "gives 2 logits, but mine.npz has 3 classes"),
    ],
)
def test_a_network_that_does_not_fit_is_named(files, network, words):
    with pytest.raises(InputError, match=words):
        own_clients("mine.npz", network=network).test(0)
