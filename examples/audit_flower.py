"""Is a private Flower strategy right? Runs it many times, and saves what `python -m bench audit-outputs` judges.

    python examples/audit_flower.py                    # the right program
    python examples/audit_flower.py --mistake weights  # with a mistake of real programs

The strategy and the clients' app are those of a real deployment. In place of the network a grid within this process
hands messages over, so that thousands of runs take a minute. It needs Flower and NumPy.
"""

import argparse
import logging
import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
from flwr.supercore.task_identity import TaskIdentity

MISTAKES = {
    "weights": "FedAvg weighs clients by their number of examples, while the noise is made for equal weights",
    "relation": "the epsilon is that of a client added or removed, while a mean over n clients has one replaced",
    "client-noise": "each client adds the noise that the server should add, and the mean over clients shrinks it",
    "divided-twice": "the noise multiplier is divided by the number of clients, as the strategy does itself",
}
CLIENTS, NUMBERS, CLIP_NORM, NOISE_MULTIPLIER, ROUNDS, DELTA = 5, 4, 1.0, 4.0, 2, 1e-5


def clients_app(direction, rng, mistake):
    """Return the clients' app. Client 1 moves far in a direction; all others send nearly what they were given.

    The neighbouring data sets have opposite directions: a client is replaced by the worst other.
    """
    app = ClientApp()

    @app.train()
    def train(message, context):
        arrays = message.content["arrays"].to_numpy_ndarrays()
        # Replace from here to the reply by your own training.
        first = context.node_id == 1
        move = 100.0 * CLIP_NORM * direction if first else 1e-9  # Flower divides by the norm, so not 0
        arrays = [array + move * (np.arange(array.size) == 0) for array in arrays]
        if mistake == "client-noise":
            deviation = NOISE_MULTIPLIER * CLIP_NORM / CLIENTS
            arrays = [array + deviation * rng.standard_normal(array.shape) for array in arrays]
        examples = 50 if first and mistake == "weights" else 1
        content = {"arrays": ArrayRecord(arrays), "metrics": MetricRecord({"num-examples": examples})}
        return Message(RecordDict(content), reply_to=message)

    return app


def strategy_of(mistake):
    """Return the strategy of the server."""
    noise_multiplier = NOISE_MULTIPLIER
    if mistake == "divided-twice":
        noise_multiplier /= CLIENTS
    elif mistake == "client-noise":
        noise_multiplier = 0.0
    return DifferentialPrivacyServerSideFixedClipping(
        FedAvg(fraction_evaluate=0.0), noise_multiplier, CLIP_NORM, CLIENTS
    )


class InProcess(Grid):
    """Hands each message to the clients' app in this process, and keeps the models that the server sends."""

    def __init__(self, app):
        self.app = app
        self.sent = []

    def get_node_ids(self):
        return range(1, CLIENTS + 1)

    def send_and_receive(self, messages, *, timeout=None):
        messages = list(messages)
        if messages:
            self.sent.append(messages[0].content["arrays"].to_numpy_ndarrays())
        return [self.app(message, self.context(message.metadata.dst_node_id)) for message in messages]

    def context(self, node):
        return Context(run_id=1, node_id=node, node_config={}, state=RecordDict(), run_config={})

    def unused(self, *_, **__):
        raise NotImplementedError("this grid sends and receives at once")

    create_message = push_messages = pull_messages = set_run = unused
    run = property(unused)


def train_once(direction, rng, mistake):
    """Return the model after each round, [round, number]: what all clients see."""
    grid = InProcess(clients_app(direction, rng, mistake))
    result = strategy_of(mistake).start(grid, ArrayRecord([np.zeros(NUMBERS)]), num_rounds=ROUNDS)
    models = [*grid.sent[1:], result.arrays.to_numpy_ndarrays()]
    return np.array([np.concatenate([array.ravel() for array in arrays]) for arrays in models])


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
    parser.add_argument("--runs", type=int, default=3000, help="in each of the two worlds")
    parser.add_argument(
        "--out", type=Path, default=Path("outputs"), help="folder for the arrays, emptied of earlier ones"
    )
    parser.add_argument("--seed", type=int, default=0, help="of all noise")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for earlier in (*options.out.glob("with_*.npy"), *options.out.glob("without_*.npy")):
        earlier.unlink()  # or rounds of another program would be judged with these
    logging.getLogger("flwr").setLevel(logging.ERROR)
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1  # as a simulation of Flower sets them
    for place, (world, direction) in enumerate((("with", 1.0), ("without", -1.0))):
        rng = np.random.default_rng([options.seed, place])
        np.random.seed([options.seed, place])  # noqa: NPY002 - the generator of Flower's noise
        runs = np.array([train_once(direction, rng, options.mistake) for _ in range(options.runs)])
        for t in range(ROUNDS):
            np.save(options.out / f"{world}_{t}.npy", runs[:, t])
    # A replaced update moves the clipped sum by up to 2 C, which halves the noise multiplier.
    noise_multiplier = NOISE_MULTIPLIER if options.mistake == "relation" else NOISE_MULTIPLIER / 2
    print(f"python -m bench audit-outputs {options.out}/with_*.npy {options.out}/without_*.npy "
          f"--epsilon {epsilon_of(noise_multiplier, ROUNDS, DELTA):.4g} --delta {DELTA} --gaussian")  # fmt: skip


if __name__ == "__main__":
    main()
