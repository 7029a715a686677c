"""What a claim says where the runs that it needs are not there."""


class NotTestable(Exception):
    """Runs that a claim needs are missing; says which."""
