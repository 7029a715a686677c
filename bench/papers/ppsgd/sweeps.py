"""The sweeps of Bietti et al. 2022 (section 6, appendix A), and the smaller scales derived from them."""

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.data.tasks import digits, tags
from bench.kernels.sampling import full_queue_rounds
from bench.papers.ppsgd import bounds, synthetic
from bench.papers.ppsgd.grid import PERSONALIZATION, once_for_local, with_further_steps, with_learning_alone
from bench.sweeps.spec import Entry, Sweep, grid, thin

EVAL_EVERY = 500  # of the experiments on real data
EVAL_EVERY_TAGS = 27  # a fifth of the 137 rounds of Debian's packages
EVAL_EVERY_MADE_UP = 394  # a fifth of the 1,973 rounds of generated documents in which ten users take part


def _evaluated_rounds(task, args, every: int = EVAL_EVERY) -> int:
    """Return the last multiple of `every` rounds up to which Q users take part in each, as long as there is one.

    The authors evaluate every 500 rounds. What follows the last full round is a tail in which fewer than Q users are
    left, down to one, and the noise on their mean grows as 1 / L: the model after it says more about the tail than
    about the method.
    """
    rounds = full_queue_rounds(task.num_examples // args["batch_size"], args["num_epochs"], args["num_sampled"])
    return max(rounds // every, 1) * every


def ppsgd_digits(scale: str) -> Sweep:
    """Figures 1c and 2: accuracy of linear models on digits by client, 20 passes, ten users in a round.

    The grid of noise multipliers is the finer one of the authors' program, with 70.
    """
    points = grid(
        personalization=PERSONALIZATION,
        clip_norm=[1.0, 10.0, 100.0],
        noise_multiplier=[0.0, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0, 70.0, 100.0],
        step_size=[1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2],
        num_sampled=10,
        batch_size=10,
        num_epochs=20,
        sampler="queue",
        local="dual",
    )
    paper = Sweep(
        name="ppsgd_digits",
        reproduces="Bietti et al. 2022, Figures 1c and 2 (EMNIST, linear)",
        tasks={"digits": digits.mnist_by_writer},
        entries={"PPSGD": Entry(ALGORITHMS["ppsgd"], points, complete=partial(once_for_local, clip_norm=10.0))},
        num_rounds=_evaluated_rounds,
        eval_every=EVAL_EVERY,
        delta=1e-4,
        seeds=5,
        notes="the paper does not give the panels' sigma",
    )
    laptop = thin(
        paper,
        keep={"clip_norm": [10.0], "personalization": [0.0, 0.1, 1.0, 10.0, 100.0, math.inf]},
    )
    smoke = thin(
        laptop,
        keep={
            "personalization": [0.0, 0.1, 1.0, 10.0, math.inf],
            "noise_multiplier": [0.0, 1.0, 5.0],
            "step_size": [1e-3, 2e-3, 5e-3],
        },
        num_epochs=2,
        seeds=3,
        tasks={"digits_by_style": digits.mnist_by_style},
    )
    if scale == "smoke":
        return with_learning_alone(smoke, [5e-4, 1e-3, 2e-3], 20)
    sweep = with_learning_alone({"paper": paper, "laptop": laptop}[scale], [5e-4, 1e-3, 2e-3, 5e-3], 1000)
    return with_further_steps(sweep, noisy=1.0, smaller=[2e-6, 1e-5, 2e-5, 5e-5])


TAG_GRID = {
    "personalization": PERSONALIZATION,
    "clip_norm": [1e-3, 0.01, 0.1, 1.0, 10.0],
    "noise_multiplier": [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0],
    "step_size": [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 150.0, 200.0, 250.0],
    "num_sampled": 10,
    "batch_size": 10,
    "num_epochs": 1,
    "sampler": "queue",
    "local": "dual",
}

FURTHER_TAG_STEPS: dict[str, Any] = {
    "noisy": 1.0,
    "smaller": [0.1, 0.3, 1.0],
    "shared": 10.0,
    "larger": [500.0, 1000.0, 2000.0],
}


def _tags(name: str, data: str, tasks, every: int) -> Sweep:
    """Return the published grid on documents with tags."""
    return Sweep(
        name=name,
        reproduces=f"Bietti et al. 2022, Figures 1b and 2 (Stack Overflow){data}",
        tasks=tasks,
        entries={
            "PPSGD": Entry(ALGORITHMS["ppsgd"], grid(**TAG_GRID), complete=partial(once_for_local, clip_norm=0.01))
        },
        num_rounds=partial(_evaluated_rounds, every=every),
        eval_every=every,
        delta=1e-4,
        seeds=5,
        notes="the paper does not give the panels' sigma",
    )


def ppsgd_tags(scale: str) -> Sweep:
    """Figures 1b and 2: accuracy of tag prediction, one pass, ten users in a round.

    The paper's data are 2,000 rounds, evaluated every 500; Debian's packages, which stand in for them, are 137. Ten
    users take part in each of the first 133, of which 108 are run. Generated documents of about that number stand in
    for those at the smallest scale.
    """
    paper = _tags("ppsgd_tags", "", {"tags": tags.debian_tags}, EVAL_EVERY_TAGS)
    made_up = {"made_up_tags": partial(tags.made_up_tags, num_clients=300, num_documents=(20, 80))}
    laptop = thin(
        paper,
        keep={
            "clip_norm": [0.01],
            "personalization": [0.0, 0.1, 1.0, 10.0, 100.0, math.inf],
            "noise_multiplier": [0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0],
            "step_size": [5.0, 20.0, 50.0, 100.0, 250.0],
        },
        seeds=5,
    )
    smoke = thin(
        laptop,
        keep={
            "personalization": [0.0, 0.1, 10.0, math.inf],
            "noise_multiplier": [0.0, 1.0],
            "step_size": [50.0, 100.0],
        },
        seeds=2,
        tasks=made_up,
    )
    if scale == "smoke":
        return with_learning_alone(smoke, [5.0, 10.0, 20.0], 10)
    sweep = with_learning_alone({"paper": paper, "laptop": laptop}[scale], [5.0, 10.0, 20.0, 50.0], 300)
    return with_further_steps(sweep, **FURTHER_TAG_STEPS)


def ppsgd_tags_made_up(scale: str) -> Sweep:
    """The same on generated documents, of the paper's numbers of users and documents and so of its 2,000 rounds."""
    made_up = {"made_up_tags": tags.made_up_tags}
    paper = _tags("ppsgd_tags_made_up", ", on generated documents of that size", made_up, EVAL_EVERY_MADE_UP)
    laptop = thin(
        paper,
        keep={
            "clip_norm": [0.01],
            "personalization": [0.0, 1.0, 10.0, math.inf],
            "noise_multiplier": [0.0, 0.2, 1.0, 2.0],
            "step_size": [5.0, 20.0, 100.0, 250.0],
        },
        seeds=5,
    )
    small = {"made_up_tags": partial(tags.made_up_tags, num_clients=50, num_documents=(100, 100), num_words=1000)}
    smoke = thin(
        laptop, keep={"noise_multiplier": [0.0, 1.0], "step_size": [100.0]}, tasks=small, eval_every=25, seeds=1
    )
    if scale == "smoke":
        return smoke._replace(num_rounds=partial(_evaluated_rounds, every=25))
    return with_further_steps({"paper": paper, "laptop": laptop}[scale], **FURTHER_TAG_STEPS)


def _of_the_program(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points with the true ratio and step of what the authors' program calls a and step size, local learning
    once.
    """
    a, s = points["legend_personalization"], points["legend_step_size"]
    eta_w, eta_theta = s * a.clip(upper=1), points["num_sampled"] * s / a.clip(lower=1)
    points = points.assign(personalization=a / points["num_sampled"], step_size=np.maximum(eta_w, eta_theta))
    return once_for_local(points, clip_norm=0.1)


def ppsgd_cnn(scale: str) -> Sweep:
    """Figures 1d and 2: accuracy of a convolutional network on digits by client, 20 passes, ten users in a round.

    The authors' program multiplies the local step by the number L of users in a round, here only: what its grid and
    legend call a is Q times the true ratio alpha Q of the steps. Both readings stand in the results, the program's
    as legend_personalization and legend_step_size.
    """
    points = grid(
        legend_personalization=PERSONALIZATION,
        clip_norm=[0.1, 1.0, 10.0],
        noise_multiplier=[0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0],
        legend_step_size=[0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0],
        num_sampled=10,
        batch_size=10,
        num_epochs=20,
        sampler="queue",
    )
    paper = Sweep(
        name="ppsgd_cnn",
        reproduces="Bietti et al. 2022, Figures 1d and 2 (EMNIST, CNN)",
        tasks={"digits": partial(digits.mnist_by_writer, model="cnn")},
        entries={
            "PPSGD": Entry(
                ALGORITHMS["ppsgd"], points, complete=_of_the_program, computed=("personalization", "step_size")
            )
        },
        num_rounds=_evaluated_rounds,
        eval_every=EVAL_EVERY,
        delta=1e-4,
        seeds=5,
        notes="the paper does not give the panels' sigma, nor whether the legend is the program's a or the ratio",
    )
    laptop = thin(
        paper,
        keep={
            "clip_norm": [0.1],
            "legend_personalization": [0.0, 0.1, 1.0, 10.0, math.inf],
            "noise_multiplier": [0.0, 0.3, 1.0, 3.0, 10.0],
            "legend_step_size": [0.1, 0.5, 2.0],
        },
        seeds=3,
    )
    smoke = thin(
        laptop,
        keep={"legend_personalization": [0.0, 1.0], "noise_multiplier": [0.0, 1.0], "legend_step_size": [0.5]},
        num_epochs=1,
        num_rounds=50,
        eval_every=50,
        seeds=1,
        tasks={"digits_by_style": partial(digits.mnist_by_style, model="cnn")},
    )
    if scale == "smoke":
        return smoke
    return with_further_steps(
        {"paper": paper, "laptop": laptop}[scale],
        noisy=0.3,
        smaller=[0.005, 0.02],
        shared=0.0,
        larger=[10.0],
        prefix="legend_",
    )


SWEEPS = {
    "ppsgd_synthetic": synthetic.ppsgd_synthetic,
    "ppsgd_longer": synthetic.ppsgd_longer,
    "ppsgd_digits": ppsgd_digits,
    "ppsgd_tags": ppsgd_tags,
    "ppsgd_tags_made_up": ppsgd_tags_made_up,
    "ppsgd_cnn": ppsgd_cnn,
    "ppsgd_theory": bounds.ppsgd_theory,
    "ppsgd_sampled_theory": bounds.ppsgd_sampled_theory,
    "ppsgd_sampling": bounds.ppsgd_sampling,
}
