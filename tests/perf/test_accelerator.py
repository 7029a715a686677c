"""`bench perf accelerator`: what is measured, what is left out, and the file."""

import json

import jax
import jax.numpy as jnp
import pytest

from bench.errors import InputError
from bench.perf import accelerator, report_accelerator
from bench.perf.accelerator import Probe
from bench.perf.measure import Call


def probe(what: str, unit: str = "examples/s") -> Probe:
    return Probe(what, lambda: Call(jax.jit(jnp.sin), (jnp.ones(1000),), "step"), 10, unit)


def missing() -> Call:
    raise InputError("CIFAR-10 is not here: get it")


@pytest.mark.slow
def test_what_has_no_data_or_no_time_is_left_out_and_named(monkeypatch, capsys):
    monkeypatch.setattr(accelerator.importlib.util, "find_spec", lambda name: None)
    every = [probe("a"), Probe("b", missing, 1, "s"), probe("c", "s")]
    monkeypatch.setattr(accelerator, "probes", lambda: every)
    found = accelerator.measure()
    assert [one["what"] for one in found["measured"]] == ["a", "c"]
    assert found["left_out"]["b"] == "CIFAR-10 is not here: get it"
    assert len(capsys.readouterr().out.splitlines()) == 3
    rates, times = found["measured"]
    assert rates["value"] == pytest.approx(10 * 1e3 / rates["ms"])
    assert times["value"] == pytest.approx(10 * times["ms"] / 1e3)
    assert 0 < rates["share_of_limit"] < 1
    assert json.loads(json.dumps(found))["device"]
    monkeypatch.setattr(accelerator, "SECONDS", -1)
    assert set(accelerator.measure()["left_out"]) == {"a", "b", "c", "Opacus"}


def test_without_an_accelerator_it_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"--gpu; `perf` without a name measures this processor"):
        report_accelerator("accelerator", tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []
