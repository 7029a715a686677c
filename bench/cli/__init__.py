"""The command line: python -m bench."""
