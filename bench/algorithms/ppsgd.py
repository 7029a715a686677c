"""Personalised private SGD (Bietti et al. 2022, Algorithms 1, 2 and 3, and the loop behind the experiments).

Every sampled user i takes a gradient g_i at (w, theta_i), updates its own theta_i with it, and sends the clipped
gradient to the server, which adds noise:

    theta_i <- theta_i - eta_theta g_i                        (free: never leaves the user)
    w       <- w - eta_w (sum_i clip(g_i, C) + sigma C N(0, I)) / D

What is protected is all data of one user, against all other users together (joint differential privacy in the
billboard model: the sequence of w is public, theta_i stays with user i).

The personalisation ratio is alpha Q = eta_w / eta_theta here, the argument `personalization`. It has other names:

    where                                                       its name          alpha Q is
    ---------------------------------------------------------   ---------------   -----------------------------------
    the paper's figures and grids                               alpha Q           alpha Q
    the paper's algorithms and theorems                         alpha             alpha D, with D the divisor of a sum
                                                                                  over users (`participation`)
    the authors' program, linear models                         a                 a
    the authors' program, network: a local step is Q times      a                 a / Q
        as long (legend_personalization in the results)
    sweeps, results, --set                                      personalization   personalization
"""

import math
from collections.abc import Callable
from typing import Annotated

import jax
import jax.numpy as jnp
import optax

from bench.algorithms.base import Algorithm, Cost, Method, Role, Scalar, State
from bench.algorithms.parts.averaging import ONE_STEP, AveragingArguments, averaging, descent
from bench.algorithms.parts.participation import check_participation, cost_of_sums, noisy_sums
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.ranges import Range
from bench.algorithms.search_space import OWN_STEP
from bench.data.task import Task
from bench.errors import InputError, check_name
from bench.kernels import personal
from bench.models.additive import Additive
from bench.privacy.events import nothing_released

REDUCE = ("mean", "sum")
LOCAL = ("dense", "dual", "head")


def step_sizes(step_size, personalization):
    """Return (eta_w, eta_theta), the larger of them s, their ratio alpha Q; (0, s) for alpha Q = 0, (s, 0) for inf."""
    return step_size * jnp.minimum(personalization, 1.0), step_size / jnp.maximum(personalization, 1.0)


@sharing(AveragingArguments, fixed=ONE_STEP)
def ppsgd(
    task: Task,
    shared: AveragingArguments,
    *,
    personalization: Annotated[Scalar, Range(lambda v: v >= 0, "at least 0 (inf is global learning)")],
    reduce: str = "mean",
    local: str = "dense",
    average: bool = False,
) -> Algorithm:
    """PPSGD on a task with an additive model, from w = theta_i = 0.

    The authors' experiments: sampler "all" (synthetic) or "queue" (real data), reduce "mean".
    Algorithm 1: sampler "all". Algorithm 2: "poisson" with reduce "sum". Algorithm 3: "poisson", "mean".
    In the paper's symbols eta = D eta_theta and sigma_zeta = sigma C / D, with D the divisor.

    Args:
        task: with loss(w, theta_i, example).
        shared: see AveragingArguments: step_size is s > 0, the larger of the two steps, and the norm that is clipped at
            C is that of a user's reduced gradient. The experiments use the sampler "queue" on real data.
        personalization: alpha Q = eta_w / eta_theta >= 0; 0 learns locally, inf globally.
        reduce: see `participation`, which also gives D.
        local: "dense" keeps theta_i, "dual" its coefficients (linear model on stored examples); "head" keeps a theta_i
            of the head alone, so that client i predicts with the shared representation and the head w + theta_i
            (Figure 1d).
        average: predict with the average of the iterates 0..t-1, which the theorems are about.
    """
    eta_w, eta_theta = step_sizes(shared.step_size, personalization)
    if local == "dual":
        assert task.gram is not None
        outputs = task.train[1].shape[-1]
        form = personal.dual(task.gram, outputs)
        numbers = task.gram.shape[1] * (shared.batch_size + outputs)
    else:
        assert task.loss is not None
        theta = jax.tree.map(jnp.zeros_like, task.parts()[1]) if local == "head" else task.nothing_local()
        form = personal.dense(task.loss, theta, task.num_held)
        numbers = 2 * (optax.tree.size(task.init_params) + optax.tree.size(theta))

    def send(w, models, batch):
        gradients = form.gradients(w, models, batch)
        return form.move(models, batch, gradients, eta_theta), form.messages(batch, gradients)

    def params(w, models):
        return Additive(w, **{"coefficients" if local == "dual" else "theta": models})

    rounds = averaging(
        task, shared, send, descent(eta_w), kept=form.init, params=params, numbers=numbers, reduce=reduce
    )
    return average_of_iterates(rounds, params) if average else rounds


def average_of_iterates(rounds: Algorithm, params: Callable) -> Algorithm:
    """Return the rounds whose params are made of the average of w and of all theta_i, over the iterates 0..t-1."""

    def models(state):
        return state.variables["w"], state.variables["kept"]

    def init(key):
        state = rounds.init(key)
        return State((state.schedule, jnp.zeros(())), state.variables | {"mean": models(state)})

    def one_round(key, state):
        schedule, t = state.schedule
        mean = jax.tree.map(lambda m, z: m + (z - m) / (t + 1), state.variables["mean"], models(state))
        after, info = rounds.round(key, State(schedule, state.variables))
        return State((after.schedule, t + 1), after.variables | {"mean": mean}), info

    def mean_params(state):
        return params(*state.variables["mean"])

    return Algorithm(init, one_round, mean_params, rounds.public)


def releases(task: Task, *, delta: float, personalization: float, noise_multiplier: float, **args) -> dict:
    """Return what a run makes public: w after every round. For alpha Q = 0 w stays at 0, so nothing is released;
    adaptive clipping still publishes its norm.
    """
    against = "all other users together"
    by_reading = noisy_sums(against, kept=personalization < math.inf)(
        task, delta=delta, noise_multiplier=noise_multiplier, **args
    )
    if personalization == 0 and args.get("clipping") != "adaptive":
        return dict.fromkeys(by_reading, nothing_released(delta=delta, privacy_unit="user", protects_against=against))
    return by_reading


def cost(task: Task, *, personalization: float, **args) -> Cost:
    """Return the cost of a round. A gradient in w and theta_i counts once. For alpha Q = 0 users send nothing, except
    for adaptive clipping.
    """
    total = cost_of_sums(task, **args)
    if personalization:
        return total
    fixed: dict = {**args, "clipping": "fixed"}
    return total._replace(uploads=total.uploads - cost_of_sums(task, **fixed).uploads)


def roles(*, personalization: float = 1.0, **_) -> dict[str, Role]:
    """The step is the server's, or with alpha Q = 0 that of users who learn alone."""
    return {"step_size": Role("server_step_size" if personalization else OWN_STEP)}


def check(task: Task, *, local: str, reduce: str, **args) -> None:
    """Refuse incompatible values before anything is compiled."""
    check_participation(task, **args)
    for kind, value, known in (("form of local models", local, LOCAL), ("way to reduce", reduce, REDUCE)):
        check_name(kind, value, known)
    if local == "dual" and task.gram is None:
        raise InputError(f"task {task.name} has no Gram matrices: use local='dense'")
    if local == "head":
        task.parts()


METHOD = Method(
    ppsgd,
    releases,
    version=1,
    check=check,
    cost=cost,
    divides=True,
    roles=roles,
)
