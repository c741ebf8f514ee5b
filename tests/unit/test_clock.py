"""Time inside one process: seconds that count down, whatever the wall clock says."""

import time
from datetime import UTC, datetime

import pytest

from orders.engine.runtime.clock import Deadline


def test_the_remaining_seconds_count_down_from_the_granted_time() -> None:
    first = Deadline.after(60.0).left()
    assert 59.0 < first <= 60.0


def test_fewer_seconds_remain_at_each_reading() -> None:
    deadline = Deadline.after(60.0)
    first = deadline.left()
    assert deadline.left() <= first


def test_a_deadline_that_has_passed_leaves_negative_seconds() -> None:
    assert Deadline.after(-5.0).left() <= -5.0


def test_a_wall_clock_that_is_hours_off_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """F27."""
    deadline = Deadline.after(60.0)
    monkeypatch.setattr(time, "time", lambda: datetime(1999, 1, 1, tzinfo=UTC).timestamp())
    assert 59.0 < deadline.left() <= 60.0


def test_deadlines_at_the_same_moment_are_equal() -> None:
    assert Deadline(7.0) == Deadline(7.0) != Deadline(8.0)
