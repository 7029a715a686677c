"""`bench perf h100`: what is counted in the text of a compiled program, and the programs of the committed table."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.errors import InputError
from bench.perf import compiled

COMMITTED = Path(__file__).parents[2] / "results" / "compiled-for-h100.json"
SMALL = ("DP-SGD, CNN of digits", "DP-FedAvg, linear, 1,000 users")
PROGRAM = """
%looked_up (a: f32[1000,8], b: s32[5]) -> f32[5,8] {
  %a = f32[1000,8]{1,0} parameter(0)
  %b = s32[5]{0} parameter(1)
  ROOT %gather.1 = f32[5,8]{1,0} gather(%a, %b), offset_dims={1}
}

%written (a: f32[1000,8], b: f32[1,8], c: s32[]) -> f32[1000,8] {
  %a.1 = f32[1000,8]{1,0} parameter(0)
  %b.1 = f32[1,8]{1,0} parameter(1)
  %c.1 = s32[] parameter(2)
  ROOT %update.1 = f32[1000,8]{1,0} dynamic-update-slice(%a.1, %b.1, %c.1, %c.1)
}

%body (state: (s32[], f32[1000,8])) -> (s32[], f32[1000,8]) {
  %state = (s32[], f32[1000,8]{1,0}) parameter(0)
  %rows = s32[5]{0} get-tuple-element(%state), index=0
  %table = f32[1000,8]{1,0} get-tuple-element(%state), index=1
  %f.1 = f32[5,8]{1,0} fusion(%table, %rows), kind=kLoop, calls=%looked_up, TIMES
}

%test (state: (s32[], f32[1000,8])) -> pred[] {
  %state.1 = (s32[], f32[1000,8]{1,0}) parameter(0)
  ROOT %less = pred[] fusion(%state.1), kind=kLoop, calls=%nothing
}

%short (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  ROOT %copy.1 = f32[4]{0} copy(%x)
}

%long (x: f32[4]) -> f32[4] {
  %x.1 = f32[4]{0} parameter(0)
  %copy.2 = f32[4]{0} copy(%x.1)
  ROOT %copy.3 = f32[4]{0} copy(%copy.2)
}

ENTRY %main (table: f32[1000,8], new: f32[1,8], place: s32[]) -> f32[1000,8] {
  %table.1 = f32[1000,8]{1,0} parameter(0)
  %new = f32[1,8]{1,0} parameter(1)
  %place = s32[] parameter(2)
  %f.2 = f32[1000,8]{1,0} fusion(%table.1, %new, %place), kind=kLoop, calls=%written
  %known = (s32[], f32[1000,8]{1,0}) while(%f.2), condition=%test, body=%body, SEVEN
  %unknown = (s32[], f32[1000,8]{1,0}) while(%f.2), condition=%test, body=%body
  ROOT %either = f32[4]{0} conditional(%place, %x, %x), branch_computations={%short, %long}, metadata={op_name="%no"}
}
""".replace("SEVEN", 'backend_config={"known_trip_count":{"n":"7"}}').replace(
    "TIMES", '"reification_cost":[{"exec_time_us":5e1,"name":""},{"exec_time_us":7,"name":"sol"}]'
)


def test_loops_branches_and_parts_of_arrays_are_counted():
    found = compiled.cost(PROGRAM, 1e9, unknown=3)
    assert found.launches == 1 + 7 + 3 * (1 + 1) + 2
    assert found.waits == 3 + 1
    lookup, update, copy, test = 5 * 4 + 2 * 5 * 8 * 4, 4 + 3 * 8 * 4, 32, 1 + 4 + 32_000
    assert found.bytes == update + 10 * lookup + 3 * test + 2 * copy
    seconds = 10 * 50e-6 + 3 * test / 1e9 + (found.launches - 13) * compiled.LAUNCH_S + found.waits * 12e-6
    assert found.seconds == pytest.approx(seconds)


@pytest.mark.skipif(bool(importlib.util.find_spec("jax_cuda13_plugin")), reason="the compiler is here")
def test_without_the_compiler_it_says_how_to_get_it():
    with pytest.raises(InputError, match=r"pip install '\.\[aot\]'"):
        compiled.measure("h100")


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("jax_cuda13_plugin"), reason="pip install '.[aot]'")
def test_no_program_launches_waits_or_holds_more_than_the_committed_one():
    """Compiled in a process of its own, since the compiler wants JAX before it has begun."""
    code = (
        "import json, sys; from bench.perf import accelerator, compiled; gpu = compiled.device('h100'); "
        "print(json.dumps([compiled.row(gpu, one) for one in accelerator.probes() if one.what in sys.argv[1:]]))"
    )
    done = subprocess.run([sys.executable, "-c", code, *SMALL], stdout=subprocess.PIPE, text=True)
    rows = {row["what"]: row for row in json.loads(done.stdout.splitlines()[-1])}
    committed = {row["what"]: row for row in json.loads(COMMITTED.read_text())["compiled"]}
    assert set(rows) == set(SMALL)
    for what, row in rows.items():
        for quantity in ("launches", "waits", "memory"):
            assert row[quantity] <= 1.1 * committed[what][quantity], (what, quantity)
