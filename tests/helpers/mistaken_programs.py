"""The golden runs in plain NumPy, as parts that a known mistake replaces one of.

The right program is checked against the suite's kernels. A mistaken one must differ from the set.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.conformance.kernels import Run

Tree = dict[str, np.ndarray]  # leaf -> values


def norm(tree: Tree) -> float:
    """Return the L2 norm of all leaves together."""
    return float(np.sqrt(sum(np.sum(leaf**2) for leaf in tree.values())))


def scaled(tree: Tree, factor: float) -> Tree:
    """Return the tree times a number."""
    return {name: leaf * factor for name, leaf in tree.items()}


def added(*trees: Tree) -> Tree:
    """Return the sum of trees, one or more."""
    return {name: np.sum([tree[name] for tree in trees], axis=0) for name in trees[0]}


def gradient(run: Run, model: Tree, example: Mapping[str, Any]) -> Tree:
    """Return the gradient of the loss of one example."""
    x, y = np.asarray(example["x"], dtype=np.float64), example["y"]
    if "weights" in model:
        score = x @ model["weights"] + model["bias"]
        slope = -y / (1 + np.exp(y * score)) if run.name == "logistic_dp_sgd" else score - y
        return {"weights": slope * x, "bias": np.asarray(slope)}
    hidden = np.tanh(x @ model["kernel_1"] + model["bias_1"])
    scores = hidden @ model["kernel_2"] + model["bias_2"]
    chances = np.exp(scores - scores.max())
    slopes = chances / chances.sum() - np.eye(len(scores))[int(y)]
    behind = (model["kernel_2"] @ slopes) * (1 - hidden**2)
    return {
        "kernel_1": np.outer(x, behind),
        "bias_1": behind,
        "kernel_2": np.outer(hidden, slopes),
        "bias_2": slopes,
    }


def batch_gradient(run: Run, model: Tree, user: int, batch: list[int]) -> Tree:
    """Return the mean gradient over some examples of a user."""
    inputs, targets = run.data[user]["x"], run.data[user]["y"]
    each = [gradient(run, model, {"x": inputs[row], "y": targets[row]}) for row in batch]
    return scaled(added(*each), 1 / len(batch))


def _local(run: Run) -> tuple[float, list[list[list[int]]]]:
    if run.local_step_size is None or run.local_batches is None:
        raise ValueError(f"{run.name} has no local steps")
    return run.local_step_size, run.local_batches


def vector(run: Run, model: Tree, unit: int) -> Tree:
    """Return what one participant contributes before clipping."""
    if run.local_step_size is None:
        return gradient(run, model, run.data[unit])
    step_size, batches = _local(run)
    own = model
    for batch in batches[unit]:
        own = added(own, scaled(batch_gradient(run, own, unit, batch), -step_size))
    return added(own, scaled(model, -1))


def clip(tree: Tree, clip_norm: float) -> Tree:
    """Return the tree scaled to a norm of at most C."""
    return scaled(tree, min(1.0, clip_norm / max(norm(tree), 1e-300)))


def total(run: Run, model: Tree, clipped: list[Tree], participants: list[int]) -> Tree:
    """Return the sum of what the participants contribute; 0 if there are none."""
    return added(scaled(model, 0), *clipped)


def mean(run: Run, summed: Tree, participants: list[int]) -> Tree:
    """Return the sum divided by the expected number of participants."""
    return scaled(summed, 1 / run.expected)


def moved(run: Run, model: Tree, summed: Tree, averaged: Tree) -> Tree:
    """Return the model after a round."""
    return added(model, scaled(averaged, run.step_size if run.local_step_size else -run.step_size))


@dataclass(frozen=True)
class Program:
    """What a round does, in order; every part may be another function of the same arguments."""

    vector: Callable[[Run, Tree, int], Tree] = vector
    clip: Callable[[Tree, float], Tree] = clip
    total: Callable[[Run, Tree, list[Tree], list[int]], Tree] = total
    mean: Callable[[Run, Tree, list[int]], Tree] = mean
    moved: Callable[[Run, Tree, Tree, Tree], Tree] = moved

    def rounds(self, run: Run) -> list[dict[str, Tree]]:
        """Return the clipped sum, the mean and the model of every round."""
        model = {name: np.asarray(leaf, dtype=np.float64) for name, leaf in run.initial_model.items()}
        out = []
        for participants in run.participants:
            clipped = [self.clip(self.vector(run, model, unit), run.clip_norm) for unit in participants]
            summed = self.total(run, model, clipped, participants)
            averaged = self.mean(run, summed, participants)
            model = self.moved(run, model, summed, averaged)
            out.append({"clipped_sum": summed, "mean": averaged, "model": model})
        return out


RIGHT = Program()


def _unclipped(tree: Tree, clip_norm: float) -> Tree:
    return tree


def _clip_leaves(tree: Tree, clip_norm: float) -> Tree:
    return {name: clip({name: leaf}, clip_norm)[name] for name, leaf in tree.items()}


def _layers(tree: Tree) -> dict[str, Tree]:
    """Return the leaves by layer: those with the same ending, and all where there are no endings."""
    found: dict[str, Tree] = {}
    for name, leaf in tree.items():
        found.setdefault(name.partition("_")[2], {})[name] = leaf
    return found


def _clip_layers(tree: Tree, clip_norm: float) -> Tree:
    return {name: leaf for layer in _layers(tree).values() for name, leaf in clip(layer, clip_norm).items()}


def _clip_layers_to_a_share(tree: Tree, clip_norm: float) -> Tree:
    return _clip_layers(tree, clip_norm / len(_layers(tree)) ** 0.5)


def _clip_values(tree: Tree, clip_norm: float) -> Tree:
    return {name: np.clip(leaf, -clip_norm, clip_norm) for name, leaf in tree.items()}


def _normalise(tree: Tree, clip_norm: float) -> Tree:
    return scaled(tree, clip_norm / max(norm(tree), 1e-300))


def _without_biases(tree: Tree) -> Tree:
    return {name: leaf for name, leaf in tree.items() if not name.startswith("bias")}


def _clip_by_norm_of_weights(tree: Tree, clip_norm: float) -> Tree:
    return scaled(tree, min(1.0, clip_norm / max(norm(_without_biases(tree)), 1e-300)))


def _clip_sum(run: Run, model: Tree, clipped: list[Tree], participants: list[int]) -> Tree:
    return clip(total(run, model, clipped, participants), run.clip_norm)


def _mean_of_participants(run: Run, summed: Tree, participants: list[int]) -> Tree:
    return scaled(summed, 1 / max(len(participants), 1))


def _mean_of_all(run: Run, summed: Tree, participants: list[int]) -> Tree:
    return scaled(summed, 1 / len(run.data))


def _step_along_sum(run: Run, model: Tree, summed: Tree, averaged: Tree) -> Tree:
    return moved(run, model, summed, summed)


def _without_step_size(run: Run, model: Tree, summed: Tree, averaged: Tree) -> Tree:
    return moved(run, model, summed, scaled(averaged, 1 / run.step_size))


def _vector_of_mean_loss(run: Run, model: Tree, unit: int) -> Tree:
    return scaled(vector(run, model, unit), 1 / run.expected)


def _not_divided(run: Run, summed: Tree, participants: list[int]) -> Tree:
    return summed


def _with_batches(change: Callable[[list[list[int]], int], list[list[int]]]) -> Callable[[Run, Tree, int], Tree]:
    """Return the vector of a user whose local batches are changed: (batches, number of its examples) -> batches."""

    def changed(run: Run, model: Tree, unit: int) -> Tree:
        _, batches = _local(run)
        own = [change(steps, len(run.data[user]["y"])) for user, steps in enumerate(batches)]
        return vector(dataclasses.replace(run, local_batches=own), model, unit)

    return changed


def _all_at_start(run: Run, model: Tree, unit: int) -> Tree:
    step_size, batches = _local(run)
    return scaled(added(*(batch_gradient(run, model, unit, batch) for batch in batches[unit])), -step_size)


def _sums_over_batches(run: Run, model: Tree, unit: int) -> Tree:
    step_size, batches = _local(run)
    own = model
    for batch in batches[unit]:
        own = added(own, scaled(batch_gradient(run, own, unit, batch), -step_size * len(batch)))
    return added(own, scaled(model, -1))


def _clipped_steps(run: Run, model: Tree, unit: int) -> Tree:
    step_size, batches = _local(run)
    own = model
    for batch in batches[unit]:
        own = added(own, scaled(clip(batch_gradient(run, own, unit, batch), run.clip_norm), -step_size))
    return added(own, scaled(model, -1))


def _before_minus_after(run: Run, model: Tree, unit: int) -> Tree:
    return scaled(vector(run, model, unit), -1)


def _weight(run: Run, unit: int) -> int:
    return len(run.data[unit]["y"])


def _weighted(run: Run, model: Tree, clipped: list[Tree], participants: list[int]) -> Tree:
    each = [scaled(tree, _weight(run, unit)) for tree, unit in zip(clipped, participants, strict=True)]
    return total(run, model, each, participants)


def _mean_of_examples(run: Run, summed: Tree, participants: list[int]) -> Tree:
    return scaled(summed, 1 / max(sum(_weight(run, unit) for unit in participants), 1))


# What a mistake is called -> the program that makes it.
MISTAKES = {
    "the sum is clipped as a whole, instead of every vector": Program(clip=_unclipped, total=_clip_sum),
    "nothing is clipped": Program(clip=_unclipped),
    "every leaf is clipped to C by itself": Program(clip=_clip_leaves),
    "every layer is clipped by itself, to C / sqrt(number of layers)": Program(clip=_clip_layers_to_a_share),
    "every coordinate is clipped to [-C, C], instead of the norm": Program(clip=_clip_values),
    "vectors shorter than C are made longer, to norm C": Program(clip=_normalise),
    "the norm leaves out the biases": Program(clip=_clip_by_norm_of_weights),
    "the loss is averaged over the batch before clipping, and the sum is divided once more": Program(
        vector=_vector_of_mean_loss
    ),
    "the sum is divided by the actual number of participants, instead of the expected one": Program(
        mean=_mean_of_participants
    ),
    "the sum is divided by the number of all units": Program(mean=_mean_of_all),
    "the sum is not divided": Program(mean=_not_divided),
    "the model moves by the sum, instead of the mean": Program(moved=_step_along_sum),
    "the model moves without its step size": Program(moved=_without_step_size),
}
# The same for runs with local steps.
LOCAL_MISTAKES = {
    "the gradients of all local steps are taken at the model before the round": Program(vector=_all_at_start),
    "only the first local step is taken": Program(vector=_with_batches(lambda steps, _: steps[:1])),
    "every local step uses all examples of the user": Program(
        vector=_with_batches(lambda steps, size: [list(range(size))] * len(steps))
    ),
    "local steps use the sum of the gradients of their examples, instead of the mean": Program(
        vector=_sums_over_batches
    ),
    "the gradient of every local step is clipped, instead of the whole vector": Program(
        vector=_clipped_steps, clip=_unclipped
    ),
    "the vector is the model before the round - the model after it": Program(vector=_before_minus_after),
    "users count by their numbers of examples": Program(total=_weighted, mean=_mean_of_examples),
}


def mistakes(run: Run) -> dict[str, Program]:
    """Return the known mistakes that a program of this run can make."""
    return MISTAKES | (LOCAL_MISTAKES if run.local_step_size else {})
