"""Methods with the noise of more users than exist.

With K times the users, the same share of them in a round and the same noise multiplier sigma, a round sums K times as
many updates, and the noise on their mean has std sigma C / (K Q) in place of sigma C / Q. That is all that changes
here: the run has the users that exist, Q of them in a round, and noise of std sigma C / K on their sum. Nothing is
measured, and the rows say so.

What this assumes, and what it leaves out:

- The further users are like those that exist.
- They are not drawn: the mean of a round still varies as that of Q users does, and what is learned is not learned from
  more of them. With K times as many actual users a method would do better in both.
- sigma, epsilon and delta are those of the users that exist, since the rate of sampling is the same. But delta should
  fall as the users grow: at delta / K the same noise has a larger epsilon.
- Methods that release nothing, such as learning alone, stay as they are.

Simulators of federated learning scale the noise in this way to try settings of a large cohort on a small one. Numbers
from it are extrapolated.
"""

import inspect
from collections.abc import Callable
from functools import cache, wraps

from bench.algorithms.base import Method
from bench.algorithms.ranges import Positive

FACTOR = "users_factor"  # the argument, and the column: K, how many times the users there are
WHAT = (
    "Extrapolated, not measured: the users that exist, with the noise on the mean of a round that {factor:g} times as "
    "many would have at the same rate of sampling, noise multiplier and delta, as if all were like those that exist. "
)


def for_more_users(method: Method) -> Method:
    """Return the method with the argument `users_factor`, K, by which its noise is divided.

    Its releases, checks, roles and costs are those of the method: the noise multiplier is that of the larger
    population.
    """

    def without_factor(function):
        return function and (lambda *given, **args: function(*given, **{k: v for k, v in args.items() if k != FACTOR}))

    functions = {name: without_factor(getattr(method, name)) for name in ("releases", "check", "cost", "roles")}
    return method._replace(make=_divided(method.make, method.noise), **functions)


@cache  # one factory, and so one compiled program, for all variants of a method
def _divided(make: Callable, noise: str) -> Callable:
    """Return the factory with its noise divided by the factor."""

    @wraps(make)
    def extrapolated(task, **args):
        factor = args.pop(FACTOR)
        return make(task, **args | {noise: args[noise] / factor})

    signature = inspect.signature(make, eval_str=True)
    factor = inspect.Parameter(FACTOR, inspect.Parameter.KEYWORD_ONLY, default=1.0, annotation=Positive)
    extrapolated.__signature__ = signature.replace(parameters=[*signature.parameters.values(), factor])  # pyright: ignore
    return extrapolated
