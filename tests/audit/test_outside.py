"""Methods as somebody outside would write them, right and wrong: the audit passes the one and refutes the others."""

import sys

import pytest

from bench.audit import audit
from bench.audit.text import text_of
from bench.cli.exits import exit_status

USERS = '''
"""The mean of clipped user gradients, Poisson sampling."""

import jax
import jax.numpy as jnp

from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.kernels.gradient import clip
from bench.privacy.events import poisson_gaussian


def mine(task, *, num_sampled: int, step_size: Scalar, clip_norm: Scalar, noise_multiplier: Scalar):
    rate = num_sampled / task.num_clients

    def message(w, examples):
        each = jax.vmap(lambda one: jax.grad(task.loss)(w, 0 * w, one))(examples)
        return clip(each.mean(0), clip_norm)

    def one_round(key, state):
        key_draw, key_noise = jax.random.split(key)
        w, t = state.variables
        there = jax.random.uniform(key_draw, (task.num_clients,)) < rate
        messages = jax.vmap(message, (None, 0))(w, task.train)
        total = jnp.where(there[:, None], messages, 0.0).sum(0)
        noise = noise_multiplier * clip_norm * jax.random.normal(key_noise, w.shape)
        w = w - step_size * (total + noise) / num_sampled
        return State((), (w, t + 1)), {}

    start = State((), (task.init_params, jnp.int32(0)))
    return Algorithm(lambda key: start, one_round, lambda state: state.variables[0])


def releases(task, *, delta, num_sampled, noise_multiplier, **_):
    rate = num_sampled / task.num_clients
    return poisson_gaussian(noise_multiplier, sampling_rate=rate, delta=delta, accountant="pld")


METHOD = Method(mine, releases, version=1)
'''

POINTS = '''
"""Every agent adds Laplace noise to the mean of its points' gradients, clipped in L1."""

import jax
import jax.numpy as jnp

from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.privacy.events import laplace


def mine(task, *, step_size: Scalar, clip_norm: Scalar, noise_multiplier: Scalar):
    def clipped(g):
        g = jnp.where(jnp.isfinite(g).all(), g, 0.0)  # what is not finite would tell that it takes part
        return g / jnp.maximum(1.0, jnp.linalg.norm(g, ord=1) / clip_norm)

    def gradient(model, examples):
        each = jax.vmap(lambda one: jax.grad(task.loss)(model, 0 * model, one))(examples)
        return jax.vmap(clipped)(each).mean(0)

    def one_round(key, state):
        models = state.variables
        noise = jax.random.laplace(key, models.shape) * noise_multiplier * clip_norm / task.train[0].shape[1]
        return State((), models - step_size * (jax.vmap(gradient)(models, task.train) + noise)), {}

    start = jnp.tile(task.init_params, (task.num_clients, 1))
    return Algorithm(lambda key: State((), start), one_round, lambda state: state.variables)


def releases(task, *, delta, noise_multiplier, **_):
    return laplace(noise_multiplier, delta=delta)


METHOD = Method(mine, releases, version=1)
'''

# Those that tests/audit/test_mistakes.py does not make.
WRONG = {
    "noise of the mean, added to the sum": (USERS, "* clip_norm * jax", "* clip_norm / num_sampled * jax"),
    "everybody takes part": (USERS, "< rate\n", "< 2\n"),
    "examples are clipped, users are declared": (
        USERS,
        "return clip(each.mean(0), clip_norm)",
        "return jax.vmap(lambda g: clip(g, clip_norm))(each).sum(0)",
    ),
    "nothing is clipped": (USERS, "return clip(each.mean(0), clip_norm)", "return each.mean(0)"),
    "the models of users are public": (
        USERS,
        "lambda state: state.variables[0])",
        "lambda state: (state.variables[0], task.train))",
    ),
    "add-or-remove declared for points that are replaced": (
        POINTS,
        "laplace(noise_multiplier, ",
        "laplace(2 * noise_multiplier, ",
    ),
    "silence is declared": (
        POINTS,
        "return laplace(noise_multiplier, delta=delta)",
        'return nothing_released(delta=delta, privacy_unit="point")',
        "import laplace",
        "import nothing_released",
    ),
}


def changed(text: str, *pairs: str) -> str:
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.fixture
def judged(tmp_path, monkeypatch, capsys):
    """(text of a file, options) -> status, lines of python -m bench audit on it."""

    def judge(text, *options):
        from bench.cli.app import app

        assert len(text.strip().splitlines()) <= 45
        (tmp_path / "mine.py").write_text(text)
        monkeypatch.setattr(sys, "argv", ["bench", "audit", f"{tmp_path / 'mine.py'}:mine", *options])
        status = exit_status(app)
        return status, capsys.readouterr().out.splitlines()

    return judge


QUICK = ("--runs", "9000")


@pytest.mark.slow
@pytest.mark.parametrize("text", [USERS, POINTS], ids=["users", "points"])
def test_the_right_ones_pass(judged, text):
    status, lines = judged(text, *QUICK)
    assert status == 0
    assert lines[0].startswith("passed: consistent with epsilon ")
    assert any(line.startswith("reading") and "declared" in line for line in lines)
    assert any(line.startswith("removed means that the data of one user are 0") for line in lines) == (text is USERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_the_wrong_ones_are_refuted(judged, name):
    status, lines = judged(changed(*WRONG[name]), *QUICK)
    assert status == 1
    assert lines[0].startswith("FAILED: ")
    assert "paper declares epsilon " in lines[0]
    assert ("(replay, on the task for " in lines[0]) == (name != "everybody takes part")


def test_a_norm_that_is_not_the_one_that_the_noise_is_for_is_refuted_in_one_round(judged):
    """Along all axes at once; over several rounds, each with much noise, the norms differ less."""
    wrong = changed(POINTS, "ord=1", "ord=2")
    assert judged(POINTS, "--rounds", "1", *QUICK)[0] == 0
    assert judged(wrong, "--rounds", "1", *QUICK)[0] == 1


def test_one_that_declares_nothing_has_nothing_to_audit(judged):
    text = USERS[: USERS.index("def releases")].replace("from bench.privacy.events import poisson_gaussian\n", "")
    assert judged(text) == (0, ["mine declares no privacy: there is nothing to audit."])


@pytest.mark.slow
def test_a_factory_and_its_method_are_the_same_from_python(tmp_path):
    (tmp_path / "mine.py").write_text(USERS)
    by_name = audit(f"{tmp_path / 'mine.py'}:METHOD", runs=900)
    said = text_of(by_name).splitlines()
    assert any(line.startswith("mine on the task for users, 4 rounds, num_sampled=2, step_size=1") for line in said)
    assert [part.subject.family for part in by_name.task_audits] == ["users", "pair"]
    assert any(line.startswith("not played on the task for layers: `round` of mine fails") for line in said)
