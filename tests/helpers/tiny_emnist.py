"""A made-up federated EMNIST as HDF5, as TensorFlow Federated writes it."""

from pathlib import Path

import h5py
import numpy as np

FILES = ("fed_emnist_digitsonly_train.h5", "fed_emnist_digitsonly_test.h5")


def made_up(sizes: dict[str, tuple[int, int]]) -> dict:
    """Pixels and labels of so many training and test images of each client."""
    rng = np.random.default_rng(0)

    def images(count):
        return rng.random((count, 28, 28), np.float32), rng.integers(0, 10, count).astype(np.int32)

    return {client: (images(train), images(test)) for client, (train, test) in sizes.items()}


def hdf5(folder: Path, clients: dict) -> Path:
    """Writes both files into the folder, where a client has no group for a part without images."""
    folder.mkdir(exist_ok=True)
    for part, name in enumerate(FILES):
        with h5py.File(folder / name, "w") as file:
            for client, splits in clients.items():
                pixels, labels = splits[part]
                if len(labels):
                    file[f"examples/{client}/pixels"] = pixels
                    file[f"examples/{client}/label"] = labels
    return folder
