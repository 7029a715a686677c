"""A small stand-in for MovieLens-100K: a u.data of a dozen users."""

import numpy as np
from tiny_data import stand_in, write

USERS, FILMS = 12, 30
SMALL = {"rank": 3, "num_neighbors": 3, "sweeps": 4}  # arguments of `movielens` that fit it


def made_up(seed=0):
    """A table like u.data: 12 users with 10 to 25 of 30 films each, in random order, numbers with gaps."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(USERS):
        for film in rng.permutation(FILMS)[: rng.integers(10, 26)]:
            rows.append((3 * user + 2, 5 * film + 1, rng.integers(1, 6), 880_000_000 + len(rows)))
    return rng.permutation(np.array(rows))


def put(table, folder, monkeypatch):
    """Lets MovieLens-100K be this table, as a file of the user's in folder / "mine", which BENCH_DATA then names."""
    lines = "".join("\t".join(map(str, row)) + "\n" for row in table.tolist())
    files = stand_in(monkeypatch, "movielens_100k", {"u.data": lines.encode()})
    monkeypatch.setenv("BENCH_CACHE", str(folder / "cache"))
    monkeypatch.setenv("BENCH_DATA", str(write(folder / "mine", files)))
