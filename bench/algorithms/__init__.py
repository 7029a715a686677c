"""One method a file; the file's name is the method's."""

from bench.algorithms import ppsgd
from bench.algorithms.base import Method

ALGORITHMS: dict[str, Method] = {"ppsgd": ppsgd.METHOD}
