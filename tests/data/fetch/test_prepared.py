"""Prepared tensorflow_datasets: the original order comes back out of its shuffling, without TensorFlow."""

import sys
from collections.abc import Iterator

import numpy as np
import pytest
from tiny_data import photographs, pictures, stand_in, write

from bench.data import decode
from bench.data.dataset import LocalCopy
from bench.data.fetch import retrieval
from bench.data.fetch.sources import DATASETS
from bench.data.read import formats

pytestmark = pytest.mark.filterwarnings("ignore")  # of a library that is not ours


@pytest.fixture(autouse=True)
def folders(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BENCH_SOURCE", "tensorflow-datasets")
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "tfds"))


def prepare(name: str, folder, splits: dict[str, list[dict]], spec: dict) -> None:
    """Has tensorflow_datasets write its own form of a few examples; pictures as tensors, for a PNG needs TensorFlow."""
    tfds = pytest.importorskip("tensorflow_datasets")

    class Shuffled(tfds.core.GeneratorBasedBuilder, skip_registration=True):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(spec))

        def _split_generators(self, manager):
            return {split: self._generate_examples(rows) for split, rows in splits.items()}

        def _generate_examples(self, rows: list[dict]) -> Iterator:
            yield from enumerate(rows)

    Shuffled.name = name
    tfds.display_progress_bar(False)
    Shuffled(data_dir=folder, file_format="array_record").download_and_prepare()
    assert "tensorflow" not in sys.modules


def examples(of: dict[str, np.ndarray], split: str) -> list[dict]:
    images = of[f"{split}_images"]
    images = images if images.ndim == 4 else images[..., None]
    return [{"image": image, "label": int(label)} for image, label in zip(images, of[f"{split}_labels"], strict=True)]


@pytest.mark.parametrize(
    ("name", "files", "read", "shape"),
    [
        ("mnist", pictures(seed=1), formats.mnist, (28, 28, 1)),
        ("cifar10", photographs(seed=1, rows=10), formats.cifar10, (32, 32, 3)),
    ],
)
def test_the_canonical_bytes_are_rebuilt(monkeypatch, tmp_path, name, files, read, shape):
    tfds = pytest.importorskip("tensorflow_datasets")
    monkeypatch.setattr(decode, "CIFAR_BATCH", 10)
    raw = write(tmp_path / "raw", files)
    of = read(LocalCopy("it", {file: raw / file for file in files}, "", ""))
    spec = {"image": tfds.features.Tensor(shape=shape, dtype=np.uint8), "label": np.int64}
    prepare(name, tmp_path / "tfds", {split: examples(of, split) for split in ("train", "test")}, spec)
    stand_in(monkeypatch, name, files, *DATASETS[name].sources)
    found = retrieval.get(name)
    assert found.source == "tensorflow_datasets"
    assert {file: path.read_bytes() for file, path in found.files.items()} == files
