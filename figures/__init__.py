"""One module per figure or table of a paper. They read Parquet and run nothing."""

from types import ModuleType

from figures import ppsgd_fig1a, ppsgd_fig1c, ppsgd_fig2_digits

FIGURES: dict[str, ModuleType] = {
    "ppsgd_fig1a": ppsgd_fig1a,
    "ppsgd_fig1c": ppsgd_fig1c,
    "ppsgd_fig2_digits": ppsgd_fig2_digits,
}
