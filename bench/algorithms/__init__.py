"""One method a file; the file's name is the method's."""

from bench.algorithms import dp_fedavg, ppsgd
from bench.algorithms.base import Method

ALGORITHMS: dict[str, Method] = {"dp_fedavg": dp_fedavg.METHOD, "ppsgd": ppsgd.METHOD}
