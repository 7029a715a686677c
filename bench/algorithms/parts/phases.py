"""Phases of a run on silos: each phase uses disjoint records of every silo and has its own rounds and batch sizes."""

from typing import NamedTuple

import numpy as np

from bench.algorithms.parts.silo_arguments import SAMPLERS, SiloArguments
from bench.data.task import Task
from bench.errors import InputError, check_name


class Phases(NamedTuple):
    """The division of a run into phases; all tuples have one entry per phase.

    sizes: n_i, records of a silo that belong to the phase.
    rounds: R_i.
    batches: K_i, records of a silo in a message (with "poisson" on average).
    """

    sizes: tuple[int, ...]
    rounds: tuple[int, ...]
    batches: tuple[int, ...]

    @property
    def total(self) -> int:
        """Communication rounds of the whole run."""
        return sum(self.rounds)


def num_records(task: Task) -> int:
    """Return n, the number of stored records of a silo."""
    return task.capacity


def plan_phases(records: int, shared: SiloArguments) -> Phases:
    """Return n_i = floor(share n / 2^(i-1)) records and R_i = R ratio^(i-1) rounds for the phases i = 1, 2, ...

    Args:
        records: n, the records of a silo.
        shared: the arguments of the silos.

    Raises:
        InputError: for values that leave a phase without records or a batch larger than its phase.
    """
    num_phases, share, rounds_ratio, sampler = shared.num_phases, shared.share, shared.rounds_ratio, shared.sampler
    check_name("sampler", sampler, SAMPLERS)
    if shared.phase_rounds < 1:
        raise InputError(f"phase_rounds is {shared.phase_rounds}: it must be at least 1")
    if not (0 < share <= 1 and 0 < rounds_ratio <= 1):
        raise InputError(f"share is {share:g} and rounds_ratio {rounds_ratio:g}: each must be above 0 and at most 1")
    top = max(1, int(np.log2(records)))
    if not 1 <= num_phases <= top:
        raise InputError(
            f"num_phases is {num_phases}, but halving {records} records a silo gives at most {top}: take 1 to {top}, "
            "or a task with more records"
        )
    sizes = tuple(int(share * records) // 2**i for i in range(num_phases))
    rounds = tuple(max(1, round(shared.phase_rounds * rounds_ratio**i)) for i in range(num_phases))
    if sizes[-1] < 1:
        raise InputError(
            f"{num_phases} phases with share {share:g} of {records} records leave the last one without any: "
            "take fewer phases or a larger share"
        )
    if sum(sizes) > records:
        raise InputError(
            f"{num_phases} phases with share {share:g} of {records} records take {sizes}: take a share of at most 1/2"
        )
    if sampler == "once" and (lack := [(n, R) for n, R in zip(sizes, rounds, strict=True) if n < R]):
        raise InputError(f"a phase of {lack[0][0]} records cannot fill {lack[0][1]} rounds once: take fewer rounds")
    if sampler in ("fixed", "poisson") and shared.batch_size > min(sizes):
        raise InputError(
            f"batch_size is {shared.batch_size}, but the last phase has {min(sizes)} records: take at most so many, "
            "or fewer phases"
        )
    return Phases(sizes, rounds, _batches(sizes, rounds, shared))


def _batches(sizes: tuple[int, ...], rounds: tuple[int, ...], shared: SiloArguments) -> tuple[int, ...]:
    """Return K_i of every phase."""
    if shared.sampler == "all":
        return sizes
    if shared.sampler == "once":
        return tuple(n // R for n, R in zip(sizes, rounds, strict=True))
    return (shared.batch_size,) * len(sizes)
