"""The exception for claims whose runs are missing."""


class NotTestable(Exception):
    """Runs that a claim needs are missing; the message says which."""
