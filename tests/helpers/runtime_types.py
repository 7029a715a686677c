"""The checker of types at run time that tests/conftest.py puts on bench.kernels."""

from beartype import BeartypeConf, beartype

# The numeric tower: where a float is declared, an int will do.
check = beartype(conf=BeartypeConf(is_pep484_tower=True))
