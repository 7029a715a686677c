"""Is a private loop in NumPy right? Runs it many times, and saves what `python -m bench audit-outputs` judges.

    python examples/audit_numpy.py                   # the right program
    python examples/audit_numpy.py --mistake mean    # with a mistake of real programs

Five users train a linear model together. In every round each sends the gradient on its own data, clipped to norm C, and
the server adds noise of standard deviation z C to the sum. Replace `train` by your own program.
"""

import argparse
import math
from pathlib import Path
from statistics import NormalDist

import numpy as np

MISTAKES = {
    "mean": "noise of the size for the mean over users, added to the sum",
    "no-norm": "noise whose standard deviation is the noise multiplier, without the clipping norm",
    "norm-twice": "noise that is multiplied by the clipping norm twice",
    "clip-mean": "the mean over users is clipped, and not the gradient of each",
    "by-layer": "each parameter is clipped to norm C alone, while the noise is made for one norm C",
    "same-noise": "the generator of the noise starts anew for each parameter",
    "half-noise": "noise multiplied by a half, the least mistake here",
}
NOISE_MULTIPLIER, ROUNDS, STEP_SIZE, DELTA = 2.0, 3, 0.1, 1e-5
USERS, FEATURES = 5, 5


def clip(layers, norm):
    """Return the layers, shortened together to a joint norm if they are longer."""
    factor = min(1.0, norm / max(math.sqrt(sum(np.sum(layer**2) for layer in layers)), 1e-12))
    return [factor * layer for layer in layers]


def train(inputs, targets, rng, clip_norm, mistake=None):
    """Return the model after each round, [round, number]: everything that the server publishes.

    inputs: [user, example, feature]; targets: [user, example].
    """
    weights, bias = np.zeros(FEATURES), np.zeros(1)
    published = []
    for _ in range(ROUNDS):
        sums = [np.zeros_like(weights), np.zeros_like(bias)]
        for x, y in zip(inputs, targets, strict=True):
            residual = x @ weights + bias[0] - y
            gradient = [x.T @ residual, np.sum(residual, keepdims=True)]
            if mistake == "by-layer":
                gradient = [clip([layer], clip_norm)[0] for layer in gradient]
            elif mistake != "clip-mean":
                gradient = clip(gradient, clip_norm)
            sums = [total + layer for total, layer in zip(sums, gradient, strict=True)]
        if mistake == "clip-mean":
            sums = [USERS * layer for layer in clip([total / USERS for total in sums], clip_norm)]

        deviation = NOISE_MULTIPLIER * clip_norm
        if mistake == "mean":
            deviation /= USERS
        elif mistake == "no-norm":
            deviation = NOISE_MULTIPLIER
        elif mistake == "norm-twice":
            deviation *= clip_norm
        elif mistake == "half-noise":
            deviation /= 2
        seed = int(rng.integers(2**32))
        noises = [(np.random.default_rng(seed) if mistake == "same-noise" else rng).standard_normal(total.shape)
                  for total in sums]  # fmt: skip
        step_w, step_b = ((total + deviation * noise) / USERS for total, noise in zip(sums, noises, strict=True))
        weights, bias = weights - STEP_SIZE * step_w, bias - STEP_SIZE * step_b
        published.append(np.concatenate([weights, bias]))
    return np.array(published)


def data(with_unit):
    """Return the neighbouring data sets, which differ in the first user.

    All others have data without a gradient, which makes them the same in both. The target of the first user is so far
    away that its gradient is longer than the clipping norm in every round, in the same direction, in all parameters.
    """
    inputs, targets = np.zeros((USERS, 1, FEATURES)), np.zeros((USERS, 1))
    inputs[0], targets[0] = 0.5, -1e6
    if not with_unit:
        inputs[0], targets[0] = 0.0, 0.0
    return inputs, targets


def epsilon_of(noise_multiplier, releases, delta):
    """Return the exact epsilon of Gaussian noise, where everybody takes part in every release (Balle and Wang 2018)."""
    phi, mu = NormalDist().cdf, math.sqrt(releases) / noise_multiplier
    low, high = 0.0, mu**2 / 2 + 10 * mu
    for _ in range(100):
        middle = (low + high) / 2
        spent = phi(mu / 2 - middle / mu) - math.exp(middle) * phi(-mu / 2 - middle / mu)
        low, high = (middle, high) if spent > delta else (low, middle)
    return high


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--mistake", choices=MISTAKES, help="; ".join(f"{name}: {is_}" for name, is_ in MISTAKES.items())
    )
    parser.add_argument("--clip-norm", type=float, default=0.5)
    parser.add_argument("--runs", type=int, default=5000, help="in each of the two worlds")
    parser.add_argument(
        "--out", type=Path, default=Path("outputs"), help="folder for the arrays, emptied of earlier ones"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for earlier in (*options.out.glob("with_*.npy"), *options.out.glob("without_*.npy")):
        earlier.unlink()  # or rounds of another program would be judged with these
    for place, world in enumerate(("with", "without")):
        rng = np.random.default_rng([options.seed, place])  # the two worlds share no randomness
        inputs, targets = data(world == "with")
        runs = np.array([train(inputs, targets, rng, options.clip_norm, options.mistake) for _ in range(options.runs)])
        for t in range(ROUNDS):
            np.save(options.out / f"{world}_{t}.npy", runs[:, t])
    epsilon = epsilon_of(NOISE_MULTIPLIER, ROUNDS, DELTA)
    print(f"python -m bench audit-outputs {options.out}/with_*.npy {options.out}/without_*.npy "
          f"--epsilon {epsilon:.4g} --delta {DELTA} --gaussian")  # fmt: skip


if __name__ == "__main__":
    main()
