"""Operators see which orders will be late at the present pace, and are told before they are."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from orders.business import registry
from orders.engine.runtime.sql import database_now
from orders.models import AgentInstance, Alert, Circuit, StepState
from orders.selectors.desk.agents import AgentStatus, agent_statuses
from orders.selectors.desk.outlook import Outlook, coming_misses, outlooks, pace_of
from orders.vocabulary import AlertKind
from orders.watchdog.deadlines import CALM, PERIOD, DeadlineWatch
from orders.watchdog.vitals import LIMIT
from orders.watchdog.watch import Watch
from orders.wording.outlook import in_a_sentence, pace_in_words, value_in_words
from tests.support.availability import waited
from tests.support.clock import Clock
from tests.support.factories import ago, ahead, make_order, make_purchase
from tests.support.people import api_client, person, signed_in, token_of

pytestmark = pytest.mark.django_db
NOON = datetime.fromisoformat("2026-11-27T12:00:00+00:00")


def a_kitchen(name: str = "kitchen", *, done_a_minute: int = 60, failures: int = 0, **circuit: Any) -> None:
    """An agent with one host, which has done so much in the last minute."""
    Circuit.objects.create(agent=name, **circuit)
    AgentInstance.objects.create(
        instance="agents:a",
        agent=name,
        capacity=8,
        mean_seconds=0.5,
        recent_calls=done_a_minute + failures,
        recent_failures=failures,
    )


def an_order(*, promised_in: float | None, since: float = 60.0, total: int = 3_900, **process: Any) -> UUID:
    """An order that waits for the kitchen, with the time promised to its customer."""
    order = make_order({"mix": waited(since)}, **process)
    promised_by = None if promised_in is None else ahead(promised_in)
    make_purchase(order.pk, promised_by=promised_by, total=total, title="Tide")
    return order.pk


def statuses() -> list[AgentStatus]:
    return agent_statuses(now=database_now())


def the_outlook() -> Outlook:
    (outlook,) = outlooks(statuses(), now=database_now())
    return outlook


def missed() -> list[tuple[UUID, int]]:
    return [(miss.order_id, miss.turn) for miss in coming_misses(statuses(), now=database_now())]


# --- what will be late


def test_an_order_whose_turn_comes_after_the_time_promised_will_be_late() -> None:
    """The kitchen does one a second, so the third has its turn in three seconds."""
    a_kitchen(done_a_minute=60)
    an_order(promised_in=900, since=90)
    an_order(promised_in=900, since=80)
    late = an_order(promised_in=2, since=70)
    outlook = the_outlook()
    assert (outlook.pace, outlook.waiting, outlook.late, outlook.misses) == (1.0, 3, 0, 1)
    assert (outlook.value, outlook.given_up, outlook.is_good) == ({"EUR": 3_900}, 0, False)
    assert missed() == [(late, 3)]


def test_priority_goes_first_as_it_does_at_the_agent() -> None:
    a_kitchen(done_a_minute=60)
    for _ in range(3):
        an_order(promised_in=900, since=90)
    urgent = make_order({"mix": waited(10) | {"priority": 9}}, priority=9)
    make_purchase(urgent.pk, promised_by=ahead(3))
    assert the_outlook().is_good
    urgent.steps.filter(name="mix").update(priority=5)
    assert missed() == [(urgent.pk, 4)]


def test_what_is_late_already_and_what_nobody_was_promised_is_told_apart() -> None:
    a_kitchen(done_a_minute=60)
    an_order(promised_in=-5)
    an_order(promised_in=None)
    outlook = the_outlook()
    assert (outlook.waiting, outlook.late, outlook.misses, outlook.is_good) == (2, 1, 0, True)


def test_an_order_that_is_being_cancelled_has_no_promise_to_keep() -> None:
    a_kitchen(done_a_minute=1)
    an_order(promised_in=5, goal="compensate")
    assert outlooks(statuses(), now=database_now()) == []


@pytest.mark.parametrize(
    "circuit",
    [
        {"state": "open", "probe_at": NOON, "opened_at": NOON},
        {"paused": True, "held_by": "operator:ada"},
    ],
)
def test_while_an_agent_takes_no_calls_what_falls_due_within_the_hour_will_be_late(
    circuit: dict[str, Any],
) -> None:
    a_kitchen(done_a_minute=60, **circuit)
    an_order(promised_in=7_200)
    soon = an_order(promised_in=1_800)
    assert the_outlook().pace is None
    assert missed() == [(soon, 2)]
    assert coming_misses(statuses(), now=database_now())[0].turn_at is None


def test_failed_calls_are_no_pace() -> None:
    a_kitchen(done_a_minute=0, failures=60)
    an_order(promised_in=1_800)
    assert (the_outlook().pace, the_outlook().misses) == (None, 1)


def test_after_an_outage_the_pace_is_what_the_hosts_can_do_of_what_is_let_through() -> None:
    """Nothing has been done in the last minute: that would be as if nothing ever was."""
    a_kitchen(done_a_minute=0, closed_at=ago(1), opened_at=ago(60))
    an_order(promised_in=1_800)
    (kitchen,) = [status for status in statuses() if status.name == "kitchen"]
    assert kitchen.is_draining
    assert pace_of(kitchen) == pytest.approx(kitchen.ramp * 8 / 0.5)


@pytest.mark.parametrize(
    ("limits", "pace"),
    [
        ({"set_rate": 0.25}, 0.25),
        ({"set_rate": 5.0}, 1.0),
        ({"set_capacity": 1, "set_rate": 5.0}, 1.0),
        ({"rate": 0.5}, 0.5),
    ],
)
def test_a_limit_is_the_pace_as_soon_as_it_is_set(limits: dict[str, Any], pace: float) -> None:
    a_kitchen(done_a_minute=60, **limits)
    an_order(promised_in=1_800)
    assert the_outlook().pace == pace


def test_a_limit_of_calls_at_once_is_a_limit_of_the_pace() -> None:
    """One call at once takes 0.5 s, so no more than two are made in a second."""
    a_kitchen(done_a_minute=600, set_capacity=1)
    an_order(promised_in=1_800)
    assert the_outlook().pace == pytest.approx(2.0)


def test_a_limit_so_low_that_nothing_was_due_is_a_pace_too() -> None:
    a_kitchen(done_a_minute=0, set_rate=0.01)
    an_order(promised_in=30)
    assert (the_outlook().pace, the_outlook().misses) == (0.01, 1)


def test_a_step_that_will_have_waited_for_as_long_as_it_may_is_told_of_too() -> None:
    workflow = registry.newest_workflows()["fulfil-order"]
    first = workflow.steps[0]
    a_kitchen("warehouse", done_a_minute=1)
    make_order({first.name: waited(first.patience - 30)}, workflow=workflow)
    outlook = the_outlook()
    assert (outlook.misses, outlook.given_up, outlook.is_good) == (0, 1, False)
    (miss,) = coming_misses(statuses(), now=database_now())
    assert miss.promised_by is None
    assert miss.given_up_at is not None
    assert abs((miss.given_up_at - ahead(30)).total_seconds()) < 10


def test_an_order_with_several_items_in_the_queue_counts_once() -> None:
    a_kitchen(done_a_minute=60)
    order = make_order({"mix": waited(60), "bake": waited(50) | {"agent": "kitchen"}})
    make_purchase(order.pk, promised_by=ahead(1.5))
    outlook = the_outlook()
    assert (outlook.waiting, outlook.misses, outlook.value) == (1, 1, {"EUR": 3_900})
    assert missed() == [(order.pk, 2)]


# --- in words


def test_a_sentence_says_the_pace_how_many_and_when() -> None:
    values = {"EUR": 103_900, "GBP": 4_000}
    slow = an_outlook(pace=0.2, waiting=347, misses=213, first_miss=NOON, value=values)
    assert in_a_sentence(slow) == (
        "carrier does 12 steps a minute: at that pace 213 of the 347 orders that wait for it will miss the time "
        "promised, the first at 12:00 UTC"
    )
    assert value_in_words(slow) == "€1,039.00 and £40.00"
    down = an_outlook(
        takes_calls=False, waiting=1, misses=1, first_miss=NOON, given_up=1, first_given_up=NOON
    )
    assert in_a_sentence(down) == (
        "carrier takes no calls: if that goes on, within the next hour the one order that waits for it will miss the "
        "time promised, at 12:00 UTC; the one order that waits for it will have waited for as long as its step may, at "
        "12:00 UTC"
    )
    good = an_outlook(pace=2.5, waiting=2)
    assert in_a_sentence(good) == "2 orders wait for carrier, and none will be late"
    assert [pace_in_words(pace) for pace in (2.5, 1.0, 1 / 60)] == [
        "2.5 steps a second",
        "1 step a second",
        "1 step a minute",
    ]


def test_an_agent_that_did_nothing_for_a_minute_is_not_said_to_take_no_calls() -> None:
    idle = an_outlook(waiting=2, misses=2, first_miss=NOON)
    assert in_a_sentence(idle) == (
        "carrier has completed no step in the last minute: if that goes on, within the next hour both orders that wait "
        "for it will miss the time promised, the first at 12:00 UTC"
    )
    three = an_outlook(pace=1.0, waiting=3, given_up=3, first_given_up=NOON)
    assert in_a_sentence(three) == (
        "carrier does 1 step a second: at that pace all 3 orders that wait for it will have waited for as long as "
        "their steps may, the first at 12:00 UTC"
    )


def an_outlook(**values: Any) -> Outlook:
    nothing: dict[str, Any] = {
        "agent": "carrier",
        "takes_calls": True,
        "pace": None,
        "set_rate": None,
        "set_capacity": None,
        "late": 0,
        "misses": 0,
        "first_miss": None,
        "value": {},
        "given_up": 0,
        "first_given_up": None,
    }
    return Outlook(**nothing | values)


# --- operators are told


@pytest.mark.pattern("O1")
def test_operators_are_told_once_before_the_orders_are_late_and_the_alert_ends_by_itself(
    clock: Clock,
) -> None:
    a_kitchen(done_a_minute=1)
    an_order(promised_in=30)
    watch = Watch(instance="web:a", clock=clock)
    watch.look()
    clock.now += LIMIT
    assert watch.look() == []  # nothing is wrong with the system itself
    alert = Alert.objects.get()
    assert (alert.kind, alert.subject, alert.code) == (AlertKind.LATE, "kitchen", "deadlines")
    assert alert.group.agent == "kitchen"
    assert alert.message.startswith("orders waiting for kitchen will be late at its current pace")
    AgentInstance.objects.update(recent_calls=60)
    clock.now += CALM
    watch.look()
    alert.refresh_from_db()
    assert (alert.closed_at is not None, Alert.objects.count()) == (True, 1)
    assert alert.resolution == "the queue is fast enough again"


def test_the_trouble_stays_while_a_pause_of_the_step_holds_its_orders(clock: Clock) -> None:
    a_kitchen(done_a_minute=1)
    order_id = an_order(promised_in=30)
    watch = DeadlineWatch(clock=clock)
    (first,) = watch.look()
    steps = StepState.objects.filter(process_id=order_id, name="mix")
    steps.update(waiting_since=None, wanted_since=None, paused_since=ago(1))
    for _ in range(2):
        clock.now += CALM
        assert watch.look() == [first]
    steps.update(paused_since=None)
    clock.now += PERIOD
    assert watch.look() == []


def test_a_pace_that_goes_up_and_down_is_one_trouble(clock: Clock) -> None:
    a_kitchen(done_a_minute=1)
    an_order(promised_in=30)
    watch = DeadlineWatch(clock=clock)
    (first,) = watch.look()
    for calls in (60, 1, 60):
        AgentInstance.objects.update(recent_calls=calls)
        clock.now += PERIOD
        assert watch.look() == [first]
    clock.now += CALM
    assert watch.look() == []


# --- the page and the API


def test_the_page_lists_the_orders_and_what_they_are_worth() -> None:
    a_kitchen(done_a_minute=1)
    order_id = an_order(promised_in=30, total=5_000)
    page = signed_in(person("viewer")).get("/console/deadlines/").content.decode()
    assert "Kitchen does 1 step a minute" in page
    assert "It is worth €50.00." in " ".join(page.split())
    assert "has limited" not in page
    assert f"/console/orders/{order_id}/" in page
    Circuit.objects.update(set_rate=1.0, set_capacity=2)
    page = signed_in(person("viewer", "vera")).get("/console/deadlines/").content.decode()
    assert "An operator has limited kitchen to 1 call a second and 2 at once." in page


def test_a_program_reads_the_same() -> None:
    a_kitchen(done_a_minute=1)
    order_id = an_order(promised_in=30)
    answer = api_client(token_of(person("viewer"))).get("/api/v1/deadlines").json()
    (agent,), (order,) = answer["agents"], answer["orders"]
    assert (agent["agent"], agent["waiting"], agent["misses"]) == ("kitchen", 1, 1)
    assert agent["value"] == {"EUR": 3_900}
    assert (order["order_id"], order["turn"], order["step"]) == (str(order_id), 1, "mix")
    turn_at = datetime.fromisoformat(order["turn_at"])
    assert abs(turn_at - database_now() - timedelta(seconds=60)) < timedelta(seconds=10)


def test_the_trouble_is_over_as_soon_as_nothing_waits(clock: Clock) -> None:
    a_kitchen(done_a_minute=1)
    order_id = an_order(promised_in=30)
    watch = DeadlineWatch(clock=clock)
    assert len(watch.look()) == 1
    StepState.objects.filter(process_id=order_id).update(waiting_since=None, wanted_since=None)
    clock.now += PERIOD
    assert watch.look() == []
