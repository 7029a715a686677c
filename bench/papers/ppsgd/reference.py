"""A second implementation of PPSGD in plain NumPy: the loop of the published experiments, and Algorithms 1, 2 and 3 as
printed.

It is written from the paper (Bietti et al. 2022) and shares nothing with `bench.algorithms.ppsgd`, which is checked
and timed against it. All randomness is an argument, so both can be given the same draws. Models are
[feature] or [feature, output] here, as in the paper, where predictions are (w + theta_i)^T x.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

# ---- The published experiments' loop: averages of minibatch gradients, and noise on the average over participants ----


def step_sizes(step_size: float, personalization: float) -> tuple[float, float]:
    """Return (eta_w, eta_theta) of a grid's pair (s, a)."""
    if personalization == math.inf:
        return step_size, 0.0
    if personalization > 1:
        return step_size, step_size / personalization
    return personalization * step_size, step_size


def as_run(
    rounds: Iterable[tuple],
    num_clients: int,
    shape: tuple[int, ...],
    *,
    step_size: float,
    personalization: float,
    clip_norm: float,
    noise_multiplier: float,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Run the loop of the published experiments; yields (w, theta) after each round.

    Both are changed in place by the next round, so copy them to keep them.

    Args:
        rounds: one tuple a round: users [L], all different; their minibatches x [L, example, feature] and
            y [L, example] or [L, example, output]; standard normal noise of the shape of w.
        num_clients: N.
        shape: of w and of every theta_i, (feature,) or (feature, output).
        step_size: s.
        personalization: a = eta_w / eta_theta.
        clip_norm: C, on a user's mean gradient.
        noise_multiplier: sigma; the noise on the average over L users has std sigma C / L.
    """
    eta_w, eta_theta = step_sizes(step_size, personalization)
    noise_std = noise_multiplier * clip_norm if noise_multiplier > 0 else 0.0
    w = np.zeros(shape)
    theta = np.zeros((num_clients, *shape))
    for users, x, y, normal in rounds:
        error = np.einsum("imd,id...->im...", x, w + theta[users]) - y
        grad = np.einsum("imd,im...->id...", x, error) / x.shape[1]
        if eta_theta > 0:
            theta[users] -= eta_theta * grad
        norm = np.sqrt(np.sum(grad**2, axis=tuple(range(1, grad.ndim))))
        clipped = (grad.T / np.maximum(1, norm / clip_norm)).T
        if eta_w > 0:
            w -= eta_w * (clipped.mean(axis=0) + noise_std / len(users) * normal)
        yield w, theta


def stream(
    rng: np.random.Generator,
    truth: np.ndarray,
    variance: np.ndarray,
    *,
    label_noise: float,
    batch_size: int,
    num_rounds: int,
) -> Iterator[tuple]:
    """Yield rounds of the synthetic experiment for `as_run`, in which everybody takes part with fresh examples.

    Args:
        rng: of examples and noise.
        truth: theta_i*, [client, feature].
        variance: of each feature.
        label_noise: tau, standard deviation.
        batch_size: m.
        num_rounds: T.
    """
    num_clients, num_features = truth.shape
    everybody = np.arange(num_clients)
    for _ in range(num_rounds):
        x = rng.standard_normal((num_clients, batch_size, num_features)) * np.sqrt(variance)
        y = np.einsum("imd,id->im", x, truth)
        y += label_noise * rng.standard_normal(y.shape)
        yield everybody, x, y, rng.standard_normal(num_features)


def queue(
    rng: np.random.Generator,
    train: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    num_sampled: int,
    batch_size: int,
    num_epochs: int,
) -> Iterator[tuple]:
    """Yield rounds on stored data for `as_run`, until every user has used each of its blocks `num_epochs` times.

    Users that still have blocks are shuffled and the first `num_sampled` of them use one block each; towards
    the end there are fewer. A user's last n mod m examples are in no block.

    Args:
        rng: of the schedule and the noise.
        train: of each user, x [example, feature] and y [example, output].
        num_sampled: Q.
        batch_size: m.
        num_epochs: passes.
    """
    waiting = []  # of each user, the blocks to come
    for x, _ in train:
        num_blocks = len(x) // batch_size
        waiting.append([int(b) for _ in range(num_epochs) for b in rng.permutation(num_blocks)])
    shape = train[0][0].shape[1], train[0][1].shape[1]
    while any(waiting):
        users = rng.permutation([i for i, blocks in enumerate(waiting) if blocks])[:num_sampled]
        starts = [waiting[i].pop(0) * batch_size for i in users]
        x = np.stack([train[i][0][start : start + batch_size] for i, start in zip(users, starts, strict=True)])
        y = np.stack([train[i][1][start : start + batch_size] for i, start in zip(users, starts, strict=True)])
        yield users, x, y, rng.standard_normal(shape)


# ---- The paper's algorithms, client by client and example by example ----


def example_gradient(w: np.ndarray, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the gradient of |(w + theta)^T x - y|^2 / 2, which is the same in w and in theta."""
    return np.multiply.outer(x, x @ (w + theta) - y)


def clip(gradient: np.ndarray, clip_norm: float) -> np.ndarray:
    """Return g / max(1, ||g|| / C)."""
    return gradient / max(1.0, np.linalg.norm(gradient) / clip_norm)


def algorithm_1(
    samples: Sequence[Sequence[tuple]],
    normals: Sequence[np.ndarray],
    *,
    eta: float,
    alpha: float,
    sigma_zeta: float,
    clip_norm: float,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Run Algorithm 1, Personalized-Private-SGD, and return the iterates z_0 .. z_n, each (w, theta).

    Args:
        samples: xi_{i,t} as samples[t][i], a minibatch (x, y) over which the gradient is averaged.
        normals: zeta_t / sigma_zeta.
        eta: step size.
        alpha: global/local ratio.
        sigma_zeta: standard deviation of the noise on the average.
        clip_norm: C.
    """
    N = len(samples[0])
    w, theta = np.zeros(normals[0].shape), np.zeros((N, *normals[0].shape))
    iterates = [(w, theta)]
    for xi, normal in zip(samples, normals, strict=True):
        new_theta, total = theta.copy(), np.zeros(w.shape)
        for i in range(N):
            x, y = xi[i]
            g = np.mean([example_gradient(w, theta[i], x[k], y[k]) for k in range(len(x))], axis=0)
            new_theta[i] = theta[i] - eta / N * g  # line 7
            total += clip(g, clip_norm)  # lines 8 and 9
        zeta = sigma_zeta * normal
        w, theta = w - alpha * eta * (total / N + zeta), new_theta  # line 12
        iterates.append((w, theta))
    return iterates


def algorithm_2(
    present: Sequence[Sequence[bool]],
    minibatches: Sequence[Sequence[tuple]],
    normals: Sequence[np.ndarray],
    *,
    q: float,
    sizes: Sequence[int],
    eta: float,
    alpha: float,
    sigma_zeta: float,
    clip_norm: float,
    average_users: bool = False,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Run Algorithm 2, PPSGD with client sampling, or Algorithm 3 for the average user, and return z_0 .. z_T.

    Algorithm 3 is Algorithm 2 with averages over a minibatch for sums, and N for M.

    Args:
        present: b_{i,t} as present[t][i], drawn from Ber(q).
        minibatches: xi_{i,t}^{(1..m_i)} as minibatches[t][i], a pair (x, y); not read where b_{i,t} = 0.
        normals: zeta_t / sigma_zeta.
        q: sampling probability of a client.
        sizes: m_i.
        eta: step size.
        alpha: global/local ratio.
        sigma_zeta: standard deviation of the noise.
        clip_norm: C.
        average_users: False for Algorithm 2, True for Algorithm 3.
    """
    N, M = len(sizes), sum(sizes)
    scale = q * N if average_users else q * M
    w, theta = np.zeros(normals[0].shape), np.zeros((N, *normals[0].shape))
    iterates = [(w, theta)]
    for b, xi, normal in zip(present, minibatches, normals, strict=True):
        new_theta, total = theta.copy(), np.zeros(w.shape)
        for i in range(N):
            if not b[i]:
                continue
            x, y = xi[i]
            g = np.sum([example_gradient(w, theta[i], x[k], y[k]) for k in range(sizes[i])], axis=0)
            if average_users:
                g = g / sizes[i]
            new_theta[i] = theta[i] - eta / scale * g  # line 8
            total += clip(g, clip_norm)  # lines 9 and 10
        zeta = sigma_zeta * normal
        w, theta = w - alpha * eta * (total / scale + zeta), new_theta  # line 13
        iterates.append((w, theta))
    return iterates


def average_iterate(iterates: Sequence[tuple]) -> tuple[np.ndarray, np.ndarray]:
    """Return the theorems' z-bar, the mean of z_0 .. z_{T-1}."""
    before_last = list(iterates)[:-1]
    return np.mean([w for w, _ in before_last], axis=0), np.mean([theta for _, theta in before_last], axis=0)
