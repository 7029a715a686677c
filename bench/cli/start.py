"""Starts a command line: what it imports, and what it does, can be stopped by a signal at any moment."""

import importlib
import sys
from typing import NoReturn

from bench.cli.signals import leave, until_stopped


def run_command(module: str) -> int:
    """Import a module and run its command line `app`; returns the exit status."""

    def run() -> int:
        app = importlib.import_module(module).app
        from bench.cli.exits import exit_status  # after the handlers of signals, since it imports typer

        return exit_status(app)

    return until_stopped(run)


def installed() -> NoReturn:
    """Run the command of an installed suite: that of `python -m bench`, or of `python -m figures` after `figures`."""
    app = "bench.cli.app"
    if sys.argv[1:2] == ["figures"]:
        app, sys.argv = "figures.command_line", [f"{sys.argv[0]} figures", *sys.argv[2:]]
    leave(run_command(app))
