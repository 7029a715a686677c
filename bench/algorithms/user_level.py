"""What rounds of noisy sums over users reveal, by sampler and noise, and which arguments go together."""

from collections.abc import Callable

import numpy as np

from bench.algorithms.base import Cost, check_noise_has_a_scale
from bench.algorithms.clipping import FIXED, check_clipping
from bench.algorithms.counting import num_parameters
from bench.algorithms.noise import INDEPENDENT, PLAIN, check_noise, strategy
from bench.data.task import Task
from bench.errors import InputError, unknown_name
from bench.privacy.events import cyclic_readings, gaussian_readings

SAMPLERS = ("all", "fixed", "poisson", "queue", "cyclic")


def num_groups(task: Task, num_sampled: int) -> int:
    """G = ceil(N / Q), groups of sampler "cyclic", of at most Q users."""
    return -(-task.num_clients // num_sampled)


def separation(task: Task, *, num_sampled: int, sampler: str) -> int | None:
    """A user takes part every so many rounds, and no oftener; None where it may in neighbouring rounds by chance."""
    return {"cyclic": num_groups(task, num_sampled), "all": 1}.get(sampler)


def readings(
    task: Task,
    *,
    noise_multiplier: float,
    num_sampled: int,
    batch_size: int,
    sampler: str,
    num_epochs: int,
    delta: float,
    protects_against: str,
    noise: str = INDEPENDENT,
    num_bands: int = 0,
    planned_rounds: int = 0,
) -> dict:
    """What noisy sums of clipped user messages reveal, in the readings of `gaussian_readings`, or of `cyclic_readings`
    for sampler "cyclic" and for correlated noise.

    "sampler" assumes a fresh uniform sample each round, which the queue is not: its rounds depend on each
    other, and only "worst_case" is sound for it. There a user takes part in at most as many rounds as it has
    blocks to use; with "cyclic" in every G-th round at most.

    Args:
        task: for its numbers of clients and examples, which count as public.
        noise_multiplier: sigma; noise on the sum of clipped messages has std sigma C.
        num_sampled, batch_size, sampler, num_epochs: as for `participation`.
        delta: at which epsilon is stated.
        protects_against: in words.
        noise, num_bands, planned_rounds: as for `noise_of`.
    """
    statement = {"delta": delta, "privacy_unit": "user", "protects_against": protects_against}
    apart = separation(task, num_sampled=num_sampled, sampler=sampler)
    if apart is not None and (sampler == "cyclic" or noise != INDEPENDENT):
        correlated = None if noise == INDEPENDENT else strategy(noise, apart, num_bands, planned_rounds)
        return cyclic_readings(
            noise_multiplier=noise_multiplier,
            max_participations=lambda rounds: -(-rounds // apart),
            sensitivity=None if correlated is None or correlated.orthogonal else correlated.sensitivity,
            **statement,
        )
    most = None
    if sampler == "queue":
        most = int(np.max(np.asarray(task.num_examples))) // batch_size * num_epochs
    return gaussian_readings(
        noise_multiplier=noise_multiplier,
        num_clients=task.num_clients,
        num_sampled=num_sampled,
        sampler=sampler,
        max_participations=lambda rounds: rounds if most is None else min(rounds, most),
        **statement,
    )


def noisy_sums(protects_against: str) -> Callable[..., dict]:
    """`releases` of a method that makes public noisy sums of clipped user messages, one a round, and nothing else.

    Its factory has the arguments noise_multiplier, num_sampled, batch_size, sampler, num_epochs if it has a queue, and
    those of `noise_of` if its noise may be correlated.

    Args:
        protects_against: in words.
    """

    def releases(task: Task, *, delta: float, noise_multiplier: float, num_epochs: int = 1, **args) -> dict:
        known = ("num_sampled", "batch_size", "sampler", *PLAIN)
        return readings(
            task,
            noise_multiplier=noise_multiplier,
            num_epochs=num_epochs,
            delta=delta,
            protects_against=protects_against,
            **{name: args[name] for name in known if name in args},
        )

    return releases


def cost_of_sums(
    task: Task, *, num_sampled: int, batch_size: int, sampler: str, num_steps: int = 1, clipping: str = "fixed", **_
) -> Cost:
    """Of a round of a method whose users take gradients on their minibatches and send one message.

    With "queue" of a round in which at least Q users have blocks left; with adaptive clipping a user sends one number
    more.

    Args:
        num_sampled, batch_size, sampler: as for `participation`.
        num_steps: K, in which a user's minibatch is used.
    """
    users = task.num_clients / num_groups(task, num_sampled) if sampler == "cyclic" else num_sampled
    sizes = np.minimum(np.asarray(task.num_examples), batch_size)
    examples = users * (batch_size if sampler == "queue" else float(np.mean(sizes)))
    message = num_parameters(task) + (clipping == "adaptive")
    return Cost(float(users * message), examples * num_steps, examples)


def check_participation(
    task: Task,
    *,
    num_sampled: int,
    batch_size: int,
    sampler: str,
    clip_norm: float,
    noise_multiplier: float,
    **args,
) -> None:
    """Refuse values of a private user-level method that do not go together, before anything is compiled.

    Raises:
        InputError: naming the value and what to do.
    """
    if sampler not in SAMPLERS:
        raise unknown_name("sampler", sampler, SAMPLERS)
    if num_sampled > task.num_clients:
        raise InputError(
            f"num_sampled is {num_sampled}, more than the {task.num_clients} clients of {task.name}: sample fewer"
        )
    if sampler == "all" and num_sampled != task.num_clients:
        raise InputError(f"sampler 'all' means num_sampled = {task.num_clients}, not {num_sampled}")
    if sampler == "queue" and task.train is None:
        raise InputError(f"task {task.name} is a stream: the queue needs stored examples, use sampler='fixed'")
    if task.train is None and batch_size > (most := int(np.max(np.asarray(task.num_examples)))):
        raise InputError(f"batch_size is {batch_size}, but no client of {task.name} draws more than {most} examples")
    if task.train is not None and batch_size > task.capacity:
        raise InputError(
            f"batch_size is {batch_size}, more than any client of {task.name} has: use at most {task.capacity}"
        )
    apart = separation(task, num_sampled=num_sampled, sampler=sampler)
    ours = {name: args.get(name, value) for name, value in {**PLAIN, **FIXED}.items()}
    check_noise(apart, sampler, ours["noise"], ours["num_bands"], ours["planned_rounds"])
    check_clipping(ours["clipping"], ours["quantile"], clip_norm, ours["noise"])
    check_noise_has_a_scale(noise_multiplier, clip_norm)
