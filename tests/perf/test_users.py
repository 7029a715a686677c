"""What `bench perf users` prints: a line for each method, number of users and quantity, beside a straight line."""

from bench.perf import users


def test_rounds_are_measured(monkeypatch):
    monkeypatch.setattr(users, "MOST", 8)
    for name in users.ARGS:
        seconds, program, process = users._measured(name, users.generated(12))
        assert 0 < seconds < 10
        data = 4 * 12 * users.EXAMPLES * (users.FEATURES + 1) / 1e9
        assert data < program < process
