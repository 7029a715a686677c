"""The audit of every built-in method: none is refuted, those without privacy are said to be so, and it has power."""

import math

import pytest
from calling import caller
from less_noise import with_less_noise
from slow_cases import cases

from bench import Algorithm, Method, Scalar, State
from bench import __main__ as command
from bench.algorithms import ALGORITHMS
from bench.audit import audit
from bench.audit.report import Audit
from bench.audit.text import text_of
from bench.errors import InputError

QUICK = {"runs": 6000}
NOT_PRIVATE = {"admm"}
SILENT = {"local_learning", "local_models", "local_networks"}
LIKE_FEDAVG = {"dp_fedblur", "dp_fedls", "dp_fedopt", "dp_fedprox", "dp_fedrep", "dp_fedsam"}  # the same release
NETWORKS = {f"dpsgd_{name}" for name in ("fedadamw", "fedavg", "fedopt", "fedprox", "mrmtl", "scaffold")}  # likewise
SAMPLED = {"ppsgd", "dp_fedavg", "dp_fedsmp", "ditto", "fine_tuning"} | LIKE_FEDAVG | NETWORKS
LAPLACE = {"coordinate_descent", "local_dp", "model_propagation"}


def of(found: Audit, reading: str):
    return next(finding for finding in found.findings if finding.reading == reading)


def bound(finding, how: str):
    return next(one for one in finding.bounds if one.test == how)


def sound(found: Audit):
    return [finding for finding in found.findings if finding.release.sound and finding.epsilon < math.inf]


# Methods whose audits take more than some seconds; the others are one of each kind of release.
LONG = {
    *(*LIKE_FEDAVG, *NETWORKS, "ditto", "fine_tuning", "ppsgd", "mr_mtl", "local_learning", "subgradient"),
    *("dp_fedsmp", "dp_scaffold", "localized", "model_propagation", "local_dp"),
    *("dp_fedavg", "accelerated", "local_networks", "dp_dsgd"),
}


@pytest.mark.parametrize("name", cases(ALGORITHMS, slow=LONG))
def test_no_built_in_method_declares_less_than_is_measured_and_half_of_its_noise_would_be_seen(name):
    found = audit(name, **QUICK)
    if name in NOT_PRIVATE:
        assert found.findings == ()
        assert text_of(found) == f"{name} declares no privacy: there is nothing to audit."
        return
    assert not found.refuted, text_of(found)
    assert text_of(found).startswith(f"passed: consistent with epsilon {0 if name in SILENT else 3}")
    assert not found.not_played
    smallest = min(finding.epsilon for finding in sound(found))
    assert smallest == pytest.approx(0 if name in SILENT else 3, rel=2e-3)
    if name in SILENT:
        assert all(one.lower_bound == 0 for finding in found.findings for one in finding.bounds)
        return
    assert all(0.65 < finding.factor < 1.1 for finding in sound(found))
    shares = [one.lower_bound / one.declared for finding in sound(found) for one in finding.bounds if one.declared > 0]
    assert max(shares) > (0.3 if name in SAMPLED else 0.4 if name in LAPLACE else 0.6)  # a good part of what there is
    assert audit(with_less_noise(ALGORITHMS[name]), **QUICK).most_refuted.replay_refutes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("ppsgd", {"sampler": "all", "num_sampled": 4}),
        ("ppsgd", {"sampler": "queue", "batch_size": 2}),
        ("ppsgd", {"personalization": 0.0}),
        ("dp_fedavg", {"sampler": "fixed", "num_steps": 3}),
        ("minibatch_sgd", {"sampler": "fixed", "batch_size": 2}),
        ("minibatch_sgd", {"sampler": "once"}),
        ("coordinate_descent", {"mechanism": "gaussian"}),
        ("coordinate_descent", {"start": "propagation", "start_noise_multiplier": 5.0}),
    ],
)
def test_other_samplers_and_noises_are_not_refuted_either(name, args):
    found = audit(name, args=args, rounds=3, **QUICK)  # `once` has a record for each message of three rounds
    assert not found.refuted, text_of(found)
    silent = args.get("personalization") == 0
    assert min(finding.epsilon for finding in sound(found)) == pytest.approx(0 if silent else 3, rel=2e-3)
    assert silent or max(one.lower_bound for finding in sound(found) for one in finding.bounds) > 0.2


@pytest.mark.slow
def test_gaussian_noise_is_measured_to_a_tenth():
    found = audit("minibatch_sgd", runs=40_000)
    assert 2.6 < bound(of(found, "exact"), "Gaussian").lower_bound < 3


def test_a_bound_on_gradients_that_does_not_hold_is_refuted_and_the_reading_that_knows_it_is_not():
    """As in the published experiments: noise for gradients of norm 1, which are longer, and no clipping."""
    found = audit("coordinate_descent", args={"clip_norm": math.inf}, **QUICK)
    assert not found.refuted
    assert of(found, "paper").epsilon < 0.3
    assert of(found, "paper").refuted
    assert not of(found, "true").refuted
    assert "\npaper, which is not declared as proven, is refuted" in text_of(found)


def test_the_published_epsilon_of_silos_is_refuted_where_it_is_large():
    found = audit("minibatch_sgd", epsilon=24.0, runs=20_000)
    assert not found.refuted
    assert of(found, "paper").epsilon < bound(of(found, "paper"), "Gaussian").lower_bound < 24
    assert of(found, "paper").refuted


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers_and_another_does_not():
    args = {"runs": 600, "args": {"noise_multiplier": 1.0}}
    one, again, other = (of(audit("minibatch_sgd", seed=seed, **args), "exact").bounds for seed in (0, 0, 1))
    assert one == again != other


def test_a_fault_is_that_of_a_function_of_the_method():
    def broken(task, *, num_sampled: int, batch_size: int, sampler: str, noise_multiplier: Scalar):
        return Algorithm(lambda key: State((), task.init_params), lambda key, state: state, lambda s: s.variables)

    method = Method(broken, ALGORITHMS["dp_fedavg"].releases, version=1)
    with pytest.raises(InputError, match="on the task for users, `round` of broken returns a State: return State"):
        audit(method, runs=900)


@pytest.mark.parametrize("seed", [-1, 99999999999999999999])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(InputError, match=f"seed is {seed}: give 0 or more"):
        audit("ppsgd", seed=seed)


def test_what_declares_no_privacy_ends_well(monkeypatch, capsys):
    audited = caller("bench", command.main, monkeypatch, capsys)("audit", "admm")
    assert audited == (0, "admm declares no privacy: there is nothing to audit.\n", [])
