"""Methods that add less noise than they declare."""

from bench.algorithms.base import Method


def with_less_noise(method: Method, times: float = 2.0) -> Method:
    """The method, which declares so many times its noise."""

    def releases(task, *, delta, **args):
        return method.releases(task, delta=delta, **args | {method.noise: times * args[method.noise]})

    return method._replace(releases=releases)
