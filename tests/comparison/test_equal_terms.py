"""A board on equal terms: one interval for each role, equally frequent averages, and as many own steps as help."""

import dataclasses
import json
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
from tiny_comparison import SMALL, TASK, problem, renamed
from tiny_sweeps import walk

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Method, Role, Scalar
from bench.algorithms.search_space import OWN_STEP, OWN_STEPS, Interval
from bench.analysis import significance
from bench.comparison import board as boards
from bench.comparison import protocol as protocols
from bench.comparison.baselines import Variant
from bench.comparison.plan import _settled, make_plan, roles_of
from bench.comparison.problems import problem_named
from bench.comparison.request import make_request
from bench.comparison.result import Comparison
from bench.comparison.search import first_settings, searched, written
from bench.data.task import Network, Task
from bench.data.tasks.images import largest_weight
from bench.data.tasks.registry import on_board
from bench.errors import InputError
from bench.store import part_files

ON_BOARD = on_board()  # without the small problem of these tests
BOARD = Path(__file__).parents[2] / "results" / "board"
SAME = {"step_size", "server_step_size", OWN_STEP, "clip_norm", OWN_STEPS, "own_epochs"}  # what several methods have
SAME |= {"adaptive_step_size", "adaptive_server_step_size"}
EARLIER = sorted(
    path.parent.name for path in BOARD.glob("*/protocol.json") if "space" not in json.loads(path.read_text())
)


def spaces(request):
    """Name in the legend -> (fixed arguments, search space, roles) of all methods of a task, without its data."""
    return {
        label: (*_settled(label, variant, request, TASK(0)), roles_of(variant))
        for label, variant in request.problem.baselines.items()
    }


@pytest.mark.parametrize("task", ON_BOARD)
def test_all_methods_of_a_board_search_the_same_values_of_the_same_role(task, tmp_path):
    found, averaged = defaultdict(set), {}
    for label, (args, space, roles) in spaces(boards.board_request(task, out=tmp_path)).items():
        for name, tried in space.items():
            if roles[name].name in SAME:
                found[roles[name].name].add(written(tried))
        if "num_epochs" in args and "(E = " not in label:
            averaged[label] = args["num_epochs"]
    assert {role for role in found if len(found[role]) > 1} == set()
    assert len({*averaged.values()}) <= 1, averaged
    assert found or task in ("movielens", "linear_p2p")


def test_arguments_called_alike_are_compared_where_they_do_the_same_alone():
    """Without these roles the test above would compare steps in other units, or miss those with another name."""
    named = {label: each[2] for label, each in spaces(make_request(task="digits")).items()}
    assert named["Local learning"]["step_size"] == Role(OWN_STEP)
    assert named["Fine-tuning"]["own_steps"] == Role(OWN_STEPS)
    assert named["FedAvgM"]["server_step_size"] == Role("server_step_size", momentum="beta1")
    assert named["FedAdam"]["server_step_size"] == named["FedYogi"]["server_step_size"]
    assert named["FedAdam"]["server_step_size"].name not in problem_named("digits").shared_space
    assert named["DP-FedAvg"]["server_step_size"] == Role("server_step_size")
    assert spaces(make_request(task="synthetic"))["Local learning"][2]["step_size"] == Role(OWN_STEP)


@pytest.mark.parametrize("task", ["insteval", "cifar_users", "digits_cnn", "synthetic"])
def test_the_step_of_every_server_is_searched_as_one(task):
    """Also where it is called `step_size`, since users send one gradient and only the server moves the model."""
    for label, (_, space, roles) in spaces(make_request(task=task)).items():
        of_server = {name for name in space if roles[name].name in ("server_step_size", "adaptive_server_step_size")}
        assert len(of_server) == (label != "Local learning"), label


def planned(method, **options):
    return make_plan(make_request(method, **SMALL | {"baselines": []} | options)).candidates[method.make.__name__]


def stepping(roles=lambda **_: {}):
    def stepping(task, *, step_size: Scalar, momentum: Scalar = 0.0):
        return walk(task, step_size=step_size)

    return Method(
        stepping, ALGORITHMS["local_learning"].releases, 1, space={"step_size": Interval(5.0, 6.0)}, roles=roles
    )


def test_a_method_of_ones_own_is_tuned_over_what_the_others_are_unless_it_says_that_its_argument_is_another():
    shared = problem().shared_space["step_size"]
    assert planned(stepping()).space == {"step_size": shared}
    assert planned(stepping(lambda **_: {"step_size": Role("length")})).space == {"step_size": Interval(5.0, 6.0)}
    assert planned(stepping(), tuned={"step_size": [1.0]}).space == {"step_size": [1.0]}
    with pytest.raises(InputError, match="`roles` of stepping fails: KeyError"):
        planned(stepping(lambda **args: {"step_size": args["nosuch"]}))


def test_steps_with_momentum_are_as_long_as_those_without():
    method = stepping(lambda **_: {"step_size": Role("step_size", momentum="momentum")})
    found = planned(method, tuned={"momentum": [0.0, 0.9]})
    for setting in found.settings:
        assert found.applied(setting)["step_size"] == pytest.approx(
            setting["step_size"] * (1 - setting["momentum"]), rel=1e-3
        )
    assert {setting["momentum"] for setting in found.settings} == {0.0, 0.9}
    given = planned(method, tuned={"momentum": [0.9], "step_size": [2.0]})  # what a caller says is not changed
    assert given.applied(given.settings[0])["step_size"] == 2.0


@pytest.mark.parametrize("task", ON_BOARD)
def test_what_was_searched_is_written_down_and_read_again(task, tmp_path):
    request = boards.board_request(task, out=tmp_path)
    (tmp_path / protocols.PROTOCOL).write_bytes(protocols.as_json(request.protocol))
    read = protocols.read_protocol(tmp_path)
    assert read == request.protocol


def test_whoever_is_compared_with_a_board_is_tuned_over_what_the_board_was(tmp_path):
    request = boards.board_request("synthetic", out=tmp_path)
    space = {**request.space, "step_size": searched("log:7:8")}
    other = request.protocol.model_copy(update={"space": space})
    protocols.write_protocol(request.folder, other)
    method = renamed(ALGORITHMS["dp_fedavg"])
    found = boards.request_on_board("board", method, task="synthetic", out=tmp_path)
    assert found.protocol == other
    assert make_plan(found).candidates["renamed"].space["step_size"] == Interval(7.0, 8.0)
    again = boards.board_request("synthetic", ["dp_fedavg"], out=tmp_path)
    assert again.space["step_size"] == Interval(7.0, 8.0)
    path = tmp_path / "board" / "synthetic" / protocols.PROTOCOL
    path.write_text(path.read_text().replace("log:7.0:8.0", "log:8:7"))
    with pytest.raises(InputError, match="cannot be read"):
        boards.board_request("synthetic", out=tmp_path)


@pytest.mark.parametrize("task", EARLIER)
def test_a_committed_board_without_intervals_is_continued_by_those_that_it_had(task):
    """Its first settings are those of its runs, to the last digits, in which logarithms differ between machines."""
    request = boards.board_request(task, out=BOARD.parent)
    assert request.own_first
    rows, compared = part_files.read(BOARD / task / "tuning"), 0
    for label, (args, space, _) in spaces(request).items():
        mine = rows[rows["algorithm"] == label].drop_duplicates("setting").set_index("setting").sort_index()
        if len(mine):
            settings = first_settings(space, request.protocol.settings)
            assert len(settings) == len(mine)
            for name in settings[0]:
                tried = mine[name].to_numpy()
                expected = np.array([setting[name] for setting in settings])
                np.testing.assert_allclose(tried.astype(float), expected.astype(float), rtol=1e-3)
                compared += 1
            alone = request.problem.baselines[label].num_rounds
            if label == "Local learning" and alone and "total_steps" not in mine:
                args = {"total_steps": 0, "total_epochs": 20} | args
                assert {alone(TASK(0), args)} == {*mine["num_rounds"]}
    assert compared


def test_learning_alone_is_as_long_as_held_out_data_say():
    variant = problem_named("cifar_users").baselines["Local learning"]
    lengths = problem_named("cifar_users").shared_space[OWN_STEPS]
    assert [variant.num_rounds(TASK(0), {"total_steps": length}) for length in lengths] == [38, 150, 600, 2400]
    assert variant.num_rounds(TASK(0), {"total_steps": 0}) == 600
    for task in ON_BOARD:
        for label, (_, space, roles) in spaces(make_request(task=task)).items():
            if label == "Local learning" and task not in (
                "synthetic",
                "linear_p2p",
                "movielens",
            ):  # stream; solved exactly
                (length,) = [name for name in space if roles[name].name in (OWN_STEPS, "own_epochs")]
                assert len(space[length]) >= 3  # so that a note says where the longest was the best


# ---- Test images that do not count alike ----


def skewed(rng, num_tests: int = 1000) -> Task:
    """Two clients, with 91 of 100 pictures in class 0, which a tenth of the test pictures has."""
    labels = np.array([0] * 90 + list(range(10)))
    return Task(
        init_params=jnp.zeros(()),
        num_examples=jnp.full(2, 100),
        train=jnp.asarray(np.stack([rng.permutation(100) for _ in range(2)])),
        network=Network((jnp.zeros((100, 1)), jnp.asarray(labels)), None),
        evaluation={"test": (jnp.zeros((num_tests, 1)), jnp.asarray(np.arange(num_tests) % 10))},
    )


def test_the_bound_covers_test_images_that_count_more_than_others():
    """Two models that differ on half of the pictures of the commonest class, over draws of the test pictures."""
    rng = np.random.default_rng(0)
    task = skewed(rng)
    number, weight = 1000, largest_weight(task)
    assert weight == pytest.approx(9.1)
    differ, draws = np.zeros(number), []
    differ[: number // 10 * 10 : 20] = 1.0  # half of class 0
    labels = np.arange(number) % 10
    shares = np.array([0.91, *[0.01] * 9])
    for _ in range(2000):
        rows = rng.integers(number, size=number)
        of_class = [differ[rows][labels[rows] == one].mean() for one in range(10)]
        draws.append(np.dot(shares, of_class))
    wrong = np.array([0.0, np.mean(draws)])
    error = np.std(draws)
    assert significance.error_of_tests(wrong, 0, number)[1] < 0.8 * error  # as if all counted alike
    assert error < significance.error_of_tests(wrong, 0, number / weight)[1] < 1.6 * error
    alike = dataclasses.replace(task, network=Network((jnp.zeros((100, 1)), jnp.arange(100) % 10), None))
    assert largest_weight(alike) == pytest.approx(1.0)


def test_a_table_counts_as_many_test_images_as_their_weights_leave():
    on = SimpleNamespace(
        num_tests=1000, test_tasks=lambda: lambda trial: trial, largest_weight={0: 1.25, 1: 2.0, 2: 9.0}.get
    )
    plan = SimpleNamespace(request=SimpleNamespace(problem=on, protocol=SimpleNamespace(seeds=2)))
    assert Comparison.num_tests.fget(SimpleNamespace(plan=plan)) == 500
    on.largest_weight = None
    assert Comparison.num_tests.fget(SimpleNamespace(plan=plan)) == 1000


@pytest.mark.parametrize(
    "said",
    [None, {"step_size": "local_step_size"}, {"steps": Role("step_size")}, {"step_size": Role("step_size", "nope")}],
)
def test_roles_of_another_kind_are_refused_in_one_line(said):
    method = ALGORITHMS["dp_fedavg"]._replace(roles=lambda **_: said)
    with pytest.raises(InputError, match=r"`roles` of dp_fedavg has .*return a dictionary"):
        roles_of(Variant(method, {}, {}))
