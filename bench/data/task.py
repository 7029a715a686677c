"""The type of a task: examples distributed to clients, a loss, and metrics."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int32, PyTree, Shaped

from bench.errors import InputError
from bench.kernels.division import Division
from bench.kernels.graph import Graph
from bench.models.parts import split


def _static(default: Any = None) -> Any:
    return field(default=default, metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Network:
    """The fields that a method for networks needs.

    Attributes:
        pool: examples that clients may share, (inputs, labels) with leaves [example, ...]; the task's `train` holds the
            indices of each client's examples.
        module: flax module, inputs [batch, ...] -> logits [batch, class]; the task's `loss` is the cross-entropy of one
            example with params as the model.
    """

    pool: PyTree[Shaped[Array, "pooled ..."]]
    module: Any = _static()


class Linear(NamedTuple):
    """The fields that a method for linear models needs: loss = link(<shared + local, input>, target) with one vector as
    model and train = (inputs [client, example, feature], targets [client, example]).

    Attributes:
        link: (score, target) -> scalar loss.
        lipschitz: bounds on the gradient of the loss in the model, in L1 and in L2, over all examples that a client
            may have, not only its actual ones; (inf, inf) where there are none.
    """

    link: Callable
    lipschitz: tuple[float, float] = (math.inf, math.inf)


class Head(NamedTuple):
    """The fields that a method with a shared representation and a head of every client needs.

    Attributes:
        entries: the entries of `init_params`, a dictionary, that make up the head; the others are the representation.
    """

    entries: tuple[str, ...]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Peers:
    """The fields that a peer-to-peer method needs.

    Attributes:
        graph: which clients communicate, and how similar they are.
        regularization: lambda_i of lambda_i |theta|^2 in the clients' own objectives.
        smoothness: bound on the curvature of the clients' own objectives.
        budget: each client's privacy budget relative to the others; a client with 0 never sends anything.
    """

    graph: Graph
    regularization: Float[Array, " client"]
    smoothness: Float[Array, " client"]
    budget: Float[Array, " client"]


Group = TypeVar("Group", Network, Linear, Peers, Head)
GROUPS = {  # the task's field, its description, and a task that has it
    Network: ("network", "network to train, nor a pool of examples for it", "mnist_scatter_linear_10"),
    Linear: ("linear", "link function of a linear score as its loss", "odd_even"),
    Peers: ("peers", "graph of peers with objectives of their own", "linear_p2p_100"),
    Head: ("head", "representation with a head upon it", "digits_cnn, or name the last layer of your network head"),
}


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Task:
    """A federated learning problem. Arrays are leaves; functions and labels are static.

    Two tasks of the same shapes, such as two data splits, share one compiled program, because the functions
    are module-level and the data are arguments.

    Attributes:
        init_params: the shared model at the start.
        num_examples: number of training examples of each client, without padding; for a stream, the most that it draws
            in a round.
        train: training examples, padded; None, the empty pytree, for a stream. For a task with a network, int32
            [client, example]: indices of each client's examples in the pool.
        network: for tasks whose model is a network.
        evaluation: the data that `metrics` uses: test and validation examples, known optima.
        init_local: a client's initial local model, where it is not zero and shaped like the shared one.
        gram: X_i X_i^T of the training inputs, for tasks whose loss is the squared loss of linear predictions. Methods
            then compute local models and local steps in their dual form, which is much faster.
        peers: for tasks whose clients communicate with each other.
        linear: for tasks whose model is linear.
        head: for tasks whose model is a representation with a head upon it.
        present: which clients exist, for audits that remove one of them: an absent client is sampled like the others
            but contributes nothing. None: all exist.
        present_examples: which stored examples exist, for audits that remove one of them; likewise.
        loss: (shared, local, example) -> scalar loss of one example.
        metrics: (params, task) -> dict of scalars; params are the parameters that an algorithm predicts with.
        sample: (key, task, clients, batch_size) -> fresh examples [client, example, ...], for a stream.
        name: the name of the task in results.
        source: the origin of its data.
        checksum: of the data, or of the recipe that generates them.
        division: of the clients over several devices, where the arrays by client have the rows of one of them.
    """

    init_params: PyTree[Float[Array, "..."]]
    num_examples: Int32[Array, " client"]
    train: PyTree[Shaped[Array, "client example ..."]] = None
    network: Network | None = None
    evaluation: Any = None
    init_local: PyTree[Float[Array, "..."]] | None = None
    gram: Float[Array, "client example example"] | None = None
    peers: Peers | None = None
    present: Bool[Array, " client"] | None = None
    present_examples: Bool[Array, "client example"] | None = None
    linear: Linear | None = _static()
    head: Head | None = _static()
    loss: Callable | None = _static()
    metrics: Callable | None = _static()
    sample: Callable | None = _static()
    name: str = _static("")
    source: str = _static("")
    checksum: str = _static("")
    division: Division | None = _static()

    @property
    def num_clients(self) -> int:
        """The number of clients, of all devices together."""
        return self.num_held if self.division is None else self.division.users

    @property
    def num_held(self) -> int:
        """The rows of arrays by client: of all clients, or of those of one device."""
        return self.num_examples.shape[0]

    def numbers(self) -> Int32[Array, " client"]:
        """Return the number of the client in each row of arrays by client."""
        return jnp.arange(self.num_held) if self.division is None else self.division.numbers()

    def rows_drawn(self) -> Int32[Array, " client"] | None:
        """Return the rows of a draw of all clients that are these clients'; None where these are all clients."""
        return None if self.division is None else self.division.numbers()

    def total(self, sums: Any) -> Any:
        """Return sums over the clients of all devices, from those over the clients of this one; exchanged at once."""
        return sums if self.division is None else self.division.total(sums)

    @property
    def capacity(self) -> int:
        """The length of the padded axis of the stored examples."""
        return jax.tree.leaves(self.train)[0].shape[1]

    def nothing_local(self) -> PyTree[Float[Array, "..."]]:
        """Return a client's local model at the start: 0 and shaped like the shared model, if the task has no other."""
        return jax.tree.map(jnp.zeros_like, self.init_params) if self.init_local is None else self.init_local

    def parts(self) -> tuple[dict, dict]:
        """Return the representation and the head of the model at the start, each with its entries of `init_params`.

        Methods share the first and leave the second to every client: they may train (w, theta_i) from these two, since
        the loss of such a task takes a shared and a local model with any entries (`bench.models.parts`).

        Raises:
            InputError: for a task whose model has no such parts.
        """
        return split(self.init_params, self.need(Head).entries)

    def need(self, group: type[Group]) -> Group:
        """Return a group of fields that not every task has.

        Args:
            group: Network, Linear, Peers or Head.

        Raises:
            InputError: where this task does not have it.
        """
        name, words, example = GROUPS[group]
        value = getattr(self, name)
        if value is None:
            raise InputError(f"task {self.name} has no {words}: use a task that has it, such as {example}")
        return value


def joint_checksum(*components: str) -> str:
    """Return the checksum of a task made of several components, from their checksums or descriptions."""
    return hashlib.blake2b("/".join(components).encode(), digest_size=8).hexdigest()


def recipe_checksum(recipe: tuple) -> str:
    """Return the checksum of generated data, a digest of the parameters of the generator."""
    return hashlib.blake2b(repr(recipe).encode(), digest_size=8).hexdigest()
