"""Data sets that tensorflow_datasets has already prepared, read without TensorFlow and never downloaded.

tensorflow_datasets shuffles as it prepares, but by a fixed rule: examples are sorted by a hash of the split's name and
the example's index. Sorting the indices by the same hash gives the original order, so the canonical bytes can be
rebuilt and checked like those of any other source.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.data.dataset import Report, Source, Unavailable
from bench.data.decode import Contents, Rows
from bench.errors import expanded


@dataclass(frozen=True)
class PreparedCopy(Source):
    """A copy that tensorflow_datasets has prepared on this machine.

    Args:
        name: its name there.
        rebuild: (split -> its rows in the original order) -> the canonical files.
    """

    name: str
    rebuild: Callable[[Callable[[str], Rows]], Contents]
    kind = "tensorflow-datasets"
    client = "tensorflow_datasets"

    def __str__(self) -> str:
        return self.client

    def folder(self) -> Path | None:
        """Return the folder of the newest version, in TFDS_DATA_DIR, or in tensorflow_datasets in the home folder."""
        root = expanded(os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets", "TFDS_DATA_DIR")
        versions = sorted((root / self.name).glob("*.*.*/dataset_info.json"))
        return versions[-1].parent if versions else None

    def is_available(self) -> bool:
        return self.folder() is not None

    def contents(self, scratch: Path, report: Report) -> Contents:
        folder = self.folder()
        try:
            import tensorflow_datasets as tfds
            from tensorflow_datasets.core import hashing

            builder = tfds.builder_from_directory(str(folder))

            def split(name: str) -> Rows:
                report(f"{self}: reading {name}")
                shuffled = builder.as_data_source(name)  # pyright: ignore[reportCallIssue]
                order = sorted(range(len(shuffled)), key=hashing.Hasher(name).hash_key)
                return [row for _, row in sorted(zip(order, shuffled, strict=True), key=lambda pair: pair[0])]

            yield from self.rebuild(split)
        except NotImplementedError:
            raise Unavailable(f"{folder} is not in the form array_record, the one read without TensorFlow") from None
        except Exception as error:  # a foreign library on a foreign folder; the next source is tried
            raise Unavailable(f"{folder} cannot be read ({type(error).__name__})") from None
