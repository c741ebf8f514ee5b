"""What an operator may do with one order, in every state and at the worst moment: skip, retry, cancel (O2, F33)."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from orders.models import AuditEntry
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators.order_acts import (
    UNCONFIRMED,
    compensate,
    resubmit,
    retry_now,
    set_priority,
    skip,
)
from orders.services.operators.settling import settle_done, settle_not_done
from orders.services.order_lock import NoSuchOrderError
from tests.services.operated_orders import (
    BEFORE_MAIL,
    BEFORE_SHIPMENT,
    FULFILS,
    OLGA,
    REFUSED,
    UNKNOWN,
    an_order,
    audited,
    edit,
    has_open_alert,
    in_error,
    pass_over,
)
from tests.support.factories import ago, ahead, joint, make_item, make_purchase, make_request, step_of
from tests.support.roles import a_scheduler, event_of, everything, history, requested_steps, states, stored
from tests.support.two_sessions import Session, all_at_once

NewSession = Callable[[], Session]
pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)


@pytest.mark.pattern("O2")
def test_a_failed_step_is_skipped_with_a_reason_and_the_order_goes_on() -> None:
    order = in_error({**BEFORE_MAIL, "send-confirmation": "failed"})
    result = skip(order_id=order.pk, step="send-confirmation", actor=OLGA, reason="she has no mail")
    assert (result.status, result.message) == (
        ResultStatus.DONE,
        "Skipped send-confirmation. The order continues.",
    )
    assert (states(order)["send-confirmation"], stored(order).process_state) == ("skipped", "pending")
    assert not has_open_alert(order)
    event = event_of(order, "step_skipped")
    assert (event.actor_name, event.step) == ("olga", "send-confirmation")
    assert event.detail["reason"] == "she has no mail"
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.ip_address, entry.act) == ("olga", "10.0.0.7", "skip")
    assert entry.before["send-confirmation"]["state"] == "failed" and entry.before["state"] == "error"
    assert entry.after["send-confirmation"]["state"] == "skipped" and entry.after["state"] == "pending"
    pass_over()
    assert stored(order).process_state == "processed"


def test_a_waiting_step_that_was_never_tried_can_be_skipped() -> None:
    order = an_order({"reserve-stock": {"waiting_since": ago(60)}}, process_state="pending")
    assert skip(order_id=order.pk, step="reserve-stock", actor=OLGA, reason="r").status is ResultStatus.DONE
    assert step_of(order, "reserve-stock").waiting_since is None
    pass_over()
    assert requested_steps(order) == {"authorise-payment"}


def test_an_item_that_a_later_step_needs_is_not_skipped() -> None:
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": joint(1)})
    make_item(order, "create-shipment", 1, state="failed")
    result = skip(order_id=order.pk, step="create-shipment:1", actor=OLGA, reason="r")
    assert result.status is ResultStatus.REFUSED
    assert result.message.startswith("send-confirmation needs the result of create-shipment:1.")


REFUSALS: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "under way": (
        {"reserve-stock": "running"},
        {"process_state": "processing"},
        "reserve-stock",
        "is under way",
    ),
    "completed": ({"reserve-stock": "completed"}, {"process_state": "pending"}, "reserve-stock", "completed"),
    "no such step": ({}, {"process_state": "pending"}, "no-step", "has no step"),
    "needed by another": (
        {"authorise-payment": "failed"},
        {"process_state": "error"},
        "authorise-payment",
        "capture-payment needs the result of",
    ),
    "being compensated": (
        {"reserve-stock": "completed"},
        {"process_state": "pending", "goal": "compensate"},
        "create-shipment",
        "being cancelled,",
    ),
    "ended": ({}, {"process_state": "processed"}, "create-shipment", "has ended"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_step_that_cannot_be_skipped_is_refused_and_nothing_changes(name: str) -> None:
    steps, process, step, message = REFUSALS[name]
    order = an_order(steps, **process)
    before = everything(order)
    result = skip(order_id=order.pk, step=step, actor=OLGA, reason="r")
    assert result.status is ResultStatus.REFUSED and message in result.message
    assert (everything(order), history(order)) == (before, [])
    assert [entry[0] for entry in audited(order)] == ["skip"]
    assert not AuditEntry.objects.get().allowed


@pytest.mark.parametrize(
    ("typed", "act"), [("skip", ResultStatus.REFUSED), ("", ResultStatus.REFUSED), (None, ResultStatus.DONE)]
)
def test_a_skip_that_needs_confirmation_needs_the_steps_name(typed: str | None, act: ResultStatus) -> None:
    order = in_error({**BEFORE_MAIL, "send-confirmation": "failed"})
    result = skip(order_id=order.pk, step="send-confirmation", actor=OLGA, reason="r", typed=typed)
    assert result.status is act
    assert AuditEntry.objects.get().allowed is (act is ResultStatus.DONE)


def test_without_a_reason_nothing_is_skipped_or_settled() -> None:
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": UNKNOWN})
    before = everything(order)
    options: dict[str, Any] = {
        "order_id": order.pk,
        "step": "create-shipment",
        "actor": OLGA,
        "reason": " ",
    }
    results = [skip(**options), settle_done(result={}, **options), settle_not_done(**options)]
    assert {result.status for result in results} == {ResultStatus.REFUSED}
    assert everything(order) == before


def test_a_skipped_step_of_unknown_outcome_is_compensated_with_its_order() -> None:
    order = in_error({"reserve-stock": UNKNOWN})
    skip(order_id=order.pk, step="reserve-stock", actor=OLGA, reason="r")
    compensate(order_id=order.pk, actor=OLGA, reason="r", typed="cancel")
    pass_over()
    assert requested_steps(order) == {"reserve-stock"}


def test_while_another_step_has_failed_too_the_order_stays_in_error_with_its_alert() -> None:
    order = in_error({"reserve-stock": "failed", "authorise-payment": UNKNOWN})
    result = skip(order_id=order.pk, step="reserve-stock", actor=OLGA, reason="r")
    assert result.message.endswith("because authorise-payment failed too.")
    assert stored(order).process_state == "error" and has_open_alert(order)
    settle_done(
        order_id=order.pk, step="authorise-payment", result={"authorisation": "a"}, actor=OLGA, reason="r"
    )
    assert stored(order).process_state == "pending" and not has_open_alert(order)


def test_a_step_that_waits_for_a_retry_is_tried_at_once_but_a_declined_payment_still_waits() -> None:
    put_off = {"state": "not_started", "attempt": 1, "outcome": "unknown", "not_before": ahead(500)}
    order = an_order(
        {"reserve-stock": put_off, "authorise-payment": {"state": "failed", "not_before": ahead(900)}},
        process_state="pending",
        not_before=ahead(500),
    )
    assert retry_now(order_id=order.pk, actor=OLGA).message == "Retrying reserve-stock now."
    assert retry_now(order_id=order.pk, actor=OLGA).status is ResultStatus.ALREADY
    assert step_of(order, "authorise-payment").not_before is not None
    pass_over()
    assert requested_steps(order) == {"reserve-stock"} and step_of(order, "reserve-stock").attempt == 2
    assert history(order, "hurried") == [("hurried", "reserve-stock")]


@pytest.mark.pattern("A9")
def test_a_priority_applies_to_the_order_its_steps_and_its_outstanding_requests() -> None:
    order = an_order({"reserve-stock": "running"}, process_state="processing")
    request = make_request(step_of(order, "reserve-stock"))
    assert set_priority(order_id=order.pk, priority=9, actor=OLGA).status is ResultStatus.DONE
    assert set_priority(order_id=order.pk, priority=9, actor=OLGA).status is ResultStatus.ALREADY
    request.refresh_from_db()
    assert (stored(order).priority, step_of(order, "create-shipment").priority, request.priority) == (9, 9, 9)
    assert stored(order).process_state == "processing"
    assert event_of(order, "priority_set").detail == {"before": 5, "after": 9}
    for wrong in (-1, 10):
        assert set_priority(order_id=order.pk, priority=wrong, actor=OLGA).status is ResultStatus.REFUSED
    ended = an_order({}, process_state="processed")
    assert set_priority(order_id=ended.pk, priority=9, actor=OLGA).status is ResultStatus.REFUSED


def test_compensating_asks_for_the_amount_when_money_goes_back() -> None:
    order = an_order({**BEFORE_SHIPMENT, "capture-payment": UNKNOWN}, process_state="pending")
    make_purchase(order.pk, currency="JPY")
    wrong = compensate(order_id=order.pk, actor=OLGA, reason="r", typed="cancel")
    assert (wrong.status, wrong.message) == (ResultStatus.REFUSED, UNCONFIRMED)
    assert "3900" not in wrong.message
    done = compensate(order_id=order.pk, actor=OLGA, reason="r", typed=" 3900 ")
    assert done == Result(
        status=ResultStatus.DONE, message="The order will be cancelled and ¥3,900 refunded."
    )
    assert compensate(order_id=order.pk, actor=OLGA, reason="r", typed="").status is ResultStatus.ALREADY
    assert stored(order).goal == "compensate"


def test_an_unknown_order_is_refused_and_not_recorded() -> None:
    for act in (retry_now, resubmit):
        with pytest.raises(NoSuchOrderError):
            act(order_id=UUID(int=1), actor=OLGA)
    assert not AuditEntry.objects.exists()


@both_sessions
@pytest.mark.pattern("F33")
@pytest.mark.parametrize("act", ["skip", "settle", "edit", "resubmit", "priority"])
def test_one_of_several_simultaneous_operators_acts_and_the_others_change_nothing(act: str) -> None:
    outcome = UNKNOWN if act == "settle" else REFUSED
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": outcome})
    if act == "skip":
        order = in_error({"reserve-stock": outcome})
    step = "reserve-stock" if act == "skip" else "create-shipment"
    options: dict[str, Any] = {"order_id": order.pk, "step": step, "reason": "r"}

    def do(n: int) -> ResultStatus:
        actor = Actor(name=f"olga{n}")
        acts: dict[str, Callable[[], Result]] = {
            "skip": lambda: skip(actor=actor, **options),
            "settle": lambda: settle_done(result={"tracking": "t"}, actor=actor, **options),
            "edit": lambda: edit(order),
            "resubmit": lambda: resubmit(order_id=order.pk, actor=actor),
            "priority": lambda: set_priority(order_id=order.pk, priority=9, actor=actor),
        }
        return acts[act]().status

    statuses = all_at_once(4, do)
    assert sorted(status.value for status in statuses) == ["already", "already", "already", "done"]
    kinds = {
        "skip": "step_skipped",
        "settle": "settled_done",
        "edit": "edited",
        "resubmit": "resubmitted",
        "priority": "priority_set",
    }
    assert len(history(order, kinds[act])) == 1
    assert len(audited(order)) == 4


@both_sessions
@pytest.mark.pattern("F33")
def test_a_skip_waits_for_the_scheduler_that_starts_the_step_and_is_then_refused(
    new_session: NewSession,
) -> None:
    order = an_order(BEFORE_SHIPMENT, process_state="pending")
    scheduler, operator = new_session(), new_session()
    scheduler.begin()
    scheduler.do(a_scheduler(workflows=FULFILS).run_once)
    skipping = operator.start(lambda: skip(order_id=order.pk, step="create-shipment", actor=OLGA, reason="r"))
    operator.await_wait()
    scheduler.commit()
    result = skipping.result(timeout=60)
    assert result.status is ResultStatus.REFUSED and "under way" in result.message
    assert states(order)["create-shipment"] == "running"
