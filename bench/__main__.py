"""python -m bench: runs the command line of bench.cli.app; Ctrl-C ends it with one line."""

from bench.cli.signals import leave, run_command


def main() -> int:
    """Run a command; returns the exit status."""
    return run_command("bench.cli.app")


if __name__ == "__main__":
    leave(main())
