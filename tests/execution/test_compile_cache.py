"""Compiled programs on disk: what is broken goes, what is too much goes, the oldest first."""

import os
import zlib

import jax
import jax.numpy as jnp
import pytest

from bench.execution import compile_cache
from bench.execution.run import use_compilation_cache


def entries(folder):
    return {path.name for path in folder.glob(compile_cache.ENTRIES)}


def fill(folder, **contents):
    for place, (name, content) in enumerate(contents.items()):
        path = folder / f"{name}-cache"
        path.write_bytes(content)
        os.utime(path, (1000 + place, 1000 + place))


def test_what_a_full_disk_has_left_is_removed(tmp_path):
    whole = zlib.compress(bytes(range(256)) * 40)
    fill(tmp_path, whole=whole, empty=b"", cut=whole[:-9], zeros=b"", flipped=whole[:20] + b"\0" + whole[21:])
    (tmp_path / "notes.txt").write_text("")
    compile_cache.tidy(tmp_path)
    assert entries(tmp_path) == {"whole-cache"}
    assert (tmp_path / "notes.txt").exists()


def test_entries_are_read_once(tmp_path):
    compile_cache.tidy(tmp_path)
    fill(tmp_path, old=b"\x78 damaged")
    compile_cache.tidy(tmp_path)
    assert entries(tmp_path) == {"old-cache"}
    os.utime(tmp_path / "old-cache")
    compile_cache.tidy(tmp_path)
    assert entries(tmp_path) == set()


def test_those_used_least_recently_go_first(tmp_path):
    fill(tmp_path, **{name: zlib.compress(os.urandom(1000)) for name in "abc"})
    compile_cache.tidy(tmp_path, most=2200)
    assert entries(tmp_path) == {"b-cache", "c-cache"}


def test_a_folder_that_is_not_there_or_cannot_be_read_is_no_error(tmp_path):
    compile_cache.tidy(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    compile_cache.tidy(tmp_path / "file")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


@pytest.fixture
def no_folder():
    """JAX without a folder for programs, as it starts."""
    names = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"
    before = {name: getattr(jax.config, name) for name in names}
    jax.config.update("jax_compilation_cache_dir", None)
    jax.experimental.compilation_cache.compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    jax.experimental.compilation_cache.compilation_cache.reset_cache()


def test_programs_are_kept_beside_the_data_sets_unless_a_folder_was_chosen(tmp_path, monkeypatch, no_folder):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    (tmp_path / "compiled").mkdir()
    fill(tmp_path / "compiled", broken=b"\x78 damaged")
    use_compilation_cache()
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "compiled")
    assert entries(tmp_path / "compiled") == set()
    jax.jit(lambda x: 3.0 * x - 0.54321)(jnp.ones(7)).block_until_ready()
    assert entries(tmp_path / "compiled") != set()
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "another"))
    use_compilation_cache()
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "compiled")


def test_what_jax_writes_is_what_is_looked_at(tmp_path, no_folder):
    """The names of its entries, and how they are packed."""
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.jit(lambda x: 3.0 * x - 0.12345)(jnp.ones(7)).block_until_ready()
    written = entries(tmp_path)
    compile_cache.tidy(tmp_path)
    assert entries(tmp_path) == written != set()
    cut = min(written)
    (tmp_path / cut).write_bytes((tmp_path / cut).read_bytes()[:-5])
    compile_cache.tidy(tmp_path)
    assert entries(tmp_path) == written - {cut}
