"""One module per figure or table of a paper. They read Parquet and run nothing."""

from types import ModuleType

from figures.isrl import fig2 as isrl_fig2
from figures.isrl import fig3 as isrl_fig3
from figures.isrl import nonsmooth, rounds
from figures.isrl import table1 as isrl_table1
from figures.isrl import table2 as isrl_table2
from figures.p2p import allocation, calibration, fig1, fig2a, fig2b, fig2c, fig3, fig4, table1
from figures.pfl import (
    accuracy_epsilon,
    averaging,
    clients_curves,
    normalisation,
    one_client,
    overlap,
    small_epsilon,
    splits_curves,
    table2,
    table3,
    table4,
    table5,
)
from figures.ppsgd import fig1a, fig1b, fig1b_made_up, fig1c, fig1d, fig2, fig2_digits, sampling, theory

FIGURES: dict[str, ModuleType] = {
    "isrl_fig2": isrl_fig2,
    "isrl_fig3": isrl_fig3,
    "isrl_nonsmooth": nonsmooth,
    "isrl_rounds": rounds,
    "isrl_table1": isrl_table1,
    "isrl_table2": isrl_table2,
    "ppsgd_fig1a": fig1a,
    "ppsgd_fig1b": fig1b,
    "ppsgd_fig1b_made_up": fig1b_made_up,
    "ppsgd_fig1c": fig1c,
    "ppsgd_fig1d": fig1d,
    "ppsgd_fig2": fig2,
    "ppsgd_fig2_digits": fig2_digits,
    "ppsgd_theory": theory,
    "ppsgd_sampling": sampling,
    "p2p_fig1": fig1,
    "p2p_fig2a": fig2a,
    "p2p_fig2b": fig2b,
    "p2p_allocation": allocation,
    "p2p_fig2c": fig2c,
    "p2p_fig3": fig3,
    "p2p_fig4": fig4,
    "p2p_calibration": calibration,
    "p2p_table1": table1,
    "pfl_table2": table2,
    "pfl_table3": table3,
    "pfl_table4": table4,
    "pfl_splits_curves": splits_curves,
    "pfl_table5": table5,
    "pfl_clients_curves": clients_curves,
    "pfl_accuracy_epsilon": accuracy_epsilon,
    "pfl_overlap": overlap,
    "pfl_averaging": averaging,
    "pfl_normalisation": normalisation,
    "pfl_one_client": one_client,
    "pfl_small_epsilon": small_epsilon,
}
