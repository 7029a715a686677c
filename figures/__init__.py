"""One module per figure or table of a paper. They read Parquet and run nothing."""

from types import ModuleType

from figures import (
    isrl_fig2,
    isrl_fig3,
    isrl_nonsmooth,
    isrl_rounds,
    isrl_table1,
    isrl_table2,
    p2p_allocation,
    p2p_calibration,
    p2p_fig1,
    p2p_fig2a,
    p2p_fig2b,
    p2p_fig2c,
    p2p_fig3,
    p2p_fig4,
    p2p_table1,
    ppsgd_fig1a,
    ppsgd_fig1c,
    ppsgd_fig2_digits,
)

FIGURES: dict[str, ModuleType] = {
    "isrl_fig2": isrl_fig2,
    "isrl_fig3": isrl_fig3,
    "isrl_nonsmooth": isrl_nonsmooth,
    "isrl_rounds": isrl_rounds,
    "isrl_table1": isrl_table1,
    "isrl_table2": isrl_table2,
    "ppsgd_fig1a": ppsgd_fig1a,
    "ppsgd_fig1c": ppsgd_fig1c,
    "ppsgd_fig2_digits": ppsgd_fig2_digits,
    "p2p_fig1": p2p_fig1,
    "p2p_fig2a": p2p_fig2a,
    "p2p_fig2b": p2p_fig2b,
    "p2p_allocation": p2p_allocation,
    "p2p_fig2c": p2p_fig2c,
    "p2p_fig3": p2p_fig3,
    "p2p_fig4": p2p_fig4,
    "p2p_calibration": p2p_calibration,
    "p2p_table1": p2p_table1,
}
