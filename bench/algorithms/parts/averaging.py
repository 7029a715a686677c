"""The rounds of private federated averaging, shared by `dp_fedavg` and its variants.

A method says what its users send, and what the server makes of their noisy sum. A round is

    m_i = send(w, minibatch of user i)                                    for the users of the round
    w   <- update(w, sum_i clip(m_i, C) + sigma C N(0, I), D)

A user adds at most C to the sum, whatever `send` is, and `update` is post-processing of it. So a method may choose both
freely, and its releases are those of `noisy_sums`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import optax

from bench.algorithms.base import Algorithm, Scalar, State
from bench.algorithms.parts.clipping import clipping_of
from bench.algorithms.parts.noise import INDEPENDENT, noise_of
from bench.algorithms.parts.participation import participation, separation
from bench.algorithms.parts.shared_arguments import SharedArguments
from bench.algorithms.ranges import ClipNorm, Count, NonNegative, Positive, Range
from bench.data.task import Task
from bench.errors import InputError

# The shared arguments of methods whose users send one gradient: `step_size` is that of the server, the only one.
ONE_STEP: Mapping[str, Any] = MappingProxyType({"server_step_size": 1.0, "num_steps": 1})


@dataclass(frozen=True, kw_only=True)
class AveragingArguments(SharedArguments):
    """The arguments shared by all methods that protect users by noisy sums of their messages.

    num_sampled: Q, users in a round; with "poisson" and "cyclic_poisson" the expected number, with "cyclic" the most,
        and with bins the least that are expected.
    batch_size: m, examples of a user in a round, the same ones in each of its K steps.
    step_size: eta > 0, of a user.
    clip_norm: C > 0, on a user's message; inf does not clip.
    noise_multiplier: sigma >= 0; the noise on the sum of clipped messages has std sigma C.
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


def averaging(
    task: Task,
    shared: AveragingArguments,
    send: Callable,
    update: Callable,
    *,
    start: Any = None,
    model: Callable = lambda w: w,
    begin: Callable = lambda key, w, clip_norm: w,
    kept: Callable | None = None,
    params: Callable | None = None,
    numbers: int | None = None,
    reduce: str = "mean",
) -> Algorithm:
    """Return the rounds of noisy sums of what users send.

    Args:
        task: of users; see `participation`.
        shared: the shared arguments.
        send: (w, batch) -> Messages of the users of a batch, shaped like the model, such as `user_changes`.
        update: (w, total, divisor) -> w, the server's. total is the noisy sum of the clipped messages and
            total / divisor the noisy mean over users; changes and gradients point uphill, so a server that descends
            subtracts it.
        start: w before the first round, the shared model with whatever else the server remembers; None: the task's
            model.
        model: w -> the shared model in it, which is published.
        begin: (key, w, clip_norm) -> what `send` and `update` of a round are given in the place of w, where they need
            public randomness or the clipping norm.
        kept: () -> what the users of this device keep and never send, leaves [client, ...]. Then `send` is
            (w, kept, batch) -> (kept, Messages).
        params: (w, kept) -> the parameters that the task's metrics take; None: the shared model.
        numbers: that a user of a round holds beside its examples; None: those of a change in local steps.
        reduce: of a user's examples; see `participation`.
    """
    draw_args: dict[str, Any] = {name: getattr(shared, name) for name in ("num_sampled", "sampler", "num_bands")}
    users = participation(task, batch_size=shared.batch_size, num_epochs=shared.num_epochs, reduce=reduce, **draw_args)
    noises = noise_of(shared.noise, separation(task, **draw_args) or 1, shared.num_bands, shared.planned_rounds)
    clips = clipping_of(
        shared.clipping,
        clip_norm=shared.clip_norm,
        noise_multiplier=shared.noise_multiplier,
        num_sampled=shared.num_sampled,
        quantile=shared.quantile,
    )
    start = task.init_params if start is None else start
    by_layer = shared.clipping == "per_layer" and len(jax.tree.leaves(model(start))) > 1
    if numbers is None and task.gram is not None:
        numbers = shared.batch_size * (shared.batch_size + task.train[1].shape[-1])

    def init(key):
        schedule = {"who": users.init(key), "noise": noises.init(model(start))}
        return State(schedule, {"w": start, "kept": kept() if kept else (), "clipping": clips.init()})

    def one_round(key, state):
        key_draw, key_noise = jax.random.split(key)
        schedule, (w, stores, memory) = state.schedule, (state.variables[name] for name in ("w", "kept", "clipping"))
        norm = clips.norm(memory)
        # Further keys are derived without changing the two of the split.
        inputs = begin(jax.random.fold_in(key, 3), w, norm)

        def block_sums(stores, batch):
            stores, messages = send(inputs, stores, batch) if kept else ((), send(inputs, batch))
            return stores, messages.clipped(norm, by_layer)

        size = numbers or 2 * optax.tree.size(task.init_params)
        stores, (total, clipped), drawn, queue = users.in_blocks(key_draw, schedule["who"], block_sums, stores, size)
        direction, noise_memory = noises.draw(key_noise, schedule["noise"], model(w))
        std = jnp.where(drawn.released, clips.noise_scale(memory), 0.0)
        total = jax.tree.map(lambda g, n: g + std * n, total, direction)
        w = _checked_update(w, update(inputs, total, drawn.divisor), update)
        memory = clips.update(jax.random.fold_in(key, 2), memory, clipped, drawn)
        info = {
            "released": drawn.released.astype(jnp.float32),
            "clipped": clipped / jnp.maximum(drawn.count, 1.0),
            **clips.info(memory),
        }
        return State({"who": queue, "noise": noise_memory}, {"w": w, "kept": stores, "clipping": memory}), info

    def prediction(state):
        w, stores = state.variables["w"], state.variables["kept"]
        return params(w, stores) if params else model(w)

    def public(state):
        w, memory = model(state.variables["w"]), state.variables["clipping"]
        return (w, memory) if jax.tree.leaves(memory) else w

    return Algorithm(init, one_round, prediction, public)


def _checked_update(w: Any, new_w: Any, update: Callable) -> Any:
    """Return what `update` returns.

    Raises:
        InputError: where that is not made like w.
    """
    if jax.tree.structure(new_w) != jax.tree.structure(w):
        code = getattr(update, "__code__", None)
        place = f" ({code.co_filename}, line {code.co_firstlineno})" if code else ""
        raise InputError(
            f"`update`{place} returns {jax.tree.structure(new_w)}: return w after the round, made like `start`, "
            f"{jax.tree.structure(w)}"
        )
    return new_w


def descent(step_size: Scalar) -> Callable:
    """Return the server's update of w to w - step_size * total / divisor."""

    def update(w, total, divisor):
        return jax.tree.map(lambda z, g: z - step_size * g / divisor, w, total)

    return update
