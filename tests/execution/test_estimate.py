"""The arithmetic of what is left of a command."""

import pytest

from bench.execution.estimate import Command, Estimate, Left, Work, duration, half, long_text


def begun(*works: Work) -> Estimate:
    """The estimate of a sweep that has this work to do."""
    estimate = Estimate()
    estimate.begin(works)
    return estimate


def test_nothing_is_known_before_a_round_is_measured():
    estimate = begun(Work("a", 100, 1.0, 2))
    estimate.compiled(7.0)
    assert estimate.left() is None


def test_rounds_and_programs_are_counted_apart():
    """10 of 100 run-rounds took 5 s; one of four programs took 7 s, and another is being compiled for 3 s."""
    estimate = begun(Work("a", 100, 1.0, 4))
    estimate.compiled(7.0)
    estimate.trained("a", 10, 5.0)
    assert estimate.left() == Left(45.0, 21.0)
    assert estimate.left(compiling=[3.0]) == Left(45.0, 18.0)
    assert estimate.left(compiling=[100.0]) == Left(45.0, 14.0)


def test_a_method_that_was_not_run_takes_as_long_as_the_guess_by_the_error_of_the_others():
    """Of "a" 10 run-rounds were guessed to take 1 s and took 3; 20 of "b" are guessed to take 4 s."""
    estimate = begun(Work("a", 10, 1.0), Work("b", 20, 4.0))
    estimate.trained("a", 10, 3.0)
    assert estimate.left() == Left(pytest.approx(12.0), 0.0)
    estimate.trained("b", 10, 1.0)
    assert estimate.left() == Left(pytest.approx(1.0), 0.0)


def test_lost_work_is_done_again_at_the_speed_that_was_measured():
    estimate = begun(Work("a", 100, 1.0))
    estimate.trained("a", 50, 100.0)
    estimate.lost("a", 50)
    assert estimate.left() == Left(200.0, 0.0)


def test_sweeps_that_follow_count_until_they_begin():
    estimate = Estimate()
    estimate.expect({"later": [Work("a", 10, 1.0, 1)], "last": [Work("a", 5, 0.5)]})
    estimate.begin([Work("a", 20, 2.0, 1)])
    estimate.compiled(4.0)
    estimate.trained("a", 20, 40.0)
    assert estimate.left() == Left(30.0, 4.0)
    estimate.begin([Work("a", 8, 0.8, 0)], ["later"])
    assert estimate.left() == Left(26.0, 0.0)


def test_workers_share_the_work_but_not_one_unit():
    estimate = begun(Work("a", 100, 1.0, 3))
    estimate.compiled(6.0)
    estimate.trained("a", 20, 20.0)
    assert estimate.left(workers=2) == Left(40.0, 6.0)
    assert estimate.left(workers=2, pending=[("a", 70), ("a", 10)]) == Left(70.0, 6.0)


def test_a_command_warns_only_where_enough_is_measured_and_it_takes_long():
    command = Command()
    command.estimate.train_s = 1.0
    assert command.warning(Left(10_000.0, 0.0), 1, list) is None
    command.estimate.train_s = 10.0
    assert command.warning(Left(200.0, 0.0), 1, list) is None
    assert command.warning(Left(400.0, 0.0), 1, list) == "This takes about 7 min in all."
    assert command.warning(Left(400.0, 0.0), 1, list) is None


def test_half_of_an_option_saves_no_compiling():
    """Of 1,000 s 600 are compiling: a number of 5 becomes 2, which saves three fifths of 400 s."""
    text = long_text(1000.0, 600.0, 400.0, half("--seeds", 5), following="2 more tasks after that")
    assert text == (
        "This takes about 17 min, with 2 more tasks after that. Why: compiling takes 10 min of it, which fewer rounds "
        "would not shorten. Shorter: --seeds 2 (about 13 min)."
    )
    assert half("--seeds", 1) == []


def test_durations_have_two_digits_or_so():
    assert [duration(s) for s in (0.4, 119, 120, 7100, 7200, 36_000)] == [
        "0 s",
        "119 s",
        "2 min",
        "118 min",
        "2.0 h",
        "10 h",
    ]
