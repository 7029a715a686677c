"""Gaussian noise with components that neighbours on a graph share and that cancel, and the noise that remains on one
agent for each adversary.

Agent i sends its message plus u_i + sum_j v_ij over its neighbours j, with u_i ~ N(0, a_i^2 I) its own, and
v_ij = -v_ji ~ N(0, b^2 I) known to i and j alone. Over agents the noise has the covariance

    Sigma = diag(a^2) + b^2 L,    L the Laplacian of the graph,

in each coordinate. Where the message of agent i alone moves, by Delta, all messages together are a Gaussian mechanism
whose sensitivity in units of its noise is |Delta| ((Sigma^-1)_ii)^(1/2). This is as private as independent noise of
deviation ((Sigma^-1)_ii)^(-1/2). An adversary who knows some v_ij subtracts them, which leaves the graph without these
edges. So for agent k the graph without agent k remains, and for all other agents together a_i alone remains.

Source: Allouah, Koloskova, El Firdoussi, Jaggi and Guerraoui, ICML 2024; their program for its Renyi privacy has the
same (Sigma^-1)_ii.
"""

import numpy as np


def covariance(individual: np.ndarray, neighbors: np.ndarray, pair: float) -> np.ndarray:
    """Return Sigma, [agent, agent].

    Args:
        individual: a_i, the standard deviation of the noise that an agent shares with nobody, [agent].
        neighbors: which agents share noise, symmetric bool [agent, agent], False on the diagonal.
        pair: b, the standard deviation of the noise shared by a pair.
    """
    edges = neighbors.astype(float)
    return np.diag(individual**2) + pair**2 * (np.diag(edges.sum(1)) - edges)


def hidden_from_outsiders(individual: np.ndarray, neighbors: np.ndarray, pair: float) -> np.ndarray:
    """Return ((Sigma^-1)_ii)^(-1/2), the noise on agent i for adversaries who know no shared noise, [agent].

    Args:
        individual: above 0; the others as for `covariance`.
    """
    return np.diagonal(np.linalg.inv(covariance(individual, neighbors, pair))) ** -0.5


def hidden_from_one(individual: np.ndarray, neighbors: np.ndarray, pair: float) -> np.ndarray:
    """Return the least noise on agent i for any one other agent, who knows the noise that it shares itself, [agent].

    Sigma without the edges of agent k is Sigma less a matrix whose rank is the number of these edges, so its inverse
    follows from Sigma^-1 by Woodbury's formula.

    Args:
        individual: above 0; the others as for `covariance`.
    """
    inverse = np.linalg.inv(covariance(individual, neighbors, pair))
    worst = np.diagonal(inverse).copy()
    for k in range(len(individual)) if pair > 0 else ():
        neighbors_of_k = np.flatnonzero(neighbors[k])
        # Sigma^-1 B, a column e_j - e_k of B for every neighbour j
        along = inverse[:, neighbors_of_k] - inverse[:, [k]]
        reduced = np.eye(len(neighbors_of_k)) / pair**2 - (along[neighbors_of_k] - along[k])
        with_less = np.diagonal(inverse) + np.sum(along * np.linalg.solve(reduced, along.T).T, axis=1)
        worst = np.maximum(worst, np.where(np.arange(len(individual)) == k, 0.0, with_less))
    return worst**-0.5
