"""Tables of runs, and running them."""

from collections.abc import Callable

from bench.sweeps import ppsgd
from bench.sweeps.spec import Sweep

SCALES = ("smoke", "laptop", "paper")

SWEEPS: dict[str, Callable[[str], Sweep]] = {
    "ppsgd_synthetic": ppsgd.ppsgd_synthetic,
    "ppsgd_digits": ppsgd.ppsgd_digits,
}
