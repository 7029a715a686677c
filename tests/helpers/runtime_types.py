"""The checker of types at run time that tests/conftest.py puts on bench.kernels."""

from beartype import BeartypeConf, beartype

# The numeric tower: where a float is declared, an int will do.
_check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def check(function):
    """The function, which then refuses arguments and results that are not what its annotations say."""
    # A registered dataclass holds whatever jax.tree.map makes of its leaves, such as their shapes.
    return function if function.__name__ == "__init__" else _check(function)
