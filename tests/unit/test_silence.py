"""What customers are granted for an outage in which they could not be heard."""

from datetime import datetime

import pytest

from orders.engine.scheduler.silence import Silence
from tests.unit.order_passes import kinds, order
from tests.unit.rows import NOW, at

pytestmark = pytest.mark.pattern("C4")
DECLINED = {"state": "failed", "error": {"code": "declined", "waits_for": "customer"}}
OVEN = {"heat-oven": "completed"}


def silence(*passes: float, swept_at: datetime | None = None) -> Silence:
    """What a scheduler knows after passes at these seconds."""
    seen = Silence()
    for seconds in passes:
        seen.note(at(seconds), swept_at=swept_at)
    return seen


def granted(seen: Silence, until: float) -> float:
    """The second at which a time ends that was to end at this one."""
    return (seen.granted_until(at(until)) - NOW).total_seconds()


def test_without_an_outage_every_time_ends_as_it_was_to_end() -> None:
    assert granted(silence(0, 1, 5.9), 3) == 3
    assert granted(Silence(), 3) == 3


@pytest.mark.parametrize(
    ("until", "granted_until"),
    [(-1, -1), (0, 100), (20, 100), (40, 100), (99, 100), (101, 101)],
    ids=["before", "as it begins", "in it", "as it ends", "soon after", "long after"],
)
def test_a_time_that_ends_in_an_outage_or_soon_after_ends_a_minute_after_it(
    until: float, granted_until: float
) -> None:
    assert granted(silence(0, 40), until) == granted_until


def test_an_outage_that_soon_comes_back_is_the_same_one() -> None:
    assert granted(silence(0, 40, 41, 60), 20) == 120
    assert granted(silence(0, 40, *range(41, 120), 140), 20) == 20
    assert granted(silence(0, 40, *range(41, 120), 140), 130) == 200


def test_when_everything_stood_still_the_time_since_the_last_sweep_is_an_outage() -> None:
    assert granted(silence(0, swept_at=at(-600)), -300) == 60
    assert granted(silence(0, swept_at=at(-600)), -601) == -601
    assert granted(silence(0, swept_at=at(-29)), -10) == -10
    assert granted(silence(0, swept_at=None), -10) == -10
    assert granted(silence(0, 1, swept_at=at(-600)), -300) == 60


def test_an_order_whose_customer_could_not_be_heard_waits_a_minute_and_is_cancelled_then() -> None:
    late = order({**OVEN, "mix": {**DECLINED, "not_before": at(-5)}}, not_before=at(-5))
    late.grant(silence(-20, 0))
    late.turn(NOW)
    late.advance(NOW)
    assert kinds(late) == ["waiting"]
    assert (late.steps["mix"].not_before, late.row.not_before) == (at(60), at(60))
    again = order({**OVEN, "mix": {**DECLINED, "not_before": at(60)}}, not_before=at(60))
    again.grant(silence(-20, *range(61)))
    again.turn(at(60))
    assert kinds(again)[0] == "compensation_requested"


def test_only_what_waits_for_its_customer_is_granted_time() -> None:
    waiting = order({"mix": {"state": "not_started", "not_before": at(-5)}, "bake": "failed"})
    before = dict(waiting.steps)
    waiting.grant(silence(-20, 0))
    assert (waiting.steps, kinds(waiting)) == (before, [])
