"""Code shared by the figures and claims of Gao et al. 2024: their curves, and the choice of settings.

The choice follows the paper: each trial (a draw of the data) has three runs of every setting, of which the setting with
the lowest mean training loss is scored by its mean test error. The figures show mean and standard deviation over
trials.
"""

from collections.abc import Callable

import pandas as pd

from bench.analysis import select, style
from bench.errors import InputError
from figures.shared.derived import derived
from figures.shared.runs import at_end

PUBLISHED, EXACT, SILENT = "published", "exact", "no noise"  # calibrations
ONE_PASS, LOCALIZED, MULTI_PASS = "One-pass MB-SGD", "Localized MB-SGD", "Multi-pass MB-SGD"
FIXED_ROUNDS, WIDE = "One-pass MB-SGD, 35 rounds", "Localized MB-SGD, wide search"
SETTING = ["num_phases", "phase_rounds", "regularization", "step_size"]
SMOOTHINGS = {"smoothing_radius": "convolution", "moreau_smoothness": "moreau"}  # column -> the smoothing that uses it
LOOKS: dict[str, style.Look] = {
    ONE_PASS: {"color": "#12355b", "marker": "o"},
    FIXED_ROUNDS: {"color": "#3c78b4", "marker": "", "linestyle": "--", "linewidth": 1.1},
    LOCALIZED: {"color": "#c8443c", "marker": "s"},
    WIDE: {"color": "#e6a532", "marker": "", "linestyle": "--", "linewidth": 1.1},
    MULTI_PASS: {"color": "#8c8c8c", "marker": "^"},
}


def _equal(runs: pd.DataFrame) -> pd.Series:
    return runs["search"] == "equal"


SERIES: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    ONE_PASS: lambda runs: _equal(runs) & (runs["algorithm"] == ONE_PASS),
    FIXED_ROUNDS: lambda runs: _equal(runs) & (runs["algorithm"] == ONE_PASS) & (runs["phase_rounds"] == 35),
    LOCALIZED: lambda runs: _equal(runs) & (runs["algorithm"] == LOCALIZED),
    WIDE: lambda runs: (runs["algorithm"] == LOCALIZED) & (runs["calibration"] != EXACT),
    MULTI_PASS: lambda runs: _equal(runs) & (runs["algorithm"] == MULTI_PASS),
}


def by_trial(runs: pd.DataFrame, by: list[str], value: str, on: str) -> pd.DataFrame:
    """Return the value at the best setting of each trial, with the setting: a row for each group and trial.

    Args:
        runs: one row per run.
        by: columns of a group.
        value: the column to average over the trial's runs.
        on: the column whose mean over the trial's runs is smallest at the best setting.
    """
    best = _without_defaults(select.tune(runs, by=[*by, "trial"], over="point", on=on, best="min"))
    told = _columns_of_setting(best)
    groups = best.groupby([*by, "trial"], observed=True)
    means = groups[[value, on, "epsilon", "epsilon_exact"]].mean()
    means[value] = means[value].where(groups[value].count() == groups.size())  # divergence is not averaged away
    tried = runs.groupby([*by, "trial"], observed=True)
    means = means.assign(settings=tried["point"].nunique(), runs_each=tried["seed"].nunique())
    return means.join(groups[told].first()).reset_index()


def _without_defaults(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with no smoothing parameter where a method does not use it."""
    for name, kind in SMOOTHINGS.items():
        if name in rows and "smoothing" in rows:
            rows = rows.assign(**{name: rows[name].where(rows["smoothing"] == kind)})
    return rows


def _columns_of_setting(rows: pd.DataFrame) -> list[str]:
    """Return the columns of a setting in which some row has a value."""
    return [name for name in (*SETTING, *SMOOTHINGS) if name in rows and rows[name].notna().any()]


def tried(rows: pd.DataFrame) -> str:
    """Return the number of settings that the rows of a table were chosen among, in words."""
    return f"{select.span((int(rows['settings'].min()), int(rows['settings'].max())))} settings"


def privacy_note(table: pd.DataFrame, which: str = "Epsilon") -> str:
    """Return a sentence on what is protected, and against whom. which: the epsilon, "Exact epsilon"."""
    return (
        f"{which} at delta = {table['delta'].iloc[0]:.2g}: one record of one silo replaced, against the server and the "
        "other silos."
    )


@derived
def errors(runs: pd.DataFrame, num_sampled: int) -> pd.DataFrame:
    """Test error of every curve, calibration, epsilon and trial, where `num_sampled` silos answer.

    Raises:
        InputError: where there are none.
    """
    runs = at_end(runs)
    runs = runs[runs["num_sampled"] == num_sampled]
    parts = [runs[chosen(runs)].assign(series=name) for name, chosen in SERIES.items()]
    together = pd.concat(parts, ignore_index=True)
    if together.empty:
        raise InputError(f"no run with num_sampled = {num_sampled}: run the whole sweep, without --where")
    return by_trial(together, ["series", "calibration", "target_epsilon"], "test_error", "train_loss")


def over_trials(trials: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Mean, interval, standard deviation over trials, mean epsilons, settings tried, runs per setting, and the settings
    chosen in each trial (empty where a method has no such setting)."""
    rows = trials.assign(seed=0)
    table = select.interval(rows, by=by, value=value, means=["epsilon", "epsilon_exact"])
    groups = rows.groupby(by, observed=True)
    more = groups[value].std(ddof=1).to_frame("std").join(groups[["settings", "runs_each"]].max())
    for name in _columns_of_setting(rows):
        more[f"chosen_{name}"] = groups[name].agg(_values_by_trial)
    return table.merge(more.reset_index(), on=by)


def _values_by_trial(values: pd.Series) -> str:
    """Return the chosen values, one for each trial; empty where a method has no such setting."""
    return "" if values.isna().all() else " ".join(f"{value:g}" for value in values)
