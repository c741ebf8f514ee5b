"""Figures of minutes and hours: they say what the rows say, are written once, and are read by indexes."""

from datetime import datetime, timedelta

import pytest

from orders.engine.errors import LeadershipLost
from orders.engine.figures.minutes import MINUTE, start_of_minute, write_tallies
from orders.engine.figures.taking import FILLED_IN, FigureTaker
from orders.engine.runtime.sql import database_now
from orders.models import (
    AgentFigures,
    AgentTally,
    CauseFigures,
    LeaderLease,
    OrderFigures,
    OrderProcess,
    SubmissionMessage,
    WorkflowDefinition,
)
from orders.models.figures import AGE_BOUNDS, BUCKETS
from tests.support.factories import make_alert, make_order, make_purchase
from tests.support.roles import a_leader
from tests.support.written_minutes import write_minute

pytestmark = pytest.mark.django_db


def a_minute(*, back: int = 3) -> datetime:
    return start_of_minute(database_now()) - back * MINUTE


def counts(histogram: list[int]) -> dict[float, int]:
    """The counts of a histogram by the lower bounds of their buckets."""
    return {([0.0, *AGE_BOUNDS])[bucket]: count for bucket, count in enumerate(histogram) if count}


def ended(at: datetime, state: str = "processed", *, took: float = 4.0) -> OrderProcess:
    goal = "compensate" if state == "compensated" else "complete"
    order = make_order(
        process_state=state, goal=goal, finished_at=at, created_at=at - timedelta(seconds=took) / 2
    )
    make_purchase(order.pk, total=100, placed_at=at - timedelta(seconds=took))
    return order


def waiting(placed_at: datetime, state: str = "pending") -> None:
    order = make_order(process_state=state, created_at=placed_at)
    make_purchase(order.pk, total=100, placed_at=placed_at)


def nothing() -> None:
    """Checks nothing, and beats nowhere."""


def take_all(taker: FigureTaker) -> None:
    while taker.run_once(nothing, beat=nothing):
        pass


def known_for(time: timedelta) -> None:
    WorkflowDefinition.objects.create(
        name="w", version=1, fingerprint="", definition={}, first_seen_at=database_now() - time
    )


def test_a_minute_counts_what_ended_in_it_and_what_had_not_at_its_end() -> None:
    began = a_minute()
    inside, ends = began + timedelta(seconds=30), began + MINUTE
    ended(began, took=4.0)
    ended(inside, took=25.0)
    ended(ends, took=70.0)  # in the next minute, so it was unfinished at the end of this one
    ended(inside, "compensated")
    ended(began - timedelta(seconds=1))
    waiting(ends - timedelta(hours=9))
    waiting(ends - timedelta(days=8), "error")
    waiting(ends + timedelta(seconds=1))  # not placed yet
    SubmissionMessage.objects.create(order_id=make_order().pk, client="c", body={}, posted_at=inside)
    OrderProcess.objects.filter(created_at__gt=ends + timedelta(seconds=1)).delete()
    make_alert(make_order(process_state="error", created_at=ends - timedelta(days=8)).pk, opened_at=inside)
    assert write_minute(began) is True
    row = OrderFigures.objects.get()
    assert (row.processed, row.cancelled, row.failed) == (2, 1, 1)
    assert counts(row.took) == {3.0: 1, 20.0: 1}
    assert counts(row.unfinished) == {30.0: 1, 60.0: 1, 28_800.0: 1, 604_800.0: 2}
    in_it = OrderProcess.objects.filter(created_at__gte=began, created_at__lt=ends)
    assert row.placed == in_it.count()
    assert list(CauseFigures.objects.values_list("opened", flat=True)) == [1]


def test_a_minute_is_written_once_whatever_happens_to_its_orders_later() -> None:
    began = a_minute()
    ended(began)
    assert write_minute(began) is True
    ended(began + timedelta(seconds=5))
    assert write_minute(began) is False
    assert OrderFigures.objects.get().processed == 1


def test_a_minute_says_the_same_whenever_it_is_read() -> None:
    """What was unfinished at its end and has ended since still counts as unfinished then."""
    began = a_minute(back=10)
    waiting(began - timedelta(seconds=100))
    assert write_minute(began) is True
    before = OrderFigures.objects.get().unfinished
    OrderFigures.objects.all().delete()
    OrderProcess.objects.update(process_state="processed", finished_at=began + 3 * MINUTE)
    assert write_minute(began) is True
    assert OrderFigures.objects.get().unfinished == before
    assert sum(before) == 1


def test_missed_minutes_are_filled_in_for_an_hour_without_tallies_and_older_ones_are_left_out() -> None:
    known_for(timedelta(hours=5))
    AgentTally.objects.create(
        agent="oven", outcome="ok", calls=3, buckets=[3] + [0] * (BUCKETS - 1), seconds=1
    )
    AgentTally.objects.create(
        agent="oven", outcome="timeout", calls=2, buckets=[0] * (BUCKETS - 1) + [2], seconds=1
    )
    taker = FigureTaker()
    take_all(taker)
    minutes = OrderFigures.objects.filter(span="minute").order_by("began")
    assert minutes.count() == FILLED_IN / MINUTE
    (tally,) = AgentFigures.objects.filter(span="minute")
    assert (tally.calls, tally.errors) == (5, 2)
    assert tally.buckets == [3] + [0] * (BUCKETS - 2) + [2]
    newest = minutes.last()
    assert newest is not None and tally.began == newest.began


def test_a_new_system_has_no_figures_of_the_time_before_it() -> None:
    known_for(timedelta(minutes=4))
    taker = FigureTaker()
    take_all(taker)
    assert 2 <= OrderFigures.objects.filter(span="minute").count() <= 4


def test_an_hour_sums_its_minutes_up_and_says_how_many_there_were() -> None:
    known_for(timedelta(hours=5))
    hour = database_now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    waiting(hour - timedelta(hours=2))
    for minute in (0, 58, 59):
        ended(hour + minute * MINUTE)
        make_alert(make_order(process_state="error", created_at=hour).pk, opened_at=hour + minute * MINUTE)
        write_minute(hour + minute * MINUTE)
    AgentTally.objects.create(
        agent="oven", outcome="ok", calls=3, buckets=[3] + [0] * (BUCKETS - 1), seconds=1
    )
    write_tallies(hour + 59 * MINUTE)
    taker = FigureTaker()
    take_all(taker)
    row = OrderFigures.objects.get(span="hour", began=hour)
    minutes = OrderFigures.objects.filter(span="minute", began__gte=hour, began__lt=hour + timedelta(hours=1))
    assert row.minutes == minutes.count() >= 3
    assert (row.processed, row.failed, sum(row.took)) == (3, 3, 3)
    last = minutes.order_by("began").last()
    assert last is not None and row.unfinished == last.unfinished
    assert AgentFigures.objects.get(span="hour", began=hour).calls == 3
    assert sum(CauseFigures.objects.filter(span="hour").values_list("opened", flat=True)) == 3


def test_a_replaced_leader_writes_no_figures() -> None:
    known_for(timedelta(minutes=10))
    leader = a_leader()
    LeaderLease.objects.update(term=99)
    with pytest.raises(LeadershipLost):
        leader.run_once()
    assert not OrderFigures.objects.exists()


def test_the_leader_takes_figures_with_its_sweep() -> None:
    known_for(timedelta(minutes=10))
    a_leader().run_once()
    assert OrderFigures.objects.filter(span="minute").count() == 3
