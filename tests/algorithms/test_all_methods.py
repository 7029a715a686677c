"""What holds for every built-in method: its optimum, one compilation, its seed, and the sensitivity it declares."""

import math
from collections import Counter
from functools import partial, wraps
from typing import NamedTuple

import dp_accounting as dp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from slow_cases import cases
from tiny_sweeps import walk
from toy_problems import ALIKE, TOYS, VARIANTS, Toy, least_squares, toy_of

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.audit.game import OTHER_SIGN
from bench.audit.subject import Subject, spent, subject_of, views
from bench.audit.tasks import FAMILIES, SHAPES, canary
from bench.privacy.events import Release
from bench.sweeps.spec import arguments, parameters

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
    task, traced = toy.task(), parameters(method)[1]
    args = arguments(method, toy.args | changes)
    method.fits(task, **args)
    static = tuple((name, value) for name, value in args.items() if name not in traced)
    hypers = {name: jnp.float32(args[name]) for name in sorted(traced)}
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

RUNS = 1000  # of which some use the unit that is replaced, and all show the size of the noise
ERROR = 0.05  # of that size, relative
TINY = 1e-5  # what rounding may add to a number


CORRELATED = 0.3  # of independent numbers the estimates from so many runs stay below it


class Move(NamedTuple):
    """The first thing that runs release: numbers with noise of one size, or of a known covariance.

    rounds: after which it was released, 0 or 1.
    moved: by the unit that is replaced or removed, [run, number].
    noise: [run, number].
    """

    rounds: int
    moved: np.ndarray
    noise: np.ndarray


def first_move(one: Subject, shape: str, other: float) -> Move:
    """From runs of the same keys, which differ in one unit, or in whether there is noise.

    Args:
        shape: of the unit, see `bench.audit.tasks`.
        other: the unit in the neighbouring data set, in units of itself: -1 is its opposite, 0 none.
    """
    unit = np.broadcast_to(canary(shape), (RUNS, *canary(shape).shape))
    silent = one._replace(args=one.args | {one.method.noise: 0.0})
    seen, replaced, exact = (
        views(*what, seed=0, chunk=RUNS)[0].astype(float) for what in ((one, unit), (one, other * unit), (silent, unit))
    )
    noise = seen - exact
    first = next(t for t in range(noise.shape[1]) if np.any(np.abs(noise[:, t]) > TINY))
    moved, noise = (seen - replaced)[:, first], noise[:, first]
    released = np.any(np.abs(noise) > TINY, axis=1)  # where agents take turns, not every run releases in every round
    noisy = np.std(noise, axis=0) > TINY
    assert np.all(np.abs(moved[:, ~noisy]) < TINY), "a public number without noise depends on the unit"
    moved, noise = moved[released][:, noisy], noise[released][:, noisy]
    # What is public may hold the same release twice.
    again = np.any(np.tril(np.abs(np.corrcoef(noise.T)) > 0.999, -1), axis=1)
    return Move(first, moved[:, ~again], noise[:, ~again])


def multipliers(event: dp.DpEvent) -> list[tuple[type, float]]:
    """Mechanism and noise multiplier of every release in an event, whether or not a sample is taken before it."""
    if isinstance(event, dp.ComposedDpEvent):
        return [one for part in event.events for one in multipliers(part)]
    if isinstance(event, dp.SelfComposedDpEvent):
        return event.count * multipliers(event.event)
    if isinstance(event, dp.PoissonSampledDpEvent | dp.SampledWithoutReplacementDpEvent):
        return multipliers(event.event)
    return [(type(event), event.noise_multiplier)]


def shares(one: Subject, release: Release) -> list[float]:
    """How far one unit moves the first release, as a share of what is declared, for units of two shapes."""
    out = []
    for shape in SHAPES if release.privacy_unit != "coordinate" else SHAPES[:1]:
        found = first_move(one, shape, OTHER_SIGN.get(release.neighbors, -1.0))
        ((mechanism, multiplier), count), *rest = Counter(multipliers(release.event(found.rounds))).items()
        assert not rest
        assert mechanism in (dp.LaplaceDpEvent, dp.GaussianDpEvent)
        if mechanism is dp.LaplaceDpEvent:  # its scale is its mean size, and releases add up
            moved = np.linalg.norm(found.moved, 1, axis=1).max() / np.abs(found.noise).mean()
            out.append(moved * multiplier / count)
        else:
            out.append(in_standard_deviations(found) * multiplier / math.sqrt(count))
    return out


def in_standard_deviations(found: Move) -> float:
    """How far the unit moves the release at most, in standard deviations of its noise in that direction.

    Numbers that a run leaves out have neither noise nor a move there. Correlated noise is made independent first, by
    its covariance as estimated from these runs; the factor is what the estimate of an inverse is too large by.
    """
    runs, size = found.noise.shape
    if size > 1 and np.abs(np.tril(np.corrcoef(found.noise.T), -1)).max() > CORRELATED:
        inverse = np.linalg.inv(np.cov(found.noise.T)) * (runs - size - 2) / (runs - 1)
        return float(np.sqrt(np.einsum("ri,ij,rj->r", found.moved, inverse, found.moved).max()))
    there = np.abs(found.noise) > TINY
    if np.mean(there) > 0.99:  # single draws may be as small
        there[:] = True
    assert np.all(np.abs(found.moved[~there]) < TINY), "a number without noise depends on the unit"
    return float(np.linalg.norm(found.moved, axis=1).max() / found.noise[there].std())


def test_a_user_moves_a_sum_clipped_by_layer_by_the_declared_norm_where_all_layers_are_long():
    """Each layer is clipped to C / sqrt(L); were it C, the user would move the sum by sqrt(L) C."""
    given = {"clipping": "per_layer"}
    one = subject_of(ALGORITHMS["dp_fedavg"], family="layers", rounds=1, delta=1e-5, given=given)
    release = one.readings()["paper"]
    along_one_layer, along_all = shares(one, release)
    assert along_one_layer == pytest.approx(0.5, rel=ERROR)
    assert along_all == pytest.approx(1.0, rel=ERROR)


def audited(name: str) -> Subject:
    """The method on the task of the audit that fits it, on which a unit shows as much as the theory allows."""
    return subject_of(ALGORITHMS[name], family=None, rounds=1, delta=1e-5, given={})


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
    private = [release for release in proven if spent(release, 1) < math.inf]
    if not private:
        assert proven  # it says that it is not private
        return
    for release in {(r.neighbors, r.privacy_unit): r for r in private}.values():
        if spent(release, 1) == 0:
            unit = np.broadcast_to(canary("axis"), (2, *canary("axis").shape))
            np.testing.assert_array_equal(views(one, unit, 0, chunk=2)[0], views(one, -unit, 0, chunk=2)[0])
            continue
        right, wrong = shares(one, release), shares(clipping_half_as_much(one), release)
        np.testing.assert_allclose(right, 1, rtol=ERROR)
        np.testing.assert_allclose(wrong, 2, rtol=ERROR)


@pytest.mark.parametrize("name", ["dp_fedavg", "ditto", "fine_tuning", "ppsgd", "dp_fedrep"])
def test_samples_of_a_fixed_size_are_not_proven_for_messages_that_depend_on_what_others_keep(name):
    """A message of PPSGD is the gradient at w + theta_i, and that of FedRep is at the user's own head."""
    method = ALGORITHMS[name]
    given = {"sampler": "fixed", "num_sampled": 2}
    subject = subject_of(method, family=None, rounds=4, delta=1e-5, given=given)
    kept = name in ("ppsgd", "dp_fedrep")
    assert subject.readings()["sampler"].sound is not kept
    assert subject.readings()["worst_case"].sound
    if name == "ppsgd":
        assert subject.readings(personalization=math.inf)["sampler"].sound  # theta_i stays where it is
