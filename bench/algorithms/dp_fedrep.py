"""FedRep (Collins, Hassani, Mokhtari, Shakkottai, ICML 2021) and FedPer (Arivazhagan et al. 2019), private for users.

All users share a representation w, and each has a head theta_i of its own upon it, which never leaves the user. In a
round every participating user improves its head on the shared representation, then the representation below its head,
and sends the latter update:

    theta_i <- theta_i - eta_local (gradient of user i's loss in theta_i at (w, theta_i)),   H times
    z       <- z - eta (gradient of user i's loss in z at (z, theta_i)),                     K times from z = w
    Delta_i  = (w - z) / eta
    w       <- w - eta_server (sum_i clip(Delta_i, C) + sigma C N(0, I)) / D

With `order="together"` (FedPer) a user takes K steps of both at once in place of this. CENTAUR (Shen, Ye, Kang, Hassani
and Shokri, ICLR 2023) is the first order with privacy for users; here the same minibatch serves all steps of a round.
With `own_steps` every user goes on with that many steps of its head, on fresh minibatches, before it predicts. With
H = 0 and heads that stay where they are this is `dp_fedavg` on the representation.

What is protected is all data of one user, against all other users together: the sequence of w is public, and theta_i
never leaves user i. The norm that is clipped and the noise are those of the representation alone.
"""

import jax
import jax.numpy as jnp
import optax

from bench.algorithms.base import Algorithm, Cost, Method, Scalar
from bench.algorithms.parts.averaging import AveragingArguments, averaging, descent
from bench.algorithms.parts.participation import check_participation, cost_of_sums, noisy_sums, participation
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.then_alone import cost_then_alone
from bench.algorithms.search_space import Interval
from bench.data.task import Head, Task
from bench.errors import InputError, check_name
from bench.kernels import messages
from bench.kernels.platforms import over_clients
from bench.models.additive import Additive

ORDERS = ("head first", "together")


@sharing(AveragingArguments, num_steps=5)
def dp_fedrep(
    task: Task,
    shared: AveragingArguments,
    *,
    local_step_size: Scalar,
    head_steps: int = 5,
    own_steps: int = 0,
    order: str = "head first",
) -> Algorithm:
    """Private FedRep, FedPer and CENTAUR on a task whose model is a representation with a head upon it.

    Args:
        task: with loss(shared, local, example), which joins the entries of both; see `Task.parts`.
        shared: see AveragingArguments; of the representation.
        local_step_size: eta_local > 0, of the heads.
        head_steps: H >= 0; "together" does not use it.
        own_steps: steps of every head, by eta_local, before a user predicts; they start anew whenever it does.
        order: "head first" or "together".
    """
    assert task.loss is not None
    representation, head = task.parts()
    loss, users = task.loss, task.num_held

    def batch_loss(w, theta, examples, weight):
        return weight @ jax.vmap(lambda example: loss(w, theta, example))(examples)

    def step_down(theta, slope, step):
        return jax.tree.map(lambda leaf, g: leaf - step * g, theta, slope)

    def head_after_step(w, theta, examples, weight, step):
        return step_down(theta, jax.grad(batch_loss, argnums=1)(w, theta, examples, weight), step)

    def changes_of_user(common, theta, examples, weight):
        """Return Delta_i and the head of one user after its steps."""
        w, step, local_step = common

        def step_of_both(carry, _):
            z, theta = carry
            slopes = jax.grad(batch_loss, argnums=(0, 1))(z, theta, examples, weight)
            return (step_down(z, slopes[0], step), step_down(theta, slopes[1], local_step)), slopes[0]

        def head_step(theta, _):
            return head_after_step(w, theta, examples, weight, local_step), None

        def representation_step(z, _):
            slope = jax.grad(batch_loss)(z, theta, examples, weight)
            return step_down(z, slope, step), slope

        if order == "together":
            (_, theta), slopes = jax.lax.scan(step_of_both, (w, theta), length=shared.num_steps)
        else:
            theta = jax.lax.scan(head_step, theta, length=head_steps)[0]
            _, slopes = jax.lax.scan(representation_step, w, length=shared.num_steps)
        return jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), slopes), theta

    def send(w, heads, batch):
        clients = jnp.arange(users) if batch.clients is None else batch.clients
        own_heads = jax.tree.map(lambda leaf: leaf[clients], heads)
        shared_values = w, shared.step_size, local_step_size
        changes, new_heads = over_clients(changes_of_user, shared_values, own_heads, batch.examples, batch.weight)
        is_taken = jnp.sum(batch.weight, axis=1) > 0  # a Poisson sample has empty places

        def moved(leaf, before, after):
            change = jnp.where(is_taken.reshape(-1, *[1] * (after.ndim - 1)), after - before, 0.0)
            return leaf.at[clients].add(change)

        return jax.tree.map(moved, heads, own_heads, new_heads), messages.formed(changes)

    def trained_further(w, heads):
        """Return the heads after the own steps of all users."""
        users_drawn = participation(task, num_sampled=task.num_clients, batch_size=shared.batch_size, sampler="all")

        def one_user(common, theta, examples, weight):
            return head_after_step(common[0], theta, examples, weight, common[1])

        def step(t, heads):
            batch = users_drawn.draw(jax.random.fold_in(jax.random.key(0), t), ())[0].batch
            return over_clients(one_user, (w, local_step_size), heads, batch.examples, batch.weight)

        return jax.lax.fori_loop(0, own_steps, step, heads)

    return averaging(
        task,
        shared,
        send,
        descent(shared.server_step_size),
        start=representation,
        kept=lambda: jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (users, *leaf.shape)), head),
        params=lambda w, heads: Additive(w, trained_further(w, heads) if own_steps else heads),
        numbers=3 * (optax.tree.size(representation) + optax.tree.size(head)),
    )


def check(task: Task, *, order: str, head_steps: int, own_steps: int, num_steps: int, **args) -> None:
    """Refuse incompatible values before anything is compiled."""
    check_name("order", order, ORDERS)
    for name, value in (("head_steps", head_steps), ("own_steps", own_steps)):
        if value < 0:
            raise InputError(f"{name} is {value}: it must be at least 0")
    if own_steps and task.train is None:
        raise InputError(f"users of {task.name} have no stored examples for own_steps: leave it at 0")
    check_participation(task, num_steps=num_steps, **args)


def cost(task: Task, *, order: str, head_steps: int, own_steps: int, num_steps: int, batch_size: int, **args) -> Cost:
    """Return the cost of a round: a gradient in both parts counts once. Users send the representation alone; their own
    steps are counted once, after the last round.
    """
    gradients = num_steps if order == "together" else num_steps + head_steps
    total = cost_of_sums(task, num_steps=gradients, batch_size=batch_size, **args)
    extra = args.get("clipping") == "adaptive"
    numbers, sent = (optax.tree.size(model) + extra for model in (task.init_params, task.parts()[0]))
    together = total._replace(uploads=total.uploads * sent / numbers)
    return cost_then_alone(task, together, batch_size=batch_size, num_steps=own_steps) if own_steps else together


METHOD = Method(
    dp_fedrep,
    noisy_sums("all other users together", kept=True),
    version=1,
    check=check,
    needs=(Head,),
    space={"local_step_size": Interval(0.01, 1.0)},
    cost=cost,
    divides=True,
)
