"""Starts a command line: what it imports, and what it does, can be stopped by a signal at any moment."""

import importlib

from bench.cli.signals import until_stopped


def run_command(module: str) -> int:
    """Import a module and run its command line `app`; returns the exit status."""

    def run() -> int:
        app = importlib.import_module(module).app
        from bench.cli.exits import exit_status  # after the handlers of signals, since it imports typer

        return exit_status(app)

    return until_stopped(run)
