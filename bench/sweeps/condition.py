"""Conditions on a sweep's points, such as "noise_multiplier <= 10 and personalization in (1, inf)".

What may be written is Python's syntax for comparisons of columns with literals, joined with and, or, not (or &, |, ~),
with `in` for a list. Everything else (calls, attributes, indices, other names) is refused, so that a condition from a
script or a file can do nothing but choose points.
"""

import ast
import functools
import operator
from typing import Any

import numpy as np
import pandas as pd

from bench.errors import InputError, check_name

COMPARISONS = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
JOINTS = {ast.And: operator.and_, ast.BitAnd: operator.and_, ast.Or: operator.or_, ast.BitOr: operator.or_}


def condition(expression: str, table: pd.DataFrame) -> np.ndarray:
    """Return for each row of the table whether it satisfies the expression.

    Raises:
        InputError: where the expression does not parse, names no column, compares text with a number by size, or is
            anything but comparisons of columns.
    """
    try:
        return _truth(ast.parse(expression.strip(), mode="eval").body, table)
    except SyntaxError as error:
        raise InputError(f"it does not parse ({error.msg})") from None
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("it does not parse") from None
    except TypeError:
        raise InputError("it compares text with a number") from None


def names(expression: str) -> set[str]:
    """Return the names of columns in an expression; none where it does not parse."""
    try:
        nodes = ast.walk(ast.parse(expression.strip(), mode="eval"))
        return {node.id for node in nodes if isinstance(node, ast.Name)} - {"inf", "nan"}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()


def _truth(node: ast.expr, table: pd.DataFrame) -> np.ndarray:
    """Return the node as a truth value of each row."""
    match node:
        case ast.BoolOp(joint, nodes):
            return functools.reduce(JOINTS[type(joint)], [_truth(operand, table) for operand in nodes])
        case ast.BinOp(left, ast.BitAnd() | ast.BitOr() as joint, right):
            return JOINTS[type(joint)](_truth(left, table), _truth(right, table))
        case ast.UnaryOp(ast.Not() | ast.Invert(), inner):
            return ~_truth(inner, table)
        case ast.Compare(left, operators, others):
            sides = [left, *others]
            pairs = zip(sides[:-1], operators, sides[1:], strict=True)
            return functools.reduce(operator.and_, [_compare(*pair, table) for pair in pairs])
        case ast.Name():
            values = _value(node, table)
            if isinstance(values, pd.Series) and values.dtype == bool:
                return values.to_numpy()
    raise InputError(f"{ast.unparse(node)} is no comparison of a column")


def _compare(left: ast.expr, comparison: ast.cmpop, right: ast.expr, table: pd.DataFrame) -> np.ndarray:
    left_value, right_value = _value(left, table), _value(right, table)
    if isinstance(comparison, ast.In | ast.NotIn):
        if not isinstance(left_value, pd.Series) or not isinstance(right_value, list):
            raise InputError("`in` wants a column before it and a list after it")
        return left_value.isin(right_value).to_numpy() ^ isinstance(comparison, ast.NotIn)
    if type(comparison) not in COMPARISONS or isinstance(left_value, list) or isinstance(right_value, list):
        raise InputError("a list goes after `in` only, and `is` does not work")
    result = COMPARISONS[type(comparison)](left_value, right_value)
    if not isinstance(result, pd.Series):
        raise InputError(f"{ast.unparse(left)} is compared with no column")
    return result.to_numpy()


def _value(node: ast.expr, table: pd.DataFrame) -> Any:
    """Return a column, a literal, or a list of literals."""
    match node:
        case ast.Name("inf" | "nan" as name):
            return float(name)
        case ast.Name(name):
            check_name("column", name, table.columns)
            return table[name]
        case ast.Constant(bool() | int() | float() | str() as value):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float()) | ast.Name("inf") as inner):
            return -_value(inner, table)
        case ast.List(nodes) | ast.Tuple(nodes) | ast.Set(nodes):
            values = [_value(operand, table) for operand in nodes]
            if not any(isinstance(value, pd.Series | list) for value in values):
                return values
    raise InputError(f"{ast.unparse(node)} is neither a column nor a value")
