"""The index files of a Debian release, which apt fetches and whose signatures it checks.

As for packages, nothing needs root and the machine's own apt is not touched: apt works in a scratch folder, with the
archives that the machine is configured for.
"""

from pathlib import Path

from bench.data.dataset import AptIndex, Report, Unavailable, Unreachable
from bench.data.decode import Contents
from bench.data.fetch.packages import APT, CONNECT, NO_NETWORK, program, watch

# After the settings for packages: long descriptions in English, and the index of sources although only binaries are
# asked for, all of them unpacked, and the same of whatever machine.
INDEX = """
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
#clear Acquire::Languages;
Acquire::Languages { "en"; };
#clear Acquire::GzipIndexes;
Acquire::GzipIndexes "false";
Acquire::IndexTargets::deb::Sources {
  MetaKey "$(COMPONENT)/source/Sources"; ShortDescription "Sources"; Description "$(RELEASE)/$(COMPONENT) Sources";
};
"""
FORMAT = "$(CODENAME) $(COMPONENT) $(CREATED_BY) $(FILENAME)"


def contents(index: AptIndex, scratch: Path, report: Report) -> Contents:
    """Return the canonical files made of an index.

    Args:
        index: the index.
        scratch: an empty folder, for the caller to remove.
        report: receives progress messages.

    Returns:
        an iterator over canonical names and their bytes, not yet checked against the table.

    Raises:
        Unreachable: apt is not installed, or no archive answers it.
        Unavailable: the machine's archives are not of that release.
        OSError: the disk is full.
    """
    apt, apt_files = program("apt-get"), scratch / "apt"
    for folder in (scratch / "got", apt_files / "lists/partial", apt_files / "cache/archives/partial"):
        folder.mkdir(parents=True)
    settings = scratch / "apt.conf"
    settings.write_text(APT.format(apt_files, CONNECT) + INDEX)
    output = watch([apt, f"-c={settings}", "update"], str(index), scratch, report)
    listing = watch([apt, f"-c={settings}", "indextargets", "--format", FORMAT], str(index), scratch, report)
    paths = {}
    for line in listing.splitlines():
        codename, component, target, path = line.split(" ", 3)
        if (codename, component) == (index.codename, index.component) and Path(path).is_file():
            paths[target] = Path(path)
    for name, targets in index.members.items():
        if missing := [target for target in targets if target not in paths]:
            if NO_NETWORK.search(output):  # which apt-get update treats as a success
                raise Unreachable("no network")
            raise Unavailable(f"apt is set up for no archive with {missing[0]} of {index.codename}/{index.component}")
        report(f"{index}: reading")
        yield name, index.decode(name, *(paths[target].read_bytes() for target in targets))
