"""Which layer may import which, and which modules are programs, that nothing imports."""

# What a module whose name begins so may import of ours, beside its own layer and bench.errors. The longest name that
# fits counts. Names are those within bench, but for figures. One with "=" is a package without the modules in it.
BESIDE = {
    "bench.files": "",
    "bench.processes": "",
    "bench.inputs": "",
    "bench.kernels": "",
    "bench.privacy": "files",
    "bench.models": "kernels",
    "bench.analysis": "files",
    "bench.ranking": "analysis.significance analysis.drawn_users",
    "bench.data": "files models kernels",
    "bench.data.dataset": "data.decode",
    "bench.data.decode": "",
    "bench.data.files": "",
    "bench.data.fetch": "files data.read.debian data.dataset data.decode data.files",
    "bench.data.read": "data.dataset data.decode",
    "bench.algorithms": "kernels models data.task privacy.events privacy.matrix_noise privacy.pair_noise",
    "bench.store": "data inputs files",
    "bench.sweeps": "store algorithms data kernels privacy inputs",
    "bench.papers": "sweeps algorithms data kernels privacy",
    "bench.execution": "sweeps store data files processes",
    "bench.upkeep": "analysis execution sweeps store data",
    "bench.comparison": "ranking analysis upkeep execution sweeps store algorithms data models privacy inputs files",
    "bench.audit": "inputs analysis execution sweeps algorithms data kernels models privacy files",
    "bench.conformance": "kernels models privacy",
    "bench.verification": "inputs execution sweeps store data processes",
    "bench.attacks": "inputs comparison analysis execution sweeps store algorithms data models privacy files",
    "figures": "=papers =papers.ppsgd papers.isrl.theory papers.ppsgd.theory ranking analysis privacy store files "
    "sweeps.condition",
    # Programs: they may import everything, and only each other may import them, unless a list names the very module.
    "figures.__main__": "cli.signals cli.start",
    "figures.pages.board": "figures comparison sweeps.spec ranking analysis files",  # reads the board as everybody does
    "figures.pages.report.page": "figures cli.options",  # shows the version
    "figures.command_line": "figures analysis store cli.options files processes",
}
# A second implementation shares nothing with what it checks.
ALONE = ("bench", "bench.errors", "bench.conformance.second")
ALONE += tuple(f"bench.papers.{paper}.reference" for paper in ("isrl", "p2p", "ppsgd"))
OF_EVERYTHING = ("bench.__main__", "bench.api", "bench.cli", "bench.parts", "bench.perf")
PROGRAMS = (*OF_EVERYTHING, "figures.__main__", "figures.command_line")


def full(name: str) -> str:
    """The name from its top on."""
    return name if name == "figures" else f"={full(name[1:])}" if name[0] == "=" else f"bench.{name}"


MAY_IMPORT = dict.fromkeys(ALONE, ()) | dict.fromkeys(OF_EVERYTHING, ("bench",))
MAY_IMPORT |= {name: (name, "bench.errors", *map(full, others.split())) for name, others in BESIDE.items()}
