"""How tests compile, which is four fifths of the time of many of them."""

import os


def compile_quickly() -> None:
    """Leave out most optimisations in this process and those that it starts. Call it before JAX is imported.

    Nothing is changed where XLA_FLAGS is set already.
    """
    if "XLA_FLAGS" not in os.environ:
        os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "true"
