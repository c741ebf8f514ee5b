"""Capped exponential backoff with full jitter."""

import random

import pytest

from orders.engine.contracts import Step
from orders.engine.retry_rules import RetryRules
from orders.engine.runtime.backoff import full_jitter


class Highest(random.Random):
    """Chooses the upper end of every range, and notes the ranges."""

    def __init__(self) -> None:
        super().__init__(0)
        self.ranges: list[tuple[float, float]] = []

    def uniform(self, a: float, b: float) -> float:
        self.ranges.append((a, b))
        return b


@pytest.mark.parametrize(
    ("tries", "longest"), [(1, 2.0), (2, 4.0), (3, 8.0), (5, 32.0), (6, 60.0), (7, 60.0)]
)
def test_the_longest_wait_doubles_with_each_failure_up_to_the_cap(tries: int, longest: float) -> None:
    assert full_jitter(tries, first=2.0, cap=60.0, rng=Highest()) == longest


def test_a_wait_may_be_anything_between_zero_and_its_ceiling() -> None:
    """Full jitter: waits from half of the range would leave a crowd of retries together."""
    rng = Highest()
    full_jitter(4, first=2.0, cap=60.0, rng=rng)
    assert rng.ranges == [(0.0, 16.0)]


def test_the_first_wait_is_capped_too() -> None:
    assert full_jitter(1, first=2.0, cap=0.5, rng=Highest()) == 0.5


@pytest.mark.parametrize("tries", [0, -1])
def test_fewer_than_one_failure_counts_as_one(tries: int) -> None:
    assert full_jitter(tries, first=2.0, cap=60.0, rng=Highest()) == 2.0


def test_a_billion_failures_do_not_overflow() -> None:
    assert full_jitter(10**9, first=2.0, cap=60.0, rng=Highest()) == 60.0


def test_waits_differ_and_stay_in_range_with_the_default_generator() -> None:
    waits = [full_jitter(3, first=2.0, cap=60.0) for _ in range(200)]
    assert all(0.0 <= wait <= 8.0 for wait in waits)
    assert len(set(waits)) > 1


@pytest.mark.parametrize(
    ("own", "longest"),
    [
        ({}, [2.0, 4.0, 8.0, 60.0]),
        ({"first_backoff": 5.0}, [5.0, 10.0, 20.0, 60.0]),
        ({"backoff_cap": 3.0}, [2.0, 3.0, 3.0, 3.0]),
        ({"first_backoff": 300.0, "backoff_cap": 600.0}, [300.0, 600.0, 600.0, 600.0]),
    ],
)
def test_a_step_may_have_a_backoff_of_its_own(own: dict[str, float], longest: list[float]) -> None:
    backoff = RetryRules().backoff(Step(name="mix", agent="mixer", **own))
    assert [backoff(tries, rng=Highest()) for tries in (1, 2, 3, 99)] == longest  # type: ignore[call-arg]
