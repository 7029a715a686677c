"""Why a sweep takes long, where that can be seen in its programs."""

from collections.abc import Sequence

from bench.data.task import Task
from bench.errors import InputError
from bench.sweeps.counts import work_of
from bench.sweeps.engine import Program
from bench.sweeps.points import Point

MOST = 0.5  # a share of the operations that is worth a reason
FEW = 0.5  # of the users, so that the others are


def reasons(points: Sequence[Point], task: Task) -> list[str]:
    """Return why points that share a program take long, each a clause; counts operations by tracing.

    Args:
        points: at least one.
        task: what they run on.
    """
    first = points[0]
    program = Program(first.method.make, first.static, first.eval_every)
    found, work = [], work_of(program, task, 1, first.traced, 1)
    evaluation = work.evaluation.flops / first.eval_every
    if evaluation > MOST * (evaluation + work.round.flops):
        when = "every round" if first.eval_every == 1 else f"every {first.eval_every} rounds"
        found.append(
            f"{evaluation / (evaluation + work.round.flops):.0%} of the operations of {first.algorithm} are for "
            f"metrics, which are computed after {when}"
        )
    sampled, users = first.args.get("num_sampled"), task.num_clients
    if sampled and sampled <= FEW * users and _takes_all(program, task, first, work.round.flops):
        found.append(
            f"{first.algorithm} computes as much as if all {users:,} users took part, although {sampled:g} do in a "
            "round"
        )
    return found


def _takes_all(program: Program, task: Task, point: Point, flops: float) -> bool:
    """Return whether a round with half as many users needs about as many operations."""
    static = dict(point.static)
    if "num_sampled" not in static:
        return True  # a number that is no part of the program cannot make it smaller
    if static["num_sampled"] < 2:
        return False
    fewer = tuple(sorted((static | {"num_sampled": static["num_sampled"] // 2}).items()))
    try:
        half = work_of(program._replace(static=fewer), task, 1, point.traced, 1)
    except InputError:  # of a method that does not take fewer
        return False
    return half.round.flops > (1 + MOST) / 2 * flops
