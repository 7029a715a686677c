"""Tables of runs, and running them."""

from collections.abc import Callable

from bench.sweeps import isrl, p2p, pfl, ppsgd, ppsgd_theory
from bench.sweeps.spec import Sweep

SCALES = ("smoke", "laptop", "paper")

SWEEPS: dict[str, Callable[[str], Sweep]] = {
    "isrl_odd_even": isrl.isrl_odd_even,
    "isrl_nonsmooth": isrl.isrl_nonsmooth,
    "isrl_rounds": isrl.isrl_rounds,
    "ppsgd_synthetic": ppsgd.ppsgd_synthetic,
    "ppsgd_digits": ppsgd.ppsgd_digits,
    "ppsgd_tags": ppsgd.ppsgd_tags,
    "ppsgd_tags_made_up": ppsgd.ppsgd_tags_made_up,
    "ppsgd_cnn": ppsgd.ppsgd_cnn,
    "ppsgd_theory": ppsgd_theory.ppsgd_theory,
    "ppsgd_sampling": ppsgd_theory.ppsgd_sampling,
    "p2p_convergence": p2p.p2p_convergence,
    "p2p_private": p2p.p2p_private,
    "p2p_dimensions": p2p.p2p_dimensions,
    "p2p_movielens": p2p.p2p_movielens,
    "pfl_splits": pfl.pfl_splits,
    "pfl_clients": pfl.pfl_clients,
    "pfl_epsilon": pfl.pfl_epsilon,
    "pfl_averaging": pfl.pfl_averaging,
    "pfl_normalisation": pfl.pfl_normalisation,
    "pfl_one_client": pfl.pfl_one_client,
    "pfl_small_epsilon": pfl.pfl_small_epsilon,
    "pfl_alone": pfl.pfl_alone,
}
