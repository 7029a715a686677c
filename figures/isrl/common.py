"""Code shared by the figures and claims of Gao et al. 2024: their curves, and the choice of settings.

The choice follows the paper: each trial (a draw of the data) has three runs of every setting, of which the setting with
the lowest mean training loss is scored by its mean test error. The figures show mean and standard deviation over
trials.
"""

import pandas as pd

from bench.analysis import select, style
from figures.shared.derived import derived
from figures.shared.runs import at_end, matching, runs_with

PUBLISHED, EXACT, SILENT = "published", "exact", "no noise"  # calibrations
ONE_PASS, LOCALIZED, MULTI_PASS = "One-pass MB-SGD", "Localized MB-SGD", "Multi-pass MB-SGD"
FIXED_ROUNDS, WIDE = "One-pass MB-SGD, 35 rounds", "Localized MB-SGD, wide search"
BY = ["series", "calibration", "target_epsilon"]
SETTING = ["num_phases", "phase_rounds", "regularization", "step_size"]
SMOOTHINGS = {"smoothing_radius": "convolution", "moreau_smoothness": "moreau"}  # column -> the smoothing that uses it
LOOKS: dict[str, style.Look] = {
    ONE_PASS: {"color": "#12355b", "marker": "o"},
    FIXED_ROUNDS: {"color": "#3c78b4", "marker": "", "linestyle": "--", "linewidth": 1.1},
    LOCALIZED: {"color": "#c8443c", "marker": "s"},
    WIDE: {"color": "#e6a532", "marker": "", "linestyle": "--", "linewidth": 1.1},
    MULTI_PASS: {"color": "#8c8c8c", "marker": "^"},
}


SERIES = {  # curve -> the columns that tell its runs
    ONE_PASS: {"search": "equal", "algorithm": ONE_PASS},
    FIXED_ROUNDS: {"search": "equal", "algorithm": ONE_PASS, "phase_rounds": 35},
    LOCALIZED: {"search": "equal", "algorithm": LOCALIZED},
    WIDE: {"algorithm": LOCALIZED, "calibration": [PUBLISHED, SILENT]},
    MULTI_PASS: {"search": "equal", "algorithm": MULTI_PASS},
}


def by_trial(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the test error at the setting of each trial with the lowest training loss, averaged over the trial's runs,
    with the setting: a row for each curve ("series"), calibration, epsilon and trial."""
    by = [*BY, "trial"]
    best = _without_defaults(select.tune(runs, by=by, over="point", on="train_loss", best="min"))
    groups, tried = best.groupby(by, observed=True), runs.groupby(by, observed=True)
    means = groups[["test_error", "train_loss", "epsilon", "epsilon_exact"]].mean()
    finite = groups["test_error"].count() == groups.size()
    means["test_error"] = means["test_error"].where(finite)  # divergence is not averaged away
    means = means.assign(settings=tried["point"].nunique(), runs_each=tried["seed"].nunique())
    return means.join(groups[_columns_of_setting(best)].first()).reset_index()


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
    runs = runs_with(at_end(runs), num_sampled=num_sampled)
    parts = [runs[matching(runs, **columns)].assign(series=name) for name, columns in SERIES.items()]
    return by_trial(pd.concat(parts, ignore_index=True))


def over_trials(trials: pd.DataFrame) -> pd.DataFrame:
    """Mean test error of each curve, calibration and epsilon, its interval and standard deviation over trials, mean
    epsilons, settings tried, runs per setting, and the settings chosen in each trial (empty where a method has no such
    setting)."""
    table = select.interval(trials.assign(seed=0), by=BY, value="test_error", means=["epsilon", "epsilon_exact"])
    groups = trials.groupby(BY, observed=True)
    more = groups["test_error"].std(ddof=1).to_frame("std").join(groups[["settings", "runs_each"]].max())
    for name in _columns_of_setting(trials):
        more[f"chosen_{name}"] = groups[name].agg(_values_by_trial)
    return table.merge(more.reset_index(), on=BY)


def _values_by_trial(values: pd.Series) -> str:
    """Return the chosen values, one for each trial; empty where a method has no such setting."""
    return "" if values.isna().all() else " ".join(f"{value:g}" for value in values)
