"""A sparse graph of many peers."""

import numpy as np
from scipy import sparse


def ring_with_chords(num_clients: int, *, degree: int):
    """Weights 1 along a ring and along degree / 2 - 1 closed walks through all clients in random order."""
    rng = np.random.default_rng([0, 0x41C6])
    orders = [np.arange(num_clients), *(rng.permutation(num_clients) for _ in range(degree // 2 - 1))]
    rows, columns = np.concatenate(orders), np.concatenate([np.roll(order, -1) for order in orders])
    walked = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), (num_clients, num_clients))
    walked = walked + walked.T
    walked.data[:] = 1  # an edge that two walks share counts once
    return walked
