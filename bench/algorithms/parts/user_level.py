"""The privacy and the cost of rounds of noisy sums over users, and the checks of their arguments."""

from collections.abc import Callable

import numpy as np

from bench.algorithms.base import Cost, check_noise_has_a_scale
from bench.algorithms.parts.clipping import FIXED, check_clipping
from bench.algorithms.parts.counting import num_parameters
from bench.algorithms.parts.noise import INDEPENDENT, PLAIN, check_noise, strategy
from bench.algorithms.parts.samplers import SAMPLERS
from bench.data.task import Task
from bench.errors import InputError, check_name
from bench.privacy.events import (
    balls_in_bins_readings,
    cyclic_poisson_readings,
    cyclic_readings,
    gaussian_readings,
)


def num_groups(task: Task, num_sampled: int, sampler: str, num_bands: int = 0) -> int:
    """Return G, the number of groups of users that take turns; 1 for samplers without groups."""
    return SAMPLERS[sampler].groups(task.num_clients, num_sampled, num_bands)


def separation(task: Task, *, num_sampled: int, sampler: str, num_bands: int = 0) -> int | None:
    """Return the least number of rounds between two participations of a user; None where a user may take part in
    neighbouring rounds by chance.
    """
    return num_groups(task, num_sampled, sampler, num_bands) if SAMPLERS[sampler].separated else None


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
    """Return the releases of noisy sums of clipped user messages, accounted for as in `gaussian_readings`, as in
    `cyclic_readings` for sampler "cyclic" and for correlated noise, or as in `cyclic_poisson_readings` and
    `balls_in_bins_readings` for these samplers.

    "sampler" assumes a fresh uniform sample in each round. The queue does not draw such a sample, since its rounds
    depend on each other, so only "worst_case" is sound for it. With the queue a user takes part in at most as many
    rounds as it has blocks to use; with "cyclic" it takes part in every G-th round at most.

    Args:
        task: its numbers of clients and examples are used, and count as public.
        noise_multiplier: sigma; noise on the sum of clipped messages has std sigma C.
        num_sampled, batch_size, sampler, num_epochs: as for `participation`.
        delta: the delta at which epsilon is stated.
        protects_against: the adversary, in words.
        noise, num_bands, planned_rounds: as for `noise_of`.
    """
    statement = {"delta": delta, "privacy_unit": "user", "protects_against": protects_against}
    groups, kind = num_groups(task, num_sampled, sampler, num_bands), SAMPLERS[sampler]
    if kind.turn == "bin":
        return balls_in_bins_readings(
            noise_multiplier=noise_multiplier, num_bins=groups, afresh=not kind.separated, **statement
        )
    if kind.turn == "by chance":
        return cyclic_poisson_readings(
            noise_multiplier=noise_multiplier,
            sampling_rate=min(groups * num_sampled / task.num_clients, 1.0),
            num_groups=groups,
            **statement,
        )
    if kind.turn == "whole" or (kind.separated and noise != INDEPENDENT):
        correlated = None if noise == INDEPENDENT else strategy(noise, groups, num_bands, planned_rounds)
        return cyclic_readings(
            noise_multiplier=noise_multiplier,
            max_participations=lambda rounds: -(-rounds // groups),
            sensitivity=None if correlated is None or correlated.orthogonal else correlated.sensitivity,
            **statement,
        )
    most_rounds = None
    if sampler == "queue":
        most_rounds = int(np.max(np.asarray(task.num_examples))) // batch_size * num_epochs
    return gaussian_readings(
        noise_multiplier=noise_multiplier,
        num_clients=task.num_clients,
        num_sampled=num_sampled,
        sampler=sampler,
        max_participations=lambda rounds: rounds if most_rounds is None else min(rounds, most_rounds),
        **statement,
    )


def noisy_sums(protects_against: str, *, kept: bool = False) -> Callable[..., dict]:
    """Return the function `releases` of a method that publishes one noisy sum of clipped user messages a round, and
    nothing else.

    The factory of the method has the arguments noise_multiplier, num_sampled, batch_size, sampler, num_epochs if it has
    a queue, and those of `noise_of` if its noise may be correlated.

    Args:
        protects_against: the adversary, in words.
        kept: whether a message depends on what its user kept from earlier rounds, beside what was released. Then
            "sampler" is not proven: with samples of a fixed size, whether the unit took part decides who else did, so
            that what others kept differs between neighbours as well. Independent draws are not affected.
    """

    def releases(task: Task, *, delta: float, noise_multiplier: float, num_epochs: int = 1, **args) -> dict:
        names = ("num_sampled", "batch_size", "sampler", *PLAIN)
        by_reading = readings(
            task,
            noise_multiplier=noise_multiplier,
            num_epochs=num_epochs,
            delta=delta,
            protects_against=protects_against,
            **{name: args[name] for name in names if name in args},
        )
        if kept and args["num_sampled"] < task.num_clients and "sampler" in by_reading:
            by_reading["sampler"] = by_reading["sampler"]._replace(sound=False)
        return by_reading

    return releases


def cost_of_sums(
    task: Task, *, num_sampled: int, batch_size: int, sampler: str, num_steps: int = 1, clipping: str = "fixed", **_
) -> Cost:
    """Return the cost of a round in which users take gradients on their minibatches and send one message each.

    With "queue" this is the cost of a round in which at least Q users have blocks left. With adaptive clipping a user
    sends one number more.

    Args:
        num_sampled, batch_size, sampler: as for `participation`.
        num_steps: K, the number of local steps that use a user's minibatch.
    """
    in_turn = SAMPLERS[sampler].turn in ("whole", "bin")
    users = task.num_clients / num_groups(task, num_sampled, sampler) if in_turn else num_sampled
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
    """Refuse incompatible values of a private user-level method before anything is compiled.

    Raises:
        InputError: naming the value and what to do.
    """
    check_name("sampler", sampler, SAMPLERS)
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
    if SAMPLERS[sampler].turn == "bin" and 2 * num_sampled > task.num_clients:
        raise InputError(
            f"num_sampled is {num_sampled}: with sampler {sampler!r} that leaves one bin for the {task.num_clients} "
            f"clients of {task.name}, so that all take part in every round: use at most {task.num_clients // 2}, or "
            "sampler 'all'"
        )
    values = {name: args.get(name, value) for name, value in {**PLAIN, **FIXED}.items()}
    groups = values["num_bands"]
    if SAMPLERS[sampler].turn == "by chance" and groups * num_sampled > task.num_clients:
        most = task.num_clients // num_sampled
        raise InputError(
            f"num_bands is {groups}: with sampler {sampler!r} it is also the number of groups of users, each of which "
            f"needs the {num_sampled} of num_sampled: use at most {most}, or sample fewer users"
        )
    check_noise(
        num_groups(task, num_sampled, sampler, groups),
        sampler,
        values["noise"],
        values["num_bands"],
        values["planned_rounds"],
    )
    check_clipping(values["clipping"], values["quantile"], clip_norm, values["noise"])
    check_noise_has_a_scale(noise_multiplier, clip_norm)
