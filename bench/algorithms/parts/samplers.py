"""Who takes part in a round: the samplers, for clients on one device and for clients divided over several.

Who takes part depends on the key, and with "queue" on how many examples clients have, never on the examples
themselves or on a hyper-parameter that a sweep varies. Where clients are divided, every device draws the participants
of all devices from the same key, so nothing is exchanged for it.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from bench.data.task import Task
from bench.kernels import sampling, threefry
from bench.kernels.division import Division, places_of

USUAL_GROUPS = 4  # of "cyclic_poisson"; more groups allow more bands, and leave less to chance


class Drawn(NamedTuple):
    """The participants of a round that this device holds; all of them, where clients are not divided.

    clients: their rows in arrays by client; None for all, in order.
    present: which places are taken.
    blocks: of their examples, to be used; None where examples are drawn.
    in_round: their places in the round of all devices; None where they are all participants, in order.
    scheduled: the number of participants, of all devices.
    """

    clients: Array | None
    present: Array
    blocks: Array | None
    in_round: Array | None
    scheduled: Array


class Sampler(NamedTuple):
    """How the participants of rounds are drawn.

    init: key -> schedule, which is drawn once for a run.
    draw: (key, schedule) -> (Drawn, schedule) of a round.
    """

    init: Callable[[Array], Any]
    draw: Callable[[Array, Any], tuple[Drawn, Any]]


class Rounds(NamedTuple):
    """What a sampler depends on.

    num_clients: N.
    num_sampled: Q.
    num_groups: G, of clients that take turns; see `Kind`.
    num_blocks, most_blocks, num_epochs: for "queue", the blocks of each client of this device, the most of any client,
        and the passes over them.
    """

    num_clients: int
    num_sampled: int
    num_groups: int = 1
    num_blocks: Any = 0
    most_blocks: int = 0
    num_epochs: int = 1

    @property
    def rate(self) -> float:
        """Return Q / N."""
        return self.num_sampled / self.num_clients


def sampler_of(name: str, rounds: Rounds, division: Division | None) -> Sampler:
    """Return the sampler of this name in SAMPLERS.

    Args:
        name: of the sampler; `participation` says what each does.
        rounds: its parameters.
        division: of the clients over devices, with which the draws are those of one device; None for one device.
    """
    kind = SAMPLERS[name]
    return kind.on_one_device(rounds) if division is None else kind.of_a_device(rounds, division)


def drawn_clients(task: Task, key: Array, num_sampled: int) -> Drawn:
    """Draw a uniformly random subset of the clients, or all of them, as far as this device holds them."""
    name = "all" if num_sampled == task.num_clients else "fixed"
    drawn = sampler_of(name, Rounds(task.num_clients, num_sampled), task.division).draw(key, ())[0]
    return drawn if drawn.clients is not None else drawn._replace(clients=jnp.arange(task.num_held))


def uniform_of_clients(task: Task, key: Array, width: int) -> Array:
    """Draw uniform numbers, [client, width], which do not depend on how clients are divided over devices."""
    if task.division is None:
        return threefry.uniform(key, (task.num_clients, width))
    return threefry.uniform_at_rows(key, task.division.numbers(), width)


def sum_over(task: Task, drawn: Drawn, tree: Any) -> Any:
    """Return the sum over the clients of this device, of leaves [place, ...]; see `Task.total`."""

    def leaf_sum(leaf):
        if task.division is not None:  # some places may be empty
            leaf = jnp.where(drawn.present.reshape(-1, *[1] * (leaf.ndim - 1)), leaf, 0)
        return jnp.sum(leaf, axis=0)

    return jax.tree.map(leaf_sum, tree)


def _no_schedule(key: Array) -> tuple:
    return ()


def _draw(clients: Array | None, present: Array, blocks: Array | None = None) -> Drawn:
    return Drawn(clients, present, blocks, None, jnp.sum(present))


def _all(rounds: Rounds) -> Sampler:
    return Sampler(_no_schedule, lambda key, schedule: (_draw(None, jnp.ones(rounds.num_clients, bool)), schedule))


def _fixed(rounds: Rounds) -> Sampler:
    def draw(key, schedule):
        clients = sampling.fixed_size(key, rounds.num_clients, rounds.num_sampled)
        return _draw(clients, jnp.ones(rounds.num_sampled, bool)), schedule

    return Sampler(_no_schedule, draw)


def _poisson(rounds: Rounds) -> Sampler:
    bound = sampling.poisson_bound(rounds.num_clients, rounds.rate)

    def draw(key, schedule):
        return _draw(*sampling.poisson(key, rounds.num_clients, rounds.rate, bound)), schedule

    return Sampler(_no_schedule, draw)


def _group_schedule(rounds: Rounds, key: Array) -> tuple:
    """Return the schedule of samplers with groups: the round's number, and the groups of `sampling.deal`."""
    return jnp.int32(0), *sampling.deal(key, rounds.num_clients, rounds.num_groups)


def _cyclic(rounds: Rounds) -> Sampler:
    def draw(key, schedule):
        t, dealt, taken = schedule
        turn = t % dealt.shape[0]
        return _draw(dealt[turn], taken[turn]), (t + 1, dealt, taken)

    return Sampler(lambda key: _group_schedule(rounds, key), draw)


def _cyclic_poisson(rounds: Rounds) -> Sampler:
    def draw(key, schedule):
        t, dealt, taken = schedule
        num_turns, size = dealt.shape
        turn, within = t % num_turns, min(num_turns * rounds.rate, 1.0)
        places, drawn = sampling.poisson(key, size, within, sampling.poisson_bound(size, within))
        return _draw(dealt[turn][places], drawn & taken[turn][places]), (t + 1, dealt, taken)

    return Sampler(lambda key: _group_schedule(rounds, key), draw)


def _balls_in_bins(rounds: Rounds, afresh: bool = False) -> Sampler:
    # There is room for all clients of a bin but with the probability of `poisson_bound`, once for each bin of a run.
    bound = sampling.poisson_bound(rounds.num_clients, 1 / rounds.num_groups)

    def init(key):
        return jnp.int32(0), sampling.bins(key, rounds.num_clients, rounds.num_groups)

    def draw(key, schedule):
        t, bins = schedule
        if afresh:
            drawn = sampling.bins(key, rounds.num_clients, rounds.num_groups)
            bins = jnp.where(t % rounds.num_groups == 0, drawn, bins)
        return _draw(*places_of(bins == t % rounds.num_groups, bound)), (t + 1, bins)

    return Sampler(init, draw)


def _random_allocation(rounds: Rounds) -> Sampler:
    return _balls_in_bins(rounds, afresh=True)


def _queue(rounds: Rounds) -> Sampler:
    def init(key):
        return sampling.queue_start(key, rounds.num_blocks, rounds.num_epochs, rounds.most_blocks)

    def draw(key, schedule):
        drawn = sampling.queue_draw(key, schedule, rounds.num_blocks, rounds.num_sampled)
        schedule, clients, blocks, present = drawn
        return _draw(clients, present, blocks), schedule

    return Sampler(init, draw)


DeviceSampler = Callable[[Rounds, Division], Sampler]


def _held_sampler(sampler: Callable[[Rounds], Sampler], most: Callable[[Rounds, Division], int]) -> DeviceSampler:
    """Return the sampler whose draws are the participants that this device holds, of those drawn for all devices.

    Args:
        sampler: of the participants of all devices.
        most: the number of places that the participants of one device need.
    """

    def of_a_device(rounds, division):
        init, draw_for_all = sampler(rounds)
        bound = most(rounds, division)

        def draw(key, schedule):
            (users, taken, *_, scheduled), schedule = draw_for_all(key, schedule)
            if users is None:
                return Drawn(None, division.real(), None, division.numbers(), scheduled), schedule
            return Drawn(*_held_places(division, users, taken, bound), scheduled), schedule

        return Sampler(init, draw)

    return of_a_device


def _held_places(division: Division, users: Array, taken: Array, bound: int) -> tuple[Array, Array, None, Array]:
    """Return clients, present, blocks and in_round of `Drawn` for the users of a round that this device holds."""
    first = division.numbers()[0]
    in_round, present = places_of(taken & (users // division.held == first // division.held), bound)
    return jnp.where(present, users[in_round] - first, 0), present, None, in_round


def _cyclic_of_a_device(rounds: Rounds, division: Division) -> Sampler:
    """Return "cyclic", of which a device keeps the turns of its own users alone."""
    num_clients, num_turns = rounds.num_clients, rounds.num_groups
    bound = division.most(-(-num_clients // num_turns))

    def init(key):
        t, groups, taken = _group_schedule(rounds, key)
        return t, *_turns(division, groups, taken)

    def draw(key, schedule):
        t, turns, in_round = schedule
        turn = t % num_turns
        clients, present = places_of(turns == turn, bound)
        scheduled = (num_clients - turn + num_turns - 1) // num_turns
        return Drawn(clients, present, None, in_round[clients], scheduled), (t + 1, turns, in_round)

    return Sampler(init, draw)


def _turns(division: Division, groups: Array, taken: Array) -> tuple[Array, Array]:
    """Return the group of each of this device's users (-1 for rows without one), and its place there, [held]."""
    owners = jnp.where(taken, groups, division.users)
    turns_held = []
    for numbers in (jnp.arange(groups.shape[0])[:, None], jnp.arange(groups.shape[1])[None]):
        all_users = jnp.full(division.devices * division.held, -1, jnp.int32)
        numbers = jnp.broadcast_to(numbers, owners.shape)
        all_users = all_users.at[owners].set(jnp.where(taken, numbers, -1), mode="drop")
        turns_held.append(jax.lax.dynamic_slice_in_dim(all_users, division.numbers()[0], division.held))
    return turns_held[0], turns_held[1]


def _queue_of_a_device(rounds: Rounds, division: Division) -> Sampler:
    """Return "queue", of which a device keeps the order of its own users' blocks, and how many every user has left."""
    num_blocks, num_epochs, num_sampled = rounds.num_blocks, rounds.num_epochs, rounds.num_sampled

    def init(key):
        order = sampling.queue_start(key, num_blocks, num_epochs, rounds.most_blocks, division.numbers()).order
        return order, num_epochs * division.gathered(num_blocks)

    def draw(key, schedule):
        order, remaining = schedule
        users, taken = sampling.fixed_size_of(key, remaining > 0, num_sampled)
        clients, present, _, in_round = _held_places(division, users, taken, min(division.held, num_sampled))
        num_used = num_epochs * num_blocks[clients] - remaining[users[in_round]]
        blocks = sampling.queued_blocks(order, clients, num_used, num_blocks[clients])
        schedule = order, remaining.at[users].add(-taken.astype(jnp.int32))
        return Drawn(clients, present, blocks, in_round, jnp.sum(taken)), schedule

    return Sampler(init, draw)


class Kind(NamedTuple):
    """What is known of a sampler.

    on_one_device: where one device holds all clients.
    of_a_device: the same draws, of one of several devices.
    groups: (N, Q, bands of the noise) -> G, the number of groups of clients that take turns.
    turn: the part that a client takes in its group's turn: "whole", "by chance", or "bin", where its group is drawn
        independently of all others; empty without turns.
    separated: whether G is the least number of rounds between two rounds of a client; without it a client may take part
        in neighbouring rounds by chance.
    correlated: how the names of correlated noise begin whose privacy is proven with it; nothing for none.
    """

    on_one_device: Callable[[Rounds], Sampler]
    of_a_device: DeviceSampler
    groups: Callable[[int, int, int], int] = lambda num_clients, num_sampled, num_bands: 1
    turn: Literal["", "whole", "by chance", "bin"] = ""
    separated: bool = False
    correlated: tuple[str, ...] = ()


def _chance_groups(num_clients: int, num_sampled: int, num_bands: int) -> int:
    """Return the number of groups of "cyclic_poisson", each of at least Q clients."""
    return num_bands or min(USUAL_GROUPS, max(num_clients // num_sampled, 1))


def _bins(drawn: Callable[[Rounds], Sampler], separated: bool) -> Kind:
    """Return a sampler with floor(N / Q) bins, so that at least Q clients are expected in each."""
    of_a_device = _held_sampler(drawn, lambda rounds, division: division.most_of(1 / rounds.num_groups))
    return Kind(drawn, of_a_device, lambda clients, sampled, bands: clients // sampled, "bin", separated)


# With "cyclic_poisson" a random group, and chance within it, vary less than as much chance for everybody: a device
# needs no more places than with "poisson". "cyclic" has groups of at most Q clients.
SAMPLERS: dict[str, Kind] = {
    "all": Kind(_all, _held_sampler(_all, lambda rounds, division: division.held), separated=True, correlated=("",)),
    "fixed": Kind(_fixed, _held_sampler(_fixed, lambda rounds, division: division.most(rounds.num_sampled))),
    "poisson": Kind(_poisson, _held_sampler(_poisson, lambda rounds, division: division.most_of(rounds.rate))),
    "queue": Kind(_queue, _queue_of_a_device),
    "cyclic": Kind(
        _cyclic,
        _cyclic_of_a_device,
        lambda clients, sampled, bands: -(-clients // sampled),
        "whole",
        separated=True,
        correlated=("",),
    ),
    "cyclic_poisson": Kind(
        _cyclic_poisson,
        _held_sampler(_cyclic_poisson, lambda rounds, division: division.most_of(rounds.rate)),
        _chance_groups,
        "by chance",
        separated=True,
        correlated=("banded",),
    ),
    "balls_in_bins": _bins(_balls_in_bins, separated=True),
    "random_allocation": _bins(_random_allocation, separated=False),
}
