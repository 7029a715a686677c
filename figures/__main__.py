"""python -m figures: runs the command line of figures.command_line; Ctrl-C ends it with one line."""

from bench.cli.signals import leave
from bench.cli.start import run_command


def main() -> int:
    """Run a command and return its exit status."""
    return run_command("figures.command_line")


if __name__ == "__main__":
    leave(main())
