"""`manage.py order ID`: everything about one order, including where its time went."""

import re
from datetime import timedelta
from uuid import UUID

import pytest

from orders.engine.runtime.sql import database_now
from orders.fields.order_numbers import MISTAKEN, spoken_number
from orders.management.operator_command import OperatorCommand
from orders.models import Event, OrderProcess, SetAside, SubmissionMessage
from tests.commands.running import make_alert, make_event, make_purchase, queries, run
from tests.support.factories import ago, ahead, make_order, make_request, register, step_of

pytestmark = pytest.mark.django_db

FIRST = UUID("01a1f9fd-2673-7639-8d66-266ff990b3a2")
RUNNING_AGAIN = {"state": "running", "attempt": 2, "generation": 3, "failure_count": 1}
SAME_MINUTE = UUID("01a1f9fd-2675-7314-bb5b-acce0f3586be")


def record_history(order_id: UUID, *happened: tuple[float, str, dict]) -> None:
    """Records a history: seconds since the first event, kind, and the event's fields."""
    began = database_now() - timedelta(seconds=1_000)
    for seconds, kind, fields in happened:
        detail = {
            name: (began + timedelta(seconds=value)).isoformat()
            if name in ("until", "waits_until", "posted_at")
            else value
            for name, value in fields.get("detail", {}).items()
        }
        event = make_event(order_id, kind, **{**fields, "detail": detail})
        Event.objects.filter(pk=event.pk).update(at=began + timedelta(seconds=seconds))


def retried_and_declined(order: OrderProcess) -> None:
    """4 s queued, a call that timed out after 30 s, 6 s backoff, a declined call, 200 s for the customer, done."""
    bake = {"step": "bake", "attempt": 1}
    again = {"step": "bake", "attempt": 2}
    failure = {"code": "no_answer", "message": "no answer within 5.0 s", "seconds": 5.0}
    record_history(
        order.order_id,
        (
            4,
            "received",
            {
                "actor_kind": "submission",
                "actor_name": "submission:test",
                "detail": {"posted_at": 0, "by": "guest"},
            },
        ),
        (5, "claimed", {}),
        (5, "step_started", {**bake, "detail": {"agent": "oven"}}),
        (
            25,
            "call_failed",
            {**bake, "actor_kind": "agents", "actor_name": "agents:test", "detail": {**failure, "try": 1}},
        ),
        (
            25,
            "call_failed",
            {**bake, "actor_kind": "agents", "actor_name": "agents:test", "detail": {**failure, "try": 2}},
        ),
        (35, "step_timed_out", {**bake, "detail": {"ruling": "retry", "failures": 1, "until": 41}}),
        (42, "step_started", {**again, "detail": {"agent": "oven"}}),
        (50, "step_declined", {**again, "detail": {"error": {"code": "no_flour"}, "waits_until": 3_650}}),
        (
            250,
            "resubmitted",
            {
                **again,
                "actor_kind": "operator",
                "actor_name": "operator:eve",
                "detail": {"reason": "flour came"},
            },
        ),
        (250, "step_started", {**again, "attempt": 3, "detail": {"agent": "oven"}}),
        (270, "step_completed", {**again, "attempt": 3, "detail": {"calls": 2}}),
        (270, "processed", {}),
    )


def test_it_shows_the_order_and_its_steps() -> None:
    order = make_order(
        {
            "mix": "completed",
            "heat-oven": "completed",
            "bake": {**RUNNING_AGAIN, "complete_by": ahead(290)},
        },
        process_state="processing",
        priority=7,
        failure_count=1,
    )
    make_purchase(order.order_id, placed_at=ago(125))
    make_request(step_of(order, "bake"))
    ran = run("order", order.order_id)
    assert ran.code == 0
    for words in (
        f"order {order.order_id}",
        "state waiting for oven (2 of 3) (processing)",
        "goal complete",
        "workflow bake-cake, version 3; priority 7",
        "UTC, 2 min ",
        "locked by scheduler:test",
        "failures 1",
        "total EUR 29.00",
        "customer kim@example.com (guest)",
        "mix kitchen completed 1 1 done 0 – …/1",
        "bake oven running 2 3 unknown 1 in 5 min, no agent yet …/3",
        "decorate kitchen not_started 0 1 – 0 – –",
    ):
        assert words in ran.words


def test_a_failed_step_and_its_alert_are_shown_with_what_to_do() -> None:
    error = {"code": "too_hot", "message": "it burnt"}
    order = make_order({"bake": {"state": "failed", "error": error}}, process_state="error")
    make_alert(order.order_id, opened_at=ago(65))
    words = run("order", order.order_id).words
    assert "state error: too_hot goal" in words
    assert "bake: too_hot: it burnt" in words
    alert = r"open alert, 1 min \d+ s old: a step failed for good \(bake, oven\): too_hot it burnt"
    assert re.search(alert, words)
    assert f"to do: manage.py resubmit {order.order_id}" in words


def test_the_timeline_says_what_happened_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OperatorCommand, "width", 200)
    order = make_order()
    retried_and_declined(order)
    ran = run("order", order.order_id)
    for line in (
        "4.000 4.0 s Received, 4.0 s after it was posted submission:test",
        "5.000 1.0 s Picked up for processing scheduler:test",
        "5.000 0 ms Step bake started, attempt 1 scheduler:test",
        "25.000 20 s 2 calls for step bake failed in the same way: no_answer: no answer within 5.0 s agents:test",
        "35.000 10 s Step bake got no answer in time (attempt 1): failure 1 of 3; next attempt"
        " after 6.0 s scheduler:test",
        "50.000 8.0 s Step bake was declined: no_flour; the customer has 1 h to resolve it scheduler:test",
        "4:10.000 3 min 20 s Step bake was resubmitted: flour came operator:eve",
        "4:30.000 20 s Step bake completed after 2 calls scheduler:test",
        "4:30.000 0 ms Processed: every step is completed scheduler:test",
    ):
        assert line in ran.words


def test_it_says_why_the_order_took_so_long() -> None:
    order = make_order(process_state="processed", finished_at=ago(730))
    retried_and_declined(order)
    spent = run("order", order.order_id, "--json").json()["spent"]
    assert spent["by_cause"] == {
        "customer": 200,
        "agents": 20 + 8 + 20,
        "complete_by": 10,
        "backoff": 6,
        "queue": 4,
        "scheduler": 1 + 1,
    }
    assert (spent["total"], spent["by_agent"]) == (270, {"oven": 48})
    assert (spent["failed_calls"], spent["failed_call_seconds"]) == (2, 10)
    words = run("order", order.order_id).words
    assert "where the time went: 4 min 30 s in total" in words
    assert "3 min 20 s 74 % the customer" in words
    assert "3 min 20 s 50.000 the customer (bake) Step bake was declined: no_flour" in words


def test_time_in_error_counts_as_the_operators() -> None:
    order = make_order()
    record_history(
        order.order_id,
        (0, "received", {}),
        (0, "step_started", {"step": "mix", "attempt": 1, "detail": {"agent": "kitchen"}}),
        (3, "step_refused", {"step": "mix", "attempt": 1, "detail": {"error": {"code": "no"}}}),
        (3, "error", {"step": "mix", "detail": {"error": {"code": "no"}}}),
        (93, "resubmitted", {"step": "mix", "attempt": 1}),
        (95, "step_started", {"step": "mix", "attempt": 2, "detail": {"agent": "kitchen"}}),
        (96, "processed", {}),
    )
    spent = run("order", order.order_id, "--json").json()["spent"]
    assert spent["by_cause"] == {"operator": 90, "agents": 4, "scheduler": 2}


def test_waiting_for_its_own_items_is_not_waiting_for_something_outside() -> None:
    order = make_order()
    record_history(
        order.order_id,
        (0, "received", {}),
        (0, "awaiting", {"step": "mix", "attempt": 1, "detail": {"kind": "items", "items": 1}}),
        (5, "step_started", {"step": "mix:1", "attempt": 1, "detail": {"agent": "kitchen"}}),
        (8, "step_completed", {"step": "mix:1", "attempt": 1}),
        (9, "step_completed", {"step": "mix", "attempt": 1}),
        (9, "processed", {}),
    )
    spent = run("order", order.order_id, "--json").json()["spent"]
    assert spent["by_cause"] == {"scheduler": 6, "agents": 3}


def test_time_before_a_compensation_counts_as_settling() -> None:
    order = make_order()
    record_history(
        order.order_id,
        (0, "received", {}),
        (0, "step_started", {"step": "mix", "attempt": 1, "detail": {"agent": "kitchen"}}),
        (
            30,
            "step_timed_out",
            {"step": "mix", "attempt": 1, "detail": {"ruling": "compensate", "failures": 3}},
        ),
        (30, "compensation_requested", {"detail": {"why": "step_remedy"}}),
        (35, "compensation_started", {"step": "mix", "attempt": 2, "detail": {"agent": "kitchen"}}),
        (36, "step_compensated", {"step": "mix", "attempt": 2}),
        (36, "compensated", {}),
    )
    ran = run("order", order.order_id, "--json")
    assert ran.json()["spent"]["by_cause"] == {"agents": 31, "settling": 5}
    assert (
        "Cancellation requested: a step failed for good, and its remedy is to cancel the order"
        in run("order", order.order_id).words
    )


def test_an_event_of_an_unknown_kind_is_still_shown() -> None:
    order = make_order()
    make_event(order.order_id, "oven_cleaned", "bake", detail={"with": "soap"})
    assert "Oven cleaned bake: with soap" in run("order", order.order_id).words


def test_a_queued_submission_is_shown_as_such() -> None:
    for number in (1, 2):
        SubmissionMessage.objects.create(
            order_id=UUID(int=number), client="guest", body={}, posted_at=ago(65)
        )
    ran = run("order", UUID(int=2))
    assert ran.code == 0
    waiting = r"state in the submission queue for 1 min \d+ s, 1 submission before it client guest"
    assert re.search(waiting, ran.words)
    assert run("compensate", UUID(int=2), "--reason", "asked by phone").code == 0
    assert "goal it is cancelled, and none of its steps will be started" in run("order", UUID(int=2)).words


def test_a_submission_that_was_set_aside_is_shown_with_its_reason() -> None:
    submission = SetAside.objects.create(
        order_id=FIRST,
        client="guest",
        body={},
        reason="no such cake",
        posted_at=ago(3_700),
        set_aside_at=ago(3_690),
    )
    words = run("order", FIRST).words
    assert "state set aside for 1 h 1 min: no such cake" in words
    assert f"manage.py set_aside replay {submission.pk}" in words


@pytest.mark.parametrize(
    "part", ["01a1f9fd-2673", "01A1F9FD2673", "6ff990b3a2", "266ff990b3a2", "0b3a2", str(FIRST)]
)
def test_a_unique_part_of_an_id_is_enough(part: str) -> None:
    make_order(order_id=FIRST)
    make_order(order_id=SAME_MINUTE)
    assert f"order {FIRST}" in run("order", part).words


def test_a_part_that_is_not_unique_is_refused_with_the_candidates() -> None:
    make_order(order_id=FIRST)
    SubmissionMessage.objects.create(order_id=SAME_MINUTE, client="guest", body={})
    ran = run("order", "01a1f9fd")
    assert (ran.code, ran.out) == (2, "")
    assert f"'01a1f9fd' is ambiguous: it matches {FIRST}, {SAME_MINUTE}" in ran.err


@pytest.mark.parametrize(
    "command", [("order",), ("resubmit",), ("compensate", "--reason", "x")], ids=lambda c: c[0]
)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cake",
            "'cake' is no order: give its number, its whole id, at least 4 hexadecimal digits of its end",
        ),
        ("abc", "'abc' is no order"),
        ("%%%%", "'%%%%' is no order"),
        ("abcd", "no order id ends or begins with 'abcd'"),
        (str(FIRST), "no such order"),
    ],
)
def test_an_unknown_id_is_a_clear_error(command: tuple[str, ...], text: str, message: str) -> None:
    ran = run(*command, text)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err and ran.err.count("\n") == 1


def test_text_from_others_cannot_move_the_cursor() -> None:
    order = make_order({"mix": {"state": "failed", "error": {"code": "\x1b[2J", "message": "a\x07b"}}})
    make_event(order.order_id, "set_aside", detail={"reason": "\x1b]0;pwned\x07"})
    make_purchase(order.order_id, email="\x1b[31m@example.com", placed_at=ahead(0))
    out = run("order", order.order_id).out
    assert "\x1b" not in out and "\x07" not in out


def test_the_number_of_queries_does_not_grow_with_the_history() -> None:
    order = make_order({"mix": "running"}, process_state="processing")
    few = queries("order", order.order_id)
    retried_and_declined(order)
    make_request(step_of(order, "mix"))
    assert queries("order", order.order_id) == few == 11


def test_an_order_is_found_by_its_number() -> None:
    make_order(order_id=FIRST)
    register(FIRST)
    number = spoken_number(FIRST)
    for text in (number, number.lower(), number.replace("-", "")):
        assert f"order {FIRST} number {number}" in run("order", text).words


@pytest.mark.parametrize("command", ["order", "resubmit"])
def test_a_number_with_a_mistake_or_of_no_order_is_a_clear_error(command: str) -> None:
    number = spoken_number(FIRST)
    for text, message in (
        (number, f"no order has the number {number}"),
        (f"{number[:-1]}{'2' if number[-1] != '2' else '3'}", MISTAKEN),
    ):
        ran = run(command, text)
        assert (ran.code, ran.out) == (2, "")
        assert message in ran.err and ran.err.count("\n") == 1
