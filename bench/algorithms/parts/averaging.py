"""The rounds of private federated averaging, shared by `dp_fedavg` and its variants.

Every participating user takes K steps of SGD on its own examples from w and sends its total update, divided by the step
size and clipped. The server adds noise to the sum and updates w:

    Delta_i = (w - w_i,K) / eta
    w      <- server(w, sum_i clip(Delta_i, C) + noise, D)

The update is post-processing of the noisy sum. A method may change the objective of the local steps, and what a user
makes of Delta_i before it is clipped: neither changes what a user can add to the sum.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from bench.algorithms.base import Algorithm, Scalar, State
from bench.algorithms.parts.clipping import Clipping, clipped_sum_of, clipping_of
from bench.algorithms.parts.noise import INDEPENDENT, Noise, noise_of
from bench.algorithms.parts.participation import Participation, participation, separation
from bench.algorithms.parts.shared_arguments import SharedArguments
from bench.algorithms.ranges import ClipNorm, Count, NonNegative, Positive, Range
from bench.data.task import Task
from bench.errors import InputError
from bench.kernels import local_steps


class Server(NamedTuple):
    """The server's update of w from a noisy sum.

    init: w -> memory.
    step: (w, memory, total, divisor) -> (w, memory).

    In `step`, total is sum_i clip(Delta_i, C) + noise over the users of the round, where Delta_i = (w - w_i,K) / eta is
    the sum of the K gradients that user i followed. It is in units of a gradient and points uphill, so a server that
    descends subtracts it. It is a sum: total / divisor is the noisy mean over users.
    """

    init: Callable[[Any], Any]
    step: Callable[..., tuple[Any, Any]]


# The shared arguments of methods whose users send one gradient: `step_size` is that of the server, the only one.
ONE_STEP: Mapping[str, Any] = MappingProxyType({"server_step_size": 1.0, "num_steps": 1})


def plain_step(step_size: Scalar) -> Server:
    """Return the server that updates w to w - step_size * sum / D."""

    def step(w, memory, total, divisor):
        return jax.tree.map(lambda z, g: z - step_size * g / divisor, w, total), memory

    return Server(lambda w: (), step)


class Message(NamedTuple):
    """What users make of Delta_i before it is clipped, and what the server makes of its noise.

    common: (key, w) -> what a round has for all users alike; it depends on public randomness and w alone.
    of_user: (Delta_i, common) -> the message, shaped like w.
    noise: (noise, common) -> noise. It may only leave out numbers that are 0 in every message of the round, whoever
        takes part.
    """

    common: Callable[[Any, Any], Any]
    of_user: Callable[[Any, Any], Any]
    noise: Callable[[Any, Any], Any] = lambda noise, common: noise


class Own(NamedTuple):
    """What every user keeps and never sends, in methods that share a part of the model only.

    start: the shared part w before the first round.
    init: () -> what the users of this device keep, leaves [client, ...].
    steps: (w, kept, batch, clip_norm, common) -> (kept, (sum_i clip(Delta_i, C), norms before clipping [sampled])),
        with `common` of the method's Message, () without one.
    params: (w, kept) -> the parameters of all models, as the task's metrics take them.
    size: of the numbers that a user of a round holds beside its examples.
    """

    start: Any
    init: Callable[[], Any]
    steps: Callable[..., tuple[Any, Any]]
    params: Callable[[Any, Any], Any]
    size: int


def _stepped(server: Server, w, memory, total, divisor) -> tuple[Any, Any]:
    """Return what `step` of a server returns.

    Raises:
        InputError: where that is not (w, memory).
    """
    out = server.step(w, memory, total, divisor)
    if not (isinstance(out, tuple) and len(out) == 2):
        what = f"{len(out)} values" if isinstance(out, tuple) else f"a {type(out).__name__}"
        code = getattr(server.step, "__code__", None)
        place = f" ({code.co_filename}, line {code.co_firstlineno})" if code else ""
        raise InputError(f"`step` of a Server{place} returns {what}: return the new w and the new memory, (w, memory)")
    return out


@dataclass(frozen=True, kw_only=True)
class AveragingArguments(SharedArguments):
    """The arguments shared by all methods that protect users by noisy sums of their messages.

    num_sampled: Q, users in a round; with "poisson" and "cyclic_poisson" the expected number, with "cyclic" the most,
        and with "balls_in_bins" the least that are expected.
    batch_size: m, examples of a user in a round, the same ones in each of its K steps.
    step_size: eta > 0, of a user.
    clip_norm: C > 0, on Delta_i; inf does not clip.
    noise_multiplier: sigma >= 0; the noise on the sum of clipped Delta_i has std sigma C.
    server_step_size: eta_server > 0.
    num_steps: K, local steps.
    sampler, num_epochs: see `participation`.
    noise, num_bands, planned_rounds: see `noise_of`. With sampler "cyclic_poisson", num_bands is also the number of
        groups.
    clipping, quantile: see `clipping_of`; with "per_layer", C is the norm of all layers together.
    """

    num_sampled: Count
    batch_size: Count
    step_size: Positive
    clip_norm: ClipNorm
    noise_multiplier: NonNegative
    server_step_size: Positive
    num_steps: Count = 1
    sampler: str = "fixed"
    num_epochs: Count = 1
    noise: str = INDEPENDENT
    num_bands: Annotated[int, Range(lambda v: v >= 0, "at least 0 (0 chooses it)")] = 0
    planned_rounds: Annotated[int, Range(lambda v: v >= 0, "at least 0")] = 0
    clipping: str = "fixed"
    quantile: Annotated[Scalar, Range(lambda v: 0 < v < 1, "between 0 and 1")] = 0.5


def rounds_of(task: Task, shared: AveragingArguments, reduce: str = "mean") -> tuple[Participation, Noise, Clipping]:
    """Return who takes part in the rounds, with a user's gradients reduced as for `participation`, the server's noise
    and the clipping.
    """
    drawn_by: dict[str, Any] = {name: getattr(shared, name) for name in ("num_sampled", "sampler", "num_bands")}
    who = participation(task, batch_size=shared.batch_size, num_epochs=shared.num_epochs, reduce=reduce, **drawn_by)
    noises = noise_of(shared.noise, separation(task, **drawn_by) or 1, shared.num_bands, shared.planned_rounds)
    clips = clipping_of(
        shared.clipping,
        clip_norm=shared.clip_norm,
        noise_multiplier=shared.noise_multiplier,
        num_sampled=shared.num_sampled,
        quantile=shared.quantile,
    )
    return who, noises, clips


def averaging(
    task: Task,
    shared: AveragingArguments,
    server: Server,
    *,
    message: Message | None = None,
    own: Own | None = None,
    **objective: Scalar,
) -> Algorithm:
    """Federated averaging with a server's step.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        shared: the shared arguments.
        server: the server's update of w.
        message: what users send; None sends Delta_i. Together with `own`, whose steps then make the messages, it says
            what a round has in common and where its noise is.
        own: what users keep; None keeps nothing, and shares the whole model.
        objective: `proximal`, `sharpness` or `bound` of the local steps; see `local_steps.LocalSteps`.
    """
    who, noises, clips = rounds_of(task, shared)
    if own is None:
        own = _nothing_kept(task, shared, message, objective)

    def init(key):
        w = own.start
        schedule = {"who": who.init(key), "noise": noises.init(w)}
        return State(schedule, {"w": w, "own": own.init(), "server": server.init(w), "clipping": clips.init()})

    def one_round(key, state):
        key_draw, key_noise = jax.random.split(key)
        w, norm = state.variables["w"], clips.norm(state.variables["clipping"])
        # Further keys are derived without changing the two of the split.
        common = () if message is None else message.common(jax.random.fold_in(key, 3), w)

        def of_users(kept, batch):
            kept, (total, norms) = own.steps(w, kept, batch, norm, common)
            return kept, (total, jnp.sum(norms > norm, dtype=jnp.float32))

        mine, (total, clipped), drawn, queue = who.in_blocks(
            key_draw, state.schedule["who"], of_users, state.variables["own"], own.size
        )
        direction, remembered = noises.draw(key_noise, state.schedule["noise"], w)
        direction = direction if message is None else message.noise(direction, common)
        std = jnp.where(drawn.released, clips.noise_scale(state.variables["clipping"]), 0.0)
        total = jax.tree.map(lambda g, n: g + std * n, total, direction)
        w, memory = _stepped(server, w, state.variables["server"], total, drawn.divisor)
        kept = clips.update(jax.random.fold_in(key, 2), state.variables["clipping"], clipped, drawn)
        info = {
            "released": drawn.released.astype(jnp.float32),
            "clipped": clipped / jnp.maximum(drawn.count, 1.0),
            **clips.info(kept),
        }
        variables = {"w": w, "own": mine, "server": memory, "clipping": kept}
        return State({"who": queue, "noise": remembered}, variables), info

    def public(state):
        w, kept = state.variables["w"], state.variables["clipping"]
        return (w, kept) if jax.tree.leaves(kept) else w

    return Algorithm(init, one_round, lambda state: own.params(state.variables["w"], state.variables["own"]), public)


def _nothing_kept(
    task: Task, shared: AveragingArguments, message: Message | None, objective: Mapping[str, Scalar]
) -> Own:
    """Return the steps of users who share the whole model."""
    local = local_steps.LocalSteps(shared.step_size, shared.num_steps, **objective)
    sent = message and message.of_user
    size = 2 * optax.tree.size(task.init_params)
    if task.gram is None:
        assert task.loss is not None
        steps = local_steps.dense(task.loss, task.nothing_local(), local, sent, clipped_sum_of(shared.clipping))
    else:
        steps = local_steps.dual(task.gram, local, sent)
        size = size if sent else shared.batch_size * (shared.batch_size + task.train[1].shape[-1])

    def keeping(w, kept, batch, clip_norm, common):
        return kept, steps(w, batch, clip_norm, common)

    return Own(task.init_params, tuple, keeping, lambda w, kept: w, size)
