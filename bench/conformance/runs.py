"""The inputs of the golden runs: data, model, clip norm, step sizes, and who takes part in which round.

All numbers are multiples of 1/8, so that float32 holds them exactly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TOLERANCE = 2e-5  # of every number, whose errors in float32 are about 1e-6

LOGISTIC, LINEAR, NETWORK = "logistic", "linear", "network"
QUANTITIES = ("clipped_sum", "mean", "model")


@dataclass(frozen=True)
class Run:
    """A training run without noise.

    Attributes:
        name: the first part of the ids.
        about: what it is.
        kind: LOGISTIC, LINEAR or NETWORK.
        definition: what is computed, in formulas, one for each word.
        clip_norm: C.
        expected: the expected number of participants, by which sums are divided.
        step_size: of the model, along or against the mean.
        data: example or user -> its data; lists.
        model: leaf -> initial values; lists or numbers.
        participants: of each round, indices of examples or users.
        local_step_size: of a user; None for examples.
        local_batches: user -> for each of its local steps the indices of its examples; None for examples.
    """

    name: str
    about: str
    kind: str
    definition: Mapping[str, str]
    clip_norm: float
    expected: int
    step_size: float
    data: list[dict[str, Any]]
    model: dict[str, Any]
    participants: list[list[int]]
    local_step_size: float | None = None
    local_batches: list[list[list[int]]] | None = None


NORM = "the L2 norm of all leaves together, biases included"
EXAMPLES = {
    "vector": "the gradient of the loss of one example, at the model before the round",
    "clipping": f"vector * min(1, clip_norm / norm), where norm is {NORM}",
    "clipped_sum": "the sum of the clipped vectors of the round's participants; 0 if there are none",
    "mean": "clipped_sum / expected, whatever the number of participants",
    "model": "the model before the round - step_size * mean",
}

RUNS = (
    Run(
        "logistic_dp_sgd",
        "example-level DP-SGD on logistic regression",
        LOGISTIC,
        {"loss": "log(1 + exp(-y (weights . x + bias))), y = 1 or -1", **EXAMPLES},
        clip_norm=0.625,
        expected=2,
        step_size=0.375,
        data=[
            {"x": [1.0, -0.5, 0.25], "y": 1.0},
            {"x": [2.0, 1.0, -1.5], "y": -1.0},
            {"x": [0.25, 0.5, -0.125], "y": -1.0},
            {"x": [-3.0, 0.5, 2.0], "y": 1.0},
            {"x": [1.5, 0.75, -0.5], "y": -1.0},
            {"x": [0.0, -1.25, 1.0], "y": -1.0},
        ],
        model={"weights": [0.5, -0.25, 0.125], "bias": 0.25},
        participants=[[0, 2, 4], [1], [], [0, 1, 2, 3, 4, 5]],
    ),
    Run(
        "linear_dp_fedavg",
        "user-level DP-FedAvg with two local steps on linear regression; users have one to four examples",
        LINEAR,
        {
            "loss": "(weights . x + bias - y)^2 / 2",
            "vector": "the user's model after its local steps - the model before the round; each local step subtracts "
            "local_step_size * the mean gradient over the examples of the next of its local_batches",
            "clipping": EXAMPLES["clipping"],
            "clipped_sum": "the sum of the clipped vectors of the round's participants, each user once whatever the "
            "number of its examples",
            "mean": EXAMPLES["mean"],
            "model": "the model before the round + step_size * mean",
        },
        clip_norm=0.375,
        expected=2,
        step_size=0.75,
        data=[
            {"x": [[1.0, 0.5]], "y": [0.625]},
            {"x": [[0.5, -1.0], [1.5, 0.25]], "y": [2.0, 1.5]},
            {"x": [[-0.5, 0.25], [0.75, 1.0], [1.0, -0.75]], "y": [0.25, -0.5, 0.5]},
            {"x": [[2.0, 1.0], [-1.0, 0.5], [0.5, 0.5], [0.25, -2.0]], "y": [-2.0, 1.5, 0.0, 3.0]},
        ],
        model={"weights": [0.25, 0.125], "bias": -0.125},
        participants=[[0, 2], [1, 2, 3], [3], [0, 1, 2, 3]],
        local_step_size=0.25,
        local_batches=[[[0], [0]], [[0], [1]], [[0, 1], [2]], [[0, 1], [2, 3]]],
    ),
    Run(
        "network_dp_sgd",
        "example-level DP-SGD on a network with two layers, where one norm for all layers and one for each differ",
        NETWORK,
        {
            "loss": "-log softmax(tanh(x kernel_1 + bias_1) kernel_2 + bias_2)[y], y = 0, 1 or 2",
            **EXAMPLES,
        },
        clip_norm=0.75,
        expected=2,
        step_size=0.625,
        data=[
            {"x": [1.0, -0.5], "y": 0},
            {"x": [-1.5, 2.0], "y": 1},
            {"x": [0.25, 0.125], "y": 2},
            {"x": [2.0, 1.5], "y": 1},
            {"x": [-0.5, -1.0], "y": 2},
        ],
        model={
            "kernel_1": [[0.5, -0.25, 0.75], [-0.5, 1.0, 0.25]],
            "bias_1": [0.125, 0.0, -0.25],
            "kernel_2": [[0.75, -0.5, 0.25], [1.0, 0.25, -0.75], [-0.25, 0.5, 1.25]],
            "bias_2": [0.0, 0.25, -0.125],
        },
        participants=[[0, 1, 4], [2, 3], [0, 1, 2, 3, 4]],
    ),
)
