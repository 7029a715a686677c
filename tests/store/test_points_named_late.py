"""Valid points that take long to name are asked for only where the store holds some that are not among the others."""

import pandas as pd

from bench.store.complete_runs import Shape
from bench.store.store import Store


def rows(point: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"point": [point], "trial": 0, "seed": 0, "sweep": "s", "algorithm": "A", "task": "t", "rounds": 0}
    )


def test_further_valid_points_are_asked_for_only_where_there_are_others(tmp_path):
    with Store(tmp_path) as opened:
        opened.open_parts({})
        for point in "ab":
            opened.write(rows(point))
    asked = []

    def more():
        asked.append(True)
        return {"b": Shape(1)}

    with Store(tmp_path) as opened:
        assert opened.open_parts({"a": Shape(1), "b": Shape(1)}, more) == {("a", 0, 0), ("b", 0, 0)}
        assert asked == []
        assert opened.open_parts({"a": Shape(1)}, more) == {("a", 0, 0), ("b", 0, 0)}
    assert (asked, opened.notes) == ([True], [])
