"""Private federated averaging with fine-tuning: w is learned by `dp_fedavg`, then every user takes local steps from w
(Wang et al. 2019; Yu, Bagdasaryan, Shmatikov 2020).

It protects all data of one user against all other users together. The local steps cost no privacy (`then_alone`), which
makes this a strong baseline for personalised methods.
"""

from bench.algorithms import local_learning
from bench.algorithms.base import Algorithm, Cost, Method, Role, Scalar
from bench.algorithms.dp_fedavg import dp_fedavg
from bench.algorithms.parts.averaging import AveragingArguments
from bench.algorithms.parts.participation import check_participation, cost_of_sums, noisy_sums
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.then_alone import cost_then_alone, then_alone
from bench.algorithms.search_space import OWN_STEPS, Interval
from bench.data.task import Task


@sharing(AveragingArguments)
def fine_tuning(task: Task, shared: AveragingArguments, *, local_step_size: Scalar, own_steps: int = 1000) -> Algorithm:
    """DP-FedAvg, and then SGD of every user on its own stored examples.

    Args:
        task: with loss(w, theta_i, example) and stored examples.
        shared: of `dp_fedavg`, see AveragingArguments; batch_size also of the own steps.
        local_step_size: of a user's own steps, > 0.
        own_steps: number of steps of every user, taken whenever the method predicts.
    """
    together = dp_fedavg(task, **vars(shared))
    return then_alone(
        task,
        together,
        batch_size=shared.batch_size,
        step_size=local_step_size,
        num_steps=own_steps,
        local="dense" if task.gram is None else "dual",
        model=together.params,
    )


def cost(task: Task, *, batch_size: int, own_steps: int, **args) -> Cost:
    """Return the cost of the rounds of `dp_fedavg`, and of the own steps, counted once."""
    together = cost_of_sums(task, batch_size=batch_size, **args)
    return cost_then_alone(task, together, batch_size=batch_size, num_steps=own_steps)


def check(task: Task, **args) -> None:
    """Refuse incompatible values, and a stream, whose users have no stored examples to learn from.

    Raises:
        InputError: naming the value and what to do.
    """
    check_participation(task, **args)
    local_learning.check(task, local="dense", **args)


METHOD = Method(
    fine_tuning,
    noisy_sums("all other users together"),
    version=1,
    check=check,
    cost=cost,
    divides=True,
    space={"local_step_size": Interval(1e-4, 1e-2)},  # for inputs with norms like those of digits
    roles=lambda **_: {"own_steps": Role(OWN_STEPS)},
)
