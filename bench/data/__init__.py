"""Data sets: fetching and reading them, and distributing their examples to clients."""
