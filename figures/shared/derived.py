"""Caches tables derived from runs that many claims and figures use."""

import functools
import weakref
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import pandas as pd

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def derived(
    function: Callable[Concatenate[pd.DataFrame, Arguments], Result],
) -> Callable[Concatenate[pd.DataFrame, Arguments], Result]:
    """Cache the results of a function for as long as its first argument, a table, exists.

    Neither that table nor the results may be changed in place. Further arguments are distinguished by their repr. Calls
    that raise are not cached.
    """
    kept: dict[int, dict[str, Any]] = {}  # by the id of the table, which is dropped with it

    @functools.wraps(function)
    def once(runs: pd.DataFrame, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if id(runs) not in kept:
            kept[id(runs)] = {}
            weakref.finalize(runs, kept.pop, id(runs), None)
        results, key = kept[id(runs)], repr((args, kwargs))
        if key not in results:
            results[key] = function(runs, *args, **kwargs)
        return results[key]

    return once
