"""One method a file; the file's name is the method's."""

from bench.algorithms import (
    admm,
    coordinate_descent,
    dp_fedavg,
    local_dp,
    local_models,
    model_propagation,
    ppsgd,
)
from bench.algorithms.base import Method

ALGORITHMS: dict[str, Method] = {
    "admm": admm.METHOD,
    "coordinate_descent": coordinate_descent.METHOD,
    "dp_fedavg": dp_fedavg.METHOD,
    "local_dp": local_dp.METHOD,
    "local_models": local_models.METHOD,
    "model_propagation": model_propagation.METHOD,
    "ppsgd": ppsgd.METHOD,
}
