"""What tests of running a sweep share: the calls of the engine, and the rows of an undisturbed run."""

import pytest
from tiny_sweeps import run, walks

from bench.sweeps import engine


@pytest.fixture
def calls(monkeypatch):
    """(points, runs) of every call of the engine."""
    made, original = [], engine.run_chunk

    def counted(program, step, task, keys, hypers, **options):
        made.append((len(hypers["step_size"]), len(keys)))
        return original(program, step, task, keys, hypers, **options)

    monkeypatch.setattr(engine, "run_chunk", counted)
    return made


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """The sweep of walks, run in one go."""
    return run(walks(), tmp_path_factory.mktemp("undisturbed"))
