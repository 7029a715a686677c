"""What methods are tuned over: equally many settings for all."""

from bench.comparison.search import settings

SPACE = {"step_size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "personalization": [0.1, 1.0, 10.0]}


def test_all_combinations_where_they_are_few():
    assert settings({"a": [1, 2], "b": ["x"]}, 8) == [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]
    assert settings({}, 8) == [{}]
    assert len(settings(SPACE, 24)) == 24


def test_a_larger_space_gets_exactly_so_many_all_different_and_spread():
    chosen = settings(SPACE, 8)
    assert len({tuple(setting.values()) for setting in chosen}) == 8
    assert {setting["personalization"] for setting in chosen} == {0.1, 1.0, 10.0}
    # Each value of the long list once or twice, as the name of the sequence promises; a corner of the grid would not.
    assert len({setting["step_size"] for setting in chosen}) >= 6


def test_the_choice_is_always_the_same_and_grows():
    assert settings(SPACE, 8) == settings(SPACE, 8)
    few, more = settings(SPACE, 5), settings(SPACE, 12)
    assert all(setting in more for setting in few)
