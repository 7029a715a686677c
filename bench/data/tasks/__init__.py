"""The tasks that methods are run on: examples distributed to clients, a loss and metrics."""
