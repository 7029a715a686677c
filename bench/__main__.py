"""python -m bench: runs the command line of bench.command_line; Ctrl-C ends it with one line."""

from bench.stopping import leave, run_command


def main() -> int:
    """Run a command; returns the exit status."""
    return run_command("bench.command_line")


if __name__ == "__main__":
    leave(main())
