"""The command `private-federated-bench` of an installed suite: `python -m bench`, and with `figures` before the rest,
`python -m figures`.

The suite's packages are called `bench` and `figures`, as other people's are, too. So this module, whose name nobody
else has, first makes sure that those which Python finds are the ones beside it, and imports neither before it knows.
"""

import hashlib
import importlib.metadata
import importlib.util
import sys
from base64 import urlsafe_b64encode
from pathlib import Path

NAME = "private-federated-bench"
PACKAGES = ("bench", "figures")


def collision(package: str) -> str | None:
    """What is wrong, and what to do, where a package that Python finds under this name is not the suite's."""
    spec = importlib.util.find_spec(package)
    ours = Path(__file__).resolve().parent / package / "__init__.py"
    found = Path(spec.origin).resolve() if spec and spec.origin else None
    if found != ours:
        where = f"at {found}" if found else "missing"
        return (
            f"the package `{package}` of {NAME} is at {ours.parent}, and the one that Python finds is {where}: "
            f"run this in another folder, take it off PYTHONPATH, or install {NAME} in an environment of its own"
        )
    if _overwritten(ours, package):
        return (
            f"another package has written over `{package}` of {NAME} at {ours.parent}: "
            f"install {NAME} in an environment of its own"
        )
    return None


def _overwritten(path: Path, package: str) -> bool:
    """Whether the file is not the one that was installed here; False in a checkout, where nothing was."""
    try:
        files = importlib.metadata.distribution(NAME).files or []
    except importlib.metadata.PackageNotFoundError:
        return False
    for file in files:
        if file.as_posix() == f"{package}/__init__.py" and file.hash and Path(str(file.locate())).resolve() == path:
            digest = hashlib.new(file.hash.mode, path.read_bytes()).digest()
            return urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value
    return False


def main() -> None:
    """Run the command line and end the process with its exit status; 2 where another package has the suite's name."""
    for package in PACKAGES:
        wrong = collision(package)
        if wrong:
            print(f"error: {wrong}", file=sys.stderr)
            sys.exit(2)
    from bench.cli.signals import leave, run_command

    app = "bench.cli.app"
    sys.argv[0] = NAME
    if sys.argv[1:2] == ["figures"]:
        app, sys.argv = "figures.command_line", [f"{NAME} figures", *sys.argv[2:]]
    leave(run_command(app))


if __name__ == "__main__":
    main()
