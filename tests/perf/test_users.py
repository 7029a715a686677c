"""What `bench perf users` prints: a line for each method, number of users and quantity, beside a straight line."""

import numpy as np
import pytest

from bench.perf import users


@pytest.mark.slow
def test_every_number_of_users_is_timed_beside_a_straight_line(monkeypatch):
    def measured(name, task):
        users_here = task.num_clients
        return users.Measured(1e-3 * users_here, users_here**2, 5.0)

    monkeypatch.setattr(users, "_measured", measured)
    lines = {line.what: line for line in users.users(counts=(10, 20, 40))}
    assert len(lines) == 2 * 3 * 3
    time, memory = (lines[f"ppsgd, 40 users: {what}"] for what in ("time", "memory of the program"))
    assert (time.value, time.unit, time.remarks) == (40, "ms a round", "straight line: 40")
    assert (memory.value, memory.remarks) == (1600, "straight line: 1e+03")  # 100 + 300 / 10 x 30


def test_rounds_are_measured(monkeypatch):
    monkeypatch.setattr(users, "MOST", 8)
    for name in users.ARGS:
        seconds, program, process = users._measured(name, users.generated(12))
        assert 0 < seconds < 10
        data = 4 * 12 * users.EXAMPLES * (users.FEATURES + 1) / 1e9
        assert data < program < process


@pytest.mark.slow
def test_more_users_than_memory_has_room_for_are_left_out(monkeypatch):
    room = 4 * 20 * (users.EXAMPLES + 2) * (users.FEATURES + 1) * 3
    monkeypatch.setattr(users.memory, "available", lambda: room)
    monkeypatch.setattr(users, "_measured", lambda name, task: users.Measured(1.0, 1.0, 1.0))
    told = [line.what for line in users.users(counts=(10, 20, 40))]
    assert any("20 users" in what for what in told)
    assert not any("40 users" in what for what in told)
    assert np.isfinite([line.value for line in users.users(counts=(10, 20, 40))]).all()
