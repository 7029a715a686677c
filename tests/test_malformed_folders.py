"""Files in folders of results that are damaged, foreign, or no files are named, and nothing is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.errors import InputError
from bench.files import write_whole
from bench.papers import SWEEPS
from bench.store.requests import REQUEST, read_request
from bench.upkeep.status import statuses
from figures.claims import written

ROOT = Path(__file__).parent.parent


# ---- Devices, and values that cannot be used ----


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it exists and is not a regular file"):
        write_whole(tmp_path / "pipe", b"text")
    assert not (tmp_path / "pipe").is_file()
    write_whole(tmp_path / "new", b"text")
    assert (tmp_path / "new").read_bytes() == b"text"


@pytest.mark.parametrize("text", ["{", "[]", '{"sweep": "tiny", "scale": "smoke", "grid": [1]}'])
def test_a_request_that_cannot_be_used_is_named(tmp_path, text):
    (tmp_path / REQUEST).write_text(text)
    with pytest.raises(InputError, match=r"_request\.json is damaged"):
        read_request(tmp_path)


def test_a_request_for_an_unknown_sweep_is_named(tmp_path):
    mine = tmp_path / "smoke" / "mine"
    mine.mkdir(parents=True)
    entry = {"sweep": "nosuch", "scale": "smoke", "grid": {"step_size": [0.1]}, "rounds": None, "task": None}
    (mine / REQUEST).write_text(json.dumps(entry))
    with pytest.raises(InputError, match=r"mine/_request\.json cannot be used: no sweep is called 'nosuch'"):
        statuses(SWEEPS, ["mine"], "smoke", tmp_path)


# ---- Tables of verdicts ----


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", 'a,b\n"1,2\n'])
def test_a_damaged_table_of_verdicts_is_named(tmp_path, text):
    (tmp_path / "claims_p2p.csv").write_text(text)
    with pytest.raises(InputError, match=r"claims_p2p\.csv .*: run it again"):
        written(tmp_path / "claims_p2p.csv", "run it again")


# ---- Output that nobody reads ----


def test_an_output_that_nobody_reads_ends_the_command_without_a_word():
    line = f"{sys.executable} -m bench --help | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.strip() in ("0", "141")  # 0 where all of it fitted into the pipe
