"""How much memory there is: the least of what is free, what control groups leave, and the process's own limit."""

import resource
from types import SimpleNamespace

import pytest

from bench.execution import memory

FILES = {
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def group(folder, names, limit, used, cache):
    folder.mkdir(parents=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {cache}\n")


@pytest.mark.parametrize(("kind", "line"), [("", "0::/a/b"), ("memory", "4:cpu,memory:/a/b")])
def test_every_group_above_the_process_counts_and_its_cache_does_not(tmp_path, kind, line):
    root = tmp_path / "cgroup"
    group(root / kind / "a", FILES[kind], 1000, 400, 50)
    group(root / kind / "a" / "b", FILES[kind], 800 if kind else "max", 100, 0)
    own = tmp_path / "own"
    own.write_text(f"9:name=systemd:/a\n{line}\n")
    expected = [700.0, 650.0] if kind else [650.0]
    assert list(memory.left_in_groups(root, own)) == expected


def test_without_groups_there_is_no_limit(tmp_path):
    assert list(memory.left_in_groups(tmp_path, tmp_path / "nothing")) == []


def test_the_least_of_all_limits_is_what_is_left(monkeypatch):
    free = memory.available()
    assert free > 0
    monkeypatch.setattr(memory, "left_in_groups", lambda: iter([3e6]))
    assert memory.available() == 3e6
    used = memory.psutil.Process().memory_info().vms
    monkeypatch.setattr(memory.resource, "getrlimit", lambda kind: (used + 1000, resource.RLIM_INFINITY))
    assert memory.available() <= 3e6
    monkeypatch.setattr(memory.resource, "getrlimit", lambda kind: (1000, resource.RLIM_INFINITY))
    assert memory.available() == 0
    assert memory.budget() == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("RESOURCE_EXHAUSTED: no", True),
        ("INTERNAL: Out of memory allocating 8 bytes", True),
        ("std::bad_alloc", True),
        ("Failed to allocate 8 bytes", True),
        ("INVALID_ARGUMENT: shapes", False),
    ],
)
def test_the_words_for_it(text, told):
    assert memory.ran_out(RuntimeError(text)) is told
    assert memory.ran_out(MemoryError())


def test_processes_share_the_memory_of_a_cpu_and_have_their_own_of_a_gpu(monkeypatch):
    """The fraction of a GPU that JAX may take in a worker is set when the worker starts, so it is not divided again."""
    monkeypatch.setattr(memory, "available", lambda: 1e10)
    assert memory.budget(4) == memory.budget() / 4 == 1.5e9
    gpu = SimpleNamespace(memory_stats=lambda: {"bytes_limit": 2e10})
    monkeypatch.setattr(memory.jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(memory.jax, "local_devices", lambda: [gpu])
    assert memory.budget(4) == memory.budget() == 1.6e10
