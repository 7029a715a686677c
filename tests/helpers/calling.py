"""Command lines that run in the process of a test."""

import sys
from collections.abc import Callable


def caller(program: str, main: Callable[[], int], monkeypatch, capsys) -> Callable:
    """A function that runs a program with these words: status, standard output, lines of error."""

    def call(*words):
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", [program, *map(str, words)])
        status = main()
        out, err = capsys.readouterr()
        return status, out, err.splitlines()

    return call
