"""python -m bench: the command line of bench.command_line, which Ctrl-C ends in one line."""

from bench.stopping import leave, run_command


def main() -> int:
    """Run a command; the exit status."""
    return run_command("bench.command_line")


if __name__ == "__main__":
    leave(main())
