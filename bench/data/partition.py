"""Distributing examples to clients."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from bench.errors import InputError

TEST, VALIDATION = 0.2, 0.1  # shares of each client's examples
PARTS = ("test", "validation")  # what models are measured on: the test, or training data that are held out to tune on


def pack(arrays: Sequence[np.ndarray], capacity: int | None = None) -> np.ndarray:
    """Stack arrays of unequal length into one, [client, example, ...], padded with zeros.

    Args:
        arrays: one per client, [example, ...].
        capacity: length of the example axis; default the longest.
    """
    capacity = max(map(len, arrays)) if capacity is None else capacity
    out = np.zeros((len(arrays), capacity, *arrays[0].shape[1:]), arrays[0].dtype)
    for row, array in zip(out, arrays, strict=True):
        row[: len(array)] = array
    return out


def stack(clients: Sequence[tuple[np.ndarray, ...]], capacity: int | None = None) -> tuple[jax.Array, ...]:
    """Return the arrays of all clients as `pack` stacks them, and the numbers of their examples, int32 [client].

    Args:
        clients: the arrays of each, such as inputs and labels, [example, ...].
        capacity: length of the example axis; default the longest.
    """
    sizes = [len(arrays[0]) for arrays in clients]
    packed = (jnp.asarray(pack(leaf, capacity)) for leaf in zip(*clients, strict=True))
    return *packed, jnp.asarray(sizes, jnp.int32)


def by_label(labels: np.ndarray) -> list[np.ndarray]:
    """Return the indices of the examples of each label, labels ascending, examples in their own order."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def hold_out(indices: np.ndarray, fraction: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Shuffle and split the indices of one client into all but round(fraction n), but at least one, and the rest."""
    shuffled = rng.permutation(indices)
    num_held = max(1, round(fraction * len(indices)))
    return shuffled[num_held:], shuffled[:num_held]


def three_splits(indices: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Split the indices of one client at random into "train", "validation" and "test"."""
    remaining, test = hold_out(indices, TEST, rng)
    train, validation = hold_out(remaining, VALIDATION / (1 - TEST), rng)
    return {"train": train, "validation": validation, "test": test}


def by_style(first: np.ndarray, second: np.ndarray, classes: np.ndarray, counts: tuple[int, int]) -> np.ndarray:
    """Group examples that are similar in two measurements, with the same share of every class in each group.

    Within each class, examples are ranked by `first` and cut into counts[0] equal slices, and each slice is
    ranked by `second` and cut into counts[1].

    Args:
        first, second: measurements, [example].
        classes: [example].
        counts: slices by each measurement.

    Returns:
        Group number of each example, 0 .. counts[0] * counts[1] - 1.
    """
    groups = np.zeros(len(first), int)
    for members in by_label(classes):
        for i, group in enumerate(np.array_split(members[np.argsort(first[members], kind="stable")], counts[0])):
            ranked = group[np.argsort(second[group], kind="stable")]
            for j, cell in enumerate(np.array_split(ranked, counts[1])):
                groups[cell] = i * counts[1] + j
    return groups


def independent_draws(rng: np.random.Generator, num_examples: int, num_clients: int, size: int) -> np.ndarray:
    """Return examples of clients that draw independently from one pool, so that their draws overlap.

    Each client draws uniformly without replacement, in ascending order; an example belongs to Binomial(num_clients,
    size / num_examples) clients. Adding clients does not change the draws of the first ones.

    Args:
        num_examples: of the pool.
        size: examples of a client.

    Returns:
        int32 [client, example].

    Raises:
        InputError: for no client, or for clients with no example or more than the pool has.
    """
    if num_clients < 1:
        raise InputError(f"{num_clients} clients: use at least 1.")
    if not 1 <= size <= num_examples:
        raise InputError(f"{size} examples for each client: use 1 to {num_examples}, what the pool has.")
    draws = [np.sort(rng.choice(num_examples, size, replace=False)) for _ in range(num_clients)]
    return np.stack(draws).astype(np.int32)


def disjoint(rng: np.random.Generator, num_examples: int, num_clients: int, size: int | None = None) -> np.ndarray:
    """Return disjoint examples of clients: a random split into equal parts; the remainder is left out.

    Args:
        num_examples: of the pool.
        size: examples of a client; default num_examples // num_clients.

    Returns:
        int32 [client, example], each client's in ascending order.

    Raises:
        InputError: for no client, or fewer examples than the clients need.
    """
    if not 1 <= num_clients <= num_examples:
        raise InputError(f"{num_clients} clients share {num_examples} examples: use 1 to {num_examples} clients.")
    largest = num_examples // num_clients
    size = largest if size is None else size
    if not 1 <= size <= largest:
        raise InputError(f"{size} examples for each of {num_clients} clients: use 1 to {largest}, what the pool has.")
    return np.sort(rng.permutation(num_examples)[: num_clients * size].reshape(num_clients, size)).astype(np.int32)


def by_class_shares(
    rng: np.random.Generator, labels: np.ndarray, num_clients: int, concentration: float, size: int | None = None
) -> np.ndarray:
    """Return disjoint examples of clients with different class distributions, equally many each, without the remainder.

    A client's shares of the classes are drawn from a Dirichlet distribution around those of the pool, and it takes its
    examples from the classes by these shares; where a class is used up, the shares of the others grow (Hsu, Qi and
    Brown 2019). So the last clients are closer to the distribution of the remaining examples than to their draw.

    Args:
        labels: classes of the pool, [example].
        concentration: alpha > 0 of Dirichlet(alpha p), p the pool's shares times the number of classes; inf gives
            every client the pool's shares, 0.1 gives most clients one or two classes.
        size: examples of a client; default num_examples // num_clients.

    Returns:
        int32 [client, example], each client's in ascending order.

    Raises:
        InputError: no client, fewer examples than the clients need, or no such concentration.
    """
    if not concentration > 0:
        raise InputError(f"concentration = {concentration:g}: give a number above 0.")
    size_of_client = disjoint(np.random.default_rng(0), len(labels), num_clients, size).shape[1]
    remaining = [rng.permutation(members) for members in by_label(labels)]
    pool = np.array([len(members) for members in remaining]) / len(labels)
    clients = []
    for _ in range(num_clients):
        shares = pool if np.isinf(concentration) else rng.dirichlet(concentration * len(pool) * pool)
        counts = _class_counts(rng, shares, np.array([len(members) for members in remaining]), size_of_client)
        clients.append(np.concatenate([members[:count] for members, count in zip(remaining, counts, strict=True)]))
        remaining = [members[count:] for members, count in zip(remaining, counts, strict=True)]
    return np.sort(np.stack(clients), axis=1).astype(np.int32)


def _class_counts(rng: np.random.Generator, shares: np.ndarray, remaining: np.ndarray, size: int) -> np.ndarray:
    """Return the number of remaining examples of each class that a client of `size` examples takes, [class]."""
    counts = np.zeros(len(remaining), int)
    while (missing := size - counts.sum()) > 0:
        weights = np.where(counts < remaining, shares, 0.0)
        if weights.sum() <= 0:  # nothing is left of its own classes
            weights = (remaining - counts).astype(float)
        counts = np.minimum(counts + rng.multinomial(missing, weights / weights.sum()), remaining)
    return counts
