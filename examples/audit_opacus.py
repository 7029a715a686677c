"""Is private training with Opacus right? Runs it many times, and saves what `python -m bench audit-outputs` judges.

    python examples/audit_opacus.py                                    # the right program
    python examples/audit_opacus.py --mistake no-norm                  # with a mistake of real programs
    python examples/audit_opacus.py --audit sampler --mistake shuffled

A linear model is trained by DP-SGD on a few records. Replace `model`, `loss` and `data` by your own. It needs PyTorch,
Opacus and NumPy.
"""

import argparse
import logging
import math
import warnings
from pathlib import Path
from statistics import NormalDist

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer
from torch.utils.data import DataLoader, TensorDataset

AUDITS = {
    "noise": "all records are in every batch, so that the audit sees clipping and noise best",
    "sampling": "Poisson batches, for the claim on the whole program; delta is large, since few runs show a small one",
    "sampler": "Poisson batches with hardly any noise, so that only the sampler hides the record",
}
MISTAKES = {
    "shuffled": "batches of shuffled data, where the accountant assumes Poisson samples",
    "mean": "noise of the size for the mean over a batch, added to the sum",
    "no-norm": "noise whose standard deviation is the noise multiplier, without the clipping norm",
    "clip-mean": "the gradient of the batch is clipped, and not that of each record",
    "size": "the record is left out, and the batch size that Opacus divides by is computed from the number of records",
}
RECORDS, FEATURES, CLIP_NORM, STEP_SIZE = 4, 20, 2.0, 0.1
BATCH = {"noise": RECORDS, "sampling": RECORDS // 2, "sampler": RECORDS // 2}
EPOCHS = {"noise": 2, "sampling": 2, "sampler": 1}
NOISE_MULTIPLIER = {"noise": 1.0, "sampling": 0.7, "sampler": 0.2}
RUNS = {"noise": 3_000, "sampling": 10_000, "sampler": 3_000}  # sampling hides noise that is too small


class ClipsTheMean(DPOptimizer):
    """What `torch.nn.utils.clip_grad_norm_` does, if it is called in place of clipping the gradient of each record."""

    def clip_and_accumulate(self):
        means = [g.sum(0) / self.expected_batch_size for g in self.grad_samples]
        norm = torch.sqrt(sum(torch.sum(mean**2) for mean in means))
        for p, mean in zip(self.params, means, strict=True):
            p.summed_grad = self.expected_batch_size * mean * torch.clamp(self.max_grad_norm / (norm + 1e-6), max=1.0)


def data(with_unit, left_out=False):
    """Return the neighbouring data sets, which differ in the first record.

    Linear inputs of 0 have no gradient, so the other records are the same in both. The first has a target so far away
    that its gradient is longer than the clipping norm in every step, in the same direction. In the data set without it,
    it is a record without a gradient, so that the number of records, which Opacus treats as public, is the same.
    """
    inputs, targets = torch.zeros(RECORDS, FEATURES), torch.zeros(RECORDS, 1)
    if with_unit:
        inputs[0, 0], targets[0] = 1.0, -1e6
    elif left_out:
        inputs, targets = inputs[1:], targets[1:]
    return TensorDataset(inputs, targets)


def program(dataset, audit, mistake):
    """Return a function that trains once and gives the model after each step, [step, number], and its engine."""
    torch.manual_seed(0)  # the first model is the same in both worlds
    model = torch.nn.Linear(FEATURES, 1, bias=False)
    first = [p.detach().clone() for p in model.parameters()]
    loss = torch.nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=STEP_SIZE)
    loader = DataLoader(dataset, batch_size=BATCH[audit], shuffle=audit != "noise")
    engine = PrivacyEngine()
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=NOISE_MULTIPLIER[audit],
        max_grad_norm=CLIP_NORM,
        poisson_sampling=audit != "noise" and mistake != "shuffled",
    )
    if mistake == "mean":
        optimizer.noise_multiplier /= optimizer.expected_batch_size
    elif mistake == "no-norm":
        optimizer.noise_multiplier /= CLIP_NORM
    elif mistake == "clip-mean":
        optimizer.__class__ = ClipsTheMean

    def train():
        engine.accountant.history = []
        with torch.no_grad():
            for p, value in zip(model.parameters(), first, strict=True):
                p.copy_(value)
        published = []
        for _ in range(EPOCHS[audit]):
            for x, y in loader:
                optimizer.zero_grad()
                loss(model(x), y).backward()
                optimizer.step()
                published.append(torch.cat([p.detach().ravel() for p in model.parameters()]).numpy())
        return np.array(published)

    return train, engine


def claim(audit, engine):
    """Return the epsilon and delta of one run. All come from what the accountant was told, be it true or not."""
    if audit == "noise":  # without sampling, and the exact one
        return epsilon_of(NOISE_MULTIPLIER[audit], EPOCHS[audit], 1e-5), 1e-5
    if audit == "sampling":
        engine.accountant.history = [(NOISE_MULTIPLIER[audit], *rest) for _, *rest in engine.accountant.history]
        return engine.get_epsilon(0.1), 0.1
    # With this probability the record is in no batch. Then it has no effect, so epsilon is 0 whatever the noise.
    never = math.prod((1 - rate) ** steps for _, rate, steps in engine.accountant.history)
    return 0.01, 1 - never


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
    for name, choices in (("--audit", AUDITS), ("--mistake", MISTAKES)):
        default = "noise" if name == "--audit" else None
        said = "; ".join(f"{choice}: {meaning}" for choice, meaning in choices.items())
        parser.add_argument(name, choices=choices, default=default, help=said)
    parser.add_argument(
        "--runs",
        type=int,
        help=f"in each of the two worlds (default {RUNS['noise']}, or {RUNS['sampling']} for sampling)",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("outputs"), help="folder for the arrays, emptied of earlier ones"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for earlier in (*options.out.glob("with_*.npy"), *options.out.glob("without_*.npy")):
        earlier.unlink()  # or rounds of another program would be judged with these
    torch.set_num_threads(1)
    logging.getLogger("opacus").setLevel(logging.ERROR)  # an empty batch is no surprise here
    warnings.filterwarnings("ignore", message="Secure RNG turned off")  # right for experiments
    warnings.filterwarnings("ignore", message="Full backward hook is firing")  # inputs need no gradient
    for place, world in enumerate(("with", "without")):
        dataset = data(world == "with", left_out=options.mistake == "size")
        train, engine = program(dataset, options.audit, options.mistake)
        torch.manual_seed(2 * options.seed + 1 + place)  # the two worlds share no randomness
        runs = np.array([train() for _ in range(options.runs or RUNS[options.audit])])
        for t in range(runs.shape[1]):
            np.save(options.out / f"{world}_{t}.npy", runs[:, t])
    epsilon, delta = claim(options.audit, engine)
    gaussian = "--gaussian" if options.audit == "noise" else "--no-gaussian"
    print(f"python -m bench audit-outputs {options.out}/with_*.npy {options.out}/without_*.npy "
          f"--epsilon {epsilon:.4g} --delta {delta:.4g} {gaussian}")  # fmt: skip


if __name__ == "__main__":
    main()
