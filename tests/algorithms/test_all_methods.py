"""What holds for every built-in method: its optimum, one compilation, its seed, and the sensitivity it declares."""

import math
from functools import partial, wraps

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from slow_cases import cases
from tiny_sweeps import walk
from toy_problems import ALIKE, TOYS, VARIANTS, Toy, least_squares, toy_of

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.audit.replay import replay
from bench.audit.subject import Subject, count_releases, epsilon_spent, subject_of
from bench.audit.tasks import FAMILIES, SHAPES
from bench.privacy.events import Release
from bench.sweeps.spec import arguments, compiled_arguments, parameters

compilations: list[str] = []


def _count(event: str, duration: float, **_) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        compilations.append(event)


jax.monitoring.register_event_duration_secs_listener(_count)


@partial(jax.jit, static_argnames=("make", "static", "rounds"))
def _trajectory(task, hypers, key, *, make, static, rounds):
    algorithm = make(task, **dict(static), **hypers)

    def step(state, key):
        state, _ = algorithm.round(key, state)
        return state, algorithm.params(state)

    keys = jax.random.split(key, rounds + 1)
    return jax.lax.scan(step, algorithm.init(keys[0]), keys[1:])[1]


def prepared(method: Method, toy: Toy, changes: dict, seed: int = 0):
    """The arguments of `_trajectory`, by position and by name, for the toy's arguments with changes."""
    task, args = toy.task(), arguments(method, toy.args | changes)
    method.fits(task, **args)
    static, hypers = compiled_arguments(method, args)
    return (task, hypers, jax.random.key(seed)), {"make": method.make, "static": static, "rounds": toy.rounds}


def trajectory(method: Method, toy: Toy, seed: int = 0, **changes):
    """What the method predicts with after every round, leaves [round, ...], on the host."""
    args, static = prepared(method, toy, changes, seed)
    return jax.device_get(_trajectory(*args, **static))


def private(method: Method) -> dict[str, float]:
    """Arguments that make the noise of a method what it is in use; none where it has no noise."""
    return {name: 1.0 for name in (method.noise, "clip_norm") if name in parameters(method)[1]}


def others(method: Method, toy: Toy) -> dict[str, float]:
    """Other values of all arguments that are real numbers, but for those that may be fixed in the program."""
    args = arguments(method, toy.args)
    real = {name: value for name, value in args.items() if isinstance(value, float) and name not in toy.fixed}
    return {name: 3.0 if value == math.inf else 0.9 * value + 0.1 for name, value in real.items()}


def same(one, other) -> bool:
    return all(jax.tree.leaves(jax.tree.map(np.array_equal, one, other)))


each_method = pytest.mark.parametrize("name", cases(ALGORITHMS, slow=VARIANTS | ALIKE))


# ---- Optimum, compilation, seed ----


def test_a_method_without_a_toy_problem_is_told_what_to_add():
    with pytest.raises(LookupError, match="nosuch has no toy problem"):
        toy_of("nosuch")
    assert set(TOYS) <= set(ALGORITHMS)


@each_method
def test_without_noise_it_reaches_the_optimum(name):
    toy = toy_of(name)
    last = jax.tree.map(lambda leaf: leaf[-1], trajectory(ALGORITHMS[name], toy))
    np.testing.assert_allclose(toy.read(last), toy.optimum(), atol=toy.tolerance, rtol=0)


def compiled_by_other_values(method: Method, toy: Toy) -> int:
    """Programs that are compiled in a second call, of other values and another seed."""
    changes = others(method, toy)
    trajectory(method, toy)
    args, static = prepared(method, toy, changes, seed=1)
    compilations.clear()
    jax.block_until_ready(_trajectory(*args, **static))
    return len(compilations)


@each_method
def test_other_values_do_not_compile_again(name):
    assert others(ALGORITHMS[name], toy_of(name))
    assert compiled_by_other_values(ALGORITHMS[name], toy_of(name)) == 0


@each_method
def test_the_seed_decides_the_run(name):
    method, toy = ALGORITHMS[name], toy_of(name)
    first = trajectory(method, toy, **private(method))
    assert same(first, trajectory(method, toy, **private(method)))
    assert same(first, trajectory(method, toy, seed=1, **private(method))) == (not toy.random)


def lowered(method: Method, toy: Toy) -> str:
    """The program, traced anew."""
    args, static = prepared(method, toy, private(method))

    @wraps(_trajectory)
    def anew(*args, **static):
        return _trajectory.__wrapped__(*args, **static)

    names = ("make", "static", "rounds")
    return jax.jit(anew, static_argnames=names).lower(*args, **static).as_text()


def lowered_as_run(method: Method, toy: Toy) -> str:
    """The program that other tests run, which has been traced where one of them came first."""
    args, static = prepared(method, toy, private(method))
    return _trajectory.lower(*args, **static).as_text()


@each_method
def test_nothing_random_is_in_the_program(name):
    method, toy = ALGORITHMS[name], toy_of(name)
    assert lowered(method, toy) == lowered_as_run(method, toy)


# ---- Methods that should fail ----


def untraced(task, *, step_size: float, noise_multiplier: Scalar = 0.0) -> Algorithm:
    """Its step is fixed in the program."""
    return walk(task, step_size=step_size, noise_multiplier=noise_multiplier)


def unseeded(task, *, step_size: Scalar) -> Algorithm:
    """It draws by itself, whenever it is traced."""
    start = jnp.asarray(np.random.standard_normal(3), jnp.float32)  # noqa: NPY002
    return Algorithm(lambda key: State((), start), lambda key, state: (state, {}), lambda state: state.variables)


def wrong(make) -> tuple[Method, Toy]:
    return Method(make, lambda task, **_: {}, version=1), Toy(least_squares, {"step_size": 0.5}, 2, np.empty)


def test_an_argument_that_is_not_traced_and_a_draw_without_a_key_are_noticed():
    assert compiled_by_other_values(*wrong(walk)) == 0
    assert compiled_by_other_values(*wrong(untraced)) > 0
    assert lowered(*wrong(walk)) == lowered_as_run(*wrong(walk))
    assert lowered(*wrong(unseeded)) != lowered_as_run(*wrong(unseeded))


# ---- Sensitivity ----

ERROR = 0.08  # relative, of a noise that is measured from replay's keys


def shares(one: Subject, release: Release) -> list[float]:
    """How far one unit moves what is released, as a share of what is declared, for units of two shapes."""
    shapes = SHAPES if release.privacy_unit != "coordinate" else SHAPES[:1]
    most = count_releases(one)
    return [replay(one, release.neighbors, [shape], most, 0).largest(release, most)[0] for shape in shapes]


def test_a_user_moves_a_sum_clipped_by_layer_by_the_declared_norm_where_all_layers_are_long():
    """Each layer is clipped to C / sqrt(L); were it C, the user would move the sum by sqrt(L) C."""
    given = {"clipping": "per_layer"}
    one = subject_of(ALGORITHMS["dp_fedavg"], family="layers", rounds=1, delta=1e-5, args=given)
    release = one.readings()["paper"]
    along_one_layer, along_all = shares(one, release)
    assert along_one_layer == pytest.approx(0.5, rel=ERROR)
    assert along_all == pytest.approx(1.0, rel=ERROR)


# With momentum the two steps of an epoch follow the first batch more than the second, and so does their noise: one unit
# in both moves them by less than declared.
WITHOUT_MOMENTUM = {"dpsgd_fedadamw": {"beta1": 0.0}}


def audited(name: str) -> Subject:
    """The method on the task of the audit that fits it, on which a unit shows as much as the theory allows."""
    return subject_of(ALGORITHMS[name], family=None, rounds=1, delta=1e-5, args=WITHOUT_MOMENTUM.get(name, {}))


def clipping_half_as_much(one: Subject) -> Subject:
    """Its clipping norm doubled, its noise as before."""
    bound = "bound" if "bound" in one.args else "clip_norm"
    relative = {} if "lipschitz" in one.args else {one.method.noise: one.args[one.method.noise] / 2}
    return one._replace(args=one.args | {bound: 2 * one.args[bound]} | relative)


# Methods that release what another one does, by the same functions, or whose noise a plain loop is compared with.
SAME_RELEASE = VARIANTS - {"dpsgd_scaffold"} | {"dp_fedopt", "dp_fedprox", "dp_fedls", "ditto", "subgradient"}


@pytest.mark.parametrize("name", cases(ALGORITHMS, slow=SAME_RELEASE))
def test_one_unit_moves_what_is_released_as_far_as_declared_and_no_further(name):
    one = audited(name)
    proven = [r for r in one.readings().values() if r.sound and r.privacy_unit in FAMILIES[one.family].units]
    private = [release for release in proven if epsilon_spent(release, 1) < math.inf]
    if not private:
        assert proven  # it says that it is not private
        return
    for release in {(r.neighbors, r.privacy_unit): r for r in private}.values():
        if epsilon_spent(release, 1) == 0:
            assert shares(one, release) == [0, 0]
            continue
        right, wrong = shares(one, release), shares(clipping_half_as_much(one), release)
        np.testing.assert_allclose(right, 1, rtol=ERROR)
        np.testing.assert_allclose(wrong, 2, rtol=ERROR)


@pytest.mark.parametrize("name", ["dp_fedavg", "ditto", "fine_tuning", "ppsgd", "dp_fedrep"])
def test_samples_of_a_fixed_size_are_not_proven_for_messages_that_depend_on_what_others_keep(name):
    """A message of PPSGD is the gradient at w + theta_i, and that of FedRep is at the user's own head."""
    method = ALGORITHMS[name]
    given = {"sampler": "fixed", "num_sampled": 2}
    subject = subject_of(method, family=None, rounds=4, delta=1e-5, args=given)
    kept = name in ("ppsgd", "dp_fedrep")
    assert subject.readings()["sampler"].sound is not kept
    assert subject.readings()["worst_case"].sound
    if name == "ppsgd":
        assert subject.readings(personalization=math.inf)["sampler"].sound  # theta_i stays where it is
