"""The authors' addresses and their mirrors, with pooch: only when the user asks for a download."""

from pathlib import Path

from bench.data.dataset import Address, Report, Unavailable
from bench.data.decode import Contents, plain
from bench.data.fetch.packages import CONNECT, STALLED, unpack


def contents(address: Address, scratch: Path, report: Report) -> Contents:
    """Return the canonical files at an address, each archive downloaded once.

    Args:
        address: the address.
        scratch: an empty folder, for the caller to remove.
        report: receives progress messages.

    Returns:
        an iterator over canonical names and their bytes, not yet checked.

    Raises:
        Unavailable: no answer, or not the expected file.
        OSError: the disk is full.
    """
    for name, (url, member) in address.files.items():
        file = scratch / url.rsplit("/", 1)[1]
        if not file.exists():
            _download(url, file, lambda text: report(f"{address}: {text}"))
        if member:
            members = [inside for _, inside in address.files.values()]
            file = unpack(file, scratch / "unpacked", members) / member
        try:
            yield name, plain(name, file.read_bytes())
        except (EOFError, ValueError) as error:
            raise Unavailable(f"{file.name} is damaged ({error})") from None


def _download(url: str, file: Path, report: Report) -> None:
    import pooch
    import requests

    options: dict = {"progressbar": _Progress(report), "chunk_size": 1 << 16, "timeout": (CONNECT, STALLED)}
    part = file.with_name(f"{file.name}.part")
    try:
        pooch.HTTPDownloader(**options)(url, str(part), None)
    except requests.HTTPError as error:
        response = error.response
        assert response is not None
        raise Unavailable(f"the answer is {response.status_code}") from None
    except (requests.RequestException, ValueError):
        raise Unavailable("no network, or the download broke off") from None
    part.rename(file)


class _Progress:
    """The interface that pooch needs of a progress bar, reported in words; pooch sets the total itself."""

    def __init__(self, report: Report):
        self.report, self.done, self.total = report, 0, 0

    def update(self, size: int) -> None:
        self.done += size
        self.report(f"{self.done / 1e6:.1f} of {self.total / 1e6:.1f} MB")

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass
