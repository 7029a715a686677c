"""One method a file; the file's name is the method's."""

from bench.algorithms import (
    accelerated,
    admm,
    coordinate_descent,
    ditto,
    dp_fedavg,
    dp_scaffold,
    dpsgd_fedavg,
    fine_tuning,
    local_dp,
    local_learning,
    local_models,
    localized,
    minibatch_sgd,
    model_propagation,
    mr_mtl,
    ppsgd,
    subgradient,
)
from bench.algorithms.base import Method

ALGORITHMS: dict[str, Method] = {
    "accelerated": accelerated.METHOD,
    "admm": admm.METHOD,
    "coordinate_descent": coordinate_descent.METHOD,
    "ditto": ditto.METHOD,
    "dp_fedavg": dp_fedavg.METHOD,
    "dp_scaffold": dp_scaffold.METHOD,
    "dpsgd_fedavg": dpsgd_fedavg.METHOD,
    "fine_tuning": fine_tuning.METHOD,
    "local_dp": local_dp.METHOD,
    "local_learning": local_learning.METHOD,
    "local_models": local_models.METHOD,
    "localized": localized.METHOD,
    "minibatch_sgd": minibatch_sgd.METHOD,
    "model_propagation": model_propagation.METHOD,
    "mr_mtl": mr_mtl.METHOD,
    "ppsgd": ppsgd.METHOD,
    "subgradient": subgradient.METHOD,
}
