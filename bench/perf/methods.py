"""A round of every method that is a variant of DP-FedAvg, against one of DP-FedAvg on the same task, in turns."""

import time
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms import ALGORITHMS
from bench.data.graphs import from_weights, ring_with_chords
from bench.data.task import Linear, Peers, Task
from bench.data.tasks.quadratic import half_square
from bench.models.additive import squared_loss
from bench.perf.measure import Measurement
from bench.sweeps.spec import parameters

CLIENTS, SAMPLED, EXAMPLES, FEATURES = 1024, 64, 32, 256
ROUNDS, REPEATS = 16, 9
WANTED = 1.5  # the largest allowed ratio to the time of DP-FedAvg
COMMON: dict[str, Any] = {"clip_norm": 1.0, "noise_multiplier": 1.0, "step_size": 0.01, "batch_size": EXAMPLES}
USERS = COMMON | {"num_sampled": SAMPLED, "server_step_size": 0.01}
FIVE, IN_TURN = USERS | {"num_steps": 5}, {"sampler": "cyclic", "planned_rounds": 1000}
EVERY_RECORD = COMMON | {"sampler": "all"}
OF_RECORDS = (  # name, method, arguments, clients in a round, local steps
    ("DP-SCAFFOLD", "dp_scaffold", EVERY_RECORD | {"num_sampled": SAMPLED, "num_steps": 5}, SAMPLED, 5),
    ("MR-MTL", "mr_mtl", EVERY_RECORD | {"regularization": 1.0}, CLIENTS, 1),
    ("DP-D-SGD, ring", "dp_dsgd", COMMON | {"pair_noise_ratio": 0.0}, CLIENTS, 1),
    ("DECOR, ring", "dp_dsgd", COMMON | {"pair_noise_ratio": 3.0}, CLIENTS, 1),
)


class Case(NamedTuple):
    """A method with its arguments, and those of the DP-FedAvg that it is timed against. This is the DP-FedAvg of users,
    which clips the message of a user, or that of records ("dp_scaffold" without control variates), which clips the
    gradient of every record.
    """

    method: str
    args: dict[str, Any]
    against: dict[str, Any]
    base: str = "dp_fedavg"


CASES: dict[str, Case] = {
    **{
        f"DP-FedAvg, {noise} noise": Case("dp_fedavg", FIVE | IN_TURN | {"noise": noise, "num_bands": bands}, FIVE)
        for noise, bands in (("banded_sqrt", 16), ("blt", 4), ("tree", 0))
    },
    "DP-FedAvg, adaptive clipping": Case("dp_fedavg", FIVE | {"clipping": "adaptive"}, FIVE),
    **{
        name: Case("dp_fedopt", FIVE | {"optimiser": optimiser}, FIVE)
        for name, optimiser in (("FedAvgM", "momentum"), ("FedAdam", "adam"), ("FedYogi", "yogi"))
    },
    "FedProx": Case("dp_fedprox", FIVE, FIVE),
    "Ditto": Case("ditto", USERS | {"local_step_size": 0.01, "regularization": 1.0}, USERS),
    "Fine-tuning": Case("fine_tuning", FIVE | {"local_step_size": 0.01, "own_steps": 100}, FIVE),
    **{
        f"{name}, to {words}": Case(method, args, base_args, base)
        for name, method, args, sampled, steps in OF_RECORDS
        for words, base, base_args in (
            ("users' DP-FedAvg", "dp_fedavg", USERS | {"num_sampled": sampled, "num_steps": steps}),
            (
                "records' DP-FedAvg",
                "dp_scaffold",
                EVERY_RECORD | {"num_sampled": sampled, "num_steps": steps, "control_variates": False},
            ),
        )
    },
}


def _task() -> Task:
    """Return least squares for 1,024 clients with 32 records of 256 features, on a ring."""
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((CLIENTS, EXAMPLES, FEATURES), np.float32) / FEATURES**0.5
    return Task(
        init_params=jnp.zeros(FEATURES),
        num_examples=jnp.full(CLIENTS, EXAMPLES, jnp.int32),
        train=(jnp.asarray(inputs), jnp.asarray(rng.standard_normal((CLIENTS, EXAMPLES), np.float32))),
        linear=Linear(half_square),
        peers=Peers(
            graph=from_weights(ring_with_chords(CLIENTS, degree=2)),
            regularization=jnp.zeros(CLIENTS),
            smoothness=jnp.ones(CLIENTS),
            budget=jnp.ones(CLIENTS),
        ),
        loss=squared_loss,
        name="rounds_of_methods",
        source="generated",
    )


@partial(jax.jit, static_argnames=("method", "static"))
def _started(task: Task, key, *, method: str, static):
    return _algorithm(task, method, static).init(key)


@partial(jax.jit, static_argnames=("method", "static"))
def _rounds(task: Task, state, keys, *, method: str, static):
    algorithm = _algorithm(task, method, static)
    return jax.lax.scan(lambda state, key: (algorithm.round(key, state)[0], None), state, keys)[0]


def _algorithm(task: Task, method: str, static):
    return ALGORITHMS[method].make(task, **_known(method, dict(static)))


def _known(method: str, args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that the method has."""
    return {name: value for name, value in args.items() if name in parameters(ALGORITHMS[method])[0]}


class _Runs:
    """Rounds of one method, continued from one call to the next."""

    def __init__(self, task: Task, method: str, args: dict[str, Any]):
        self.task, self.method, self.static = task, method, tuple(sorted(args.items()))
        self.state = _started(task, jax.random.key(0), method=method, static=self.static)
        self.keys = jax.random.split(jax.random.key(1), ROUNDS)

    def seconds(self) -> float:
        """Return the seconds of a round."""
        began = time.perf_counter()
        self.state = _rounds(self.task, self.state, self.keys, method=self.method, static=self.static)
        jax.block_until_ready(self.state)
        return (time.perf_counter() - began) / ROUNDS


def methods(names: tuple[str, ...] = tuple(CASES), repeats: int = REPEATS) -> list[Measurement]:
    """Return medians over repetitions, in each of which DP-FedAvg and the method run one after the other.

    Args:
        names: names in CASES.
        repeats: the number of repetitions, after one that compiles and is not counted.
    """
    task, lines = _task(), []
    for name in names:
        case = CASES[name]
        both = _Runs(task, case.base, case.against), _Runs(task, case.method, case.args)
        times = np.array([[runs.seconds() for runs in both] for _ in range(repeats + 1)])[1:]
        base, own = np.median(times, axis=0)
        ratio = float(np.median(times[:, 1] / times[:, 0]))
        remarks = f"{1e3 * own:.3g} ms a round, DP-FedAvg {1e3 * base:.3g}"
        lines.append(Measurement(f"{name}: a round", ratio, "x DP-FedAvg", f"<= {WANTED:g}", remarks))
    return lines
