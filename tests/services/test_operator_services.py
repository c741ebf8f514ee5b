"""What an operator may do with one order, against orders in every state and at the worst moment (O2, F33)."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from orders.models import Alert, AlertGroup, AuditEntry, Event, Order, OrderProcess
from orders.services.audit import Actor
from orders.services.operators.editing import edit_and_resubmit, editable_fields
from orders.services.operators.orders import compensate, resubmit_now, retry_now, set_priority, skip
from orders.services.operators.settling import settle_done, settle_not_done, settle_undone
from orders.services.orders import NoSuchOrderError
from orders.services.results import Result, ResultStatus
from orders.wiring import workflows
from orders.workflow import editing
from tests.support.factories import ago, ahead, make_order, make_reply, make_request, step_of
from tests.support.roles import (
    a_scheduler,
    answer,
    asked,
    drain,
    event_of,
    everything,
    happened,
    states,
    stored,
)
from tests.support.two_sessions import Session, all_at_once

((_, FULFIL),) = editing.WORKFLOWS.items()
FULFILS = {(FULFIL.name, FULFIL.version): FULFIL}
ADDRESS = {"name": "Ada", "street": "Lane 1", "city": "Delft", "postal_code": "2611", "country": "NL"}
MOVED = {**ADDRESS, "city": "Gouda"}
BEFORE_SHIPMENT = {"reserve-stock": "completed", "authorise-payment": "completed"}
BEFORE_MAIL = {**BEFORE_SHIPMENT, "create-shipment": "completed", "capture-payment": "completed"}
UNKNOWN = {"state": "failed", "attempt": 3, "outcome": "unknown", "failure_count": 3}
REFUSED = {"state": "failed", "outcome": "refused", "request": {"lines": [], "ship_to": ADDRESS}}
OLGA = Actor(name="olga", ip_address="10.0.0.7")

NewSession = Callable[[], Session]
pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)


def an_order(steps: dict[str, Any], **process: Any) -> OrderProcess:
    """An order of the shop's workflow; one in Error has its alert, and its failures add up."""
    failures = sum(step.get("failure_count", 0) for step in steps.values() if isinstance(step, dict))
    order = make_order(steps, workflow=FULFIL, **({"failure_count": failures} | process))
    if order.process_state == "error":
        group, _ = AlertGroup.objects.get_or_create(kind="step_failed", agent="", code="no", pattern="no")
        Alert.objects.create(group=group, order_id=order.pk, kind="step_failed", code="no", message="no")
    return order


def in_error(steps: dict[str, Any], **process: Any) -> OrderProcess:
    return an_order(steps, **({"process_state": "error", "started_at": ago(60)} | process))


def pass_over() -> None:
    drain(a_scheduler(workflows=FULFILS))


def audited(order: OrderProcess) -> list[tuple[str, str, str, str]]:
    entries = AuditEntry.objects.filter(target=f"order {order.pk}").order_by("id")
    return [(entry.act, entry.actor, entry.ip_address, entry.said) for entry in entries]


def has_open_alert(order: OrderProcess) -> bool:
    return Alert.objects.filter(order_id=order.pk, closed_at__isnull=True).exists()


# --- skipping


@pytest.mark.pattern("O2")
def test_a_failed_step_is_skipped_with_a_reason_and_the_order_goes_on() -> None:
    order = in_error({**BEFORE_MAIL, "send-confirmation": "failed"})
    result = skip(order_id=order.pk, step="send-confirmation", actor=OLGA, reason="she has no mail")
    assert (result.status, result.said) == (
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
    assert asked(order) == {"authorise-payment"}


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
    "being undone": (
        {"reserve-stock": "completed"},
        {"process_state": "pending", "goal": "compensate"},
        "create-shipment",
        "being cancelled and refunded",
    ),
    "ended": ({}, {"process_state": "processed"}, "create-shipment", "has ended"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_skipped_is_refused_and_nothing_changes(name: str) -> None:
    steps, process, step, said = REFUSALS[name]
    order = an_order(steps, **process)
    before = everything(order)
    result = skip(order_id=order.pk, step=step, actor=OLGA, reason="r")
    assert result.status is ResultStatus.REFUSED and said in result.said
    assert (everything(order), happened(order)) == (before, [])
    assert [entry[0] for entry in audited(order)] == ["skip"]
    assert not AuditEntry.objects.get().allowed


@pytest.mark.parametrize(
    ("typed", "act"), [("skip", ResultStatus.REFUSED), ("", ResultStatus.REFUSED), (None, ResultStatus.DONE)]
)
def test_what_is_confirmed_is_confirmed_with_the_steps_name(typed: str | None, act: ResultStatus) -> None:
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


def test_a_skipped_step_of_unknown_outcome_is_undone_when_the_order_is() -> None:
    order = in_error({"reserve-stock": UNKNOWN})
    skip(order_id=order.pk, step="reserve-stock", actor=OLGA, reason="r")
    compensate(order_id=order.pk, actor=OLGA, reason="r", typed="cancel")
    pass_over()
    assert asked(order) == {"reserve-stock"}


def test_while_another_step_has_failed_too_the_order_stays_in_error_with_its_alert() -> None:
    order = in_error({"reserve-stock": "failed", "authorise-payment": UNKNOWN})
    result = skip(order_id=order.pk, step="reserve-stock", actor=OLGA, reason="r")
    assert result.said.endswith("because authorise-payment failed too.")
    assert stored(order).process_state == "error" and has_open_alert(order)
    settle_done(
        order_id=order.pk, step="authorise-payment", result={"authorisation": "a"}, actor=OLGA, reason="r"
    )
    assert stored(order).process_state == "pending" and not has_open_alert(order)


# --- settling


@pytest.mark.pattern("O2", "C9", "F14")
def test_settled_as_done_the_order_goes_on_with_the_result_that_was_given() -> None:
    order = in_error({"reserve-stock": "completed", "authorise-payment": UNKNOWN})
    empty = settle_done(order_id=order.pk, step="authorise-payment", result={}, actor=OLGA, reason="seen")
    assert empty.status is ResultStatus.REFUSED and "Later steps need" in empty.said
    answered = {"authorisation": "auth-7"}
    result = settle_done(
        order_id=order.pk, step="authorise-payment", result=answered, actor=OLGA, reason="seen at the bank"
    )
    step = step_of(order, "authorise-payment")
    assert (result.status, step.state, step.outcome, step.result) == (
        ResultStatus.DONE,
        "completed",
        "done",
        answered,
    )
    event = event_of(order, "settled_done")
    assert (event.detail["result"], event.detail["reason"]) == (answered, "seen at the bank")
    again = settle_done(
        order_id=order.pk, step="authorise-payment", result=answered, actor=OLGA, reason="seen at the bank"
    )
    assert again.status is ResultStatus.ALREADY
    make_reply(step, "refused")  # what comes after all changes nothing
    pass_over()
    assert step_of(order, "authorise-payment").state == "completed"
    assert asked(order) == {"create-shipment"}


@pytest.mark.pattern("O2", "A3")
def test_settled_as_not_done_its_next_try_has_a_new_key() -> None:
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": UNKNOWN})
    options: dict[str, Any] = {"order_id": order.pk, "step": "create-shipment", "actor": OLGA, "reason": "r"}
    assert settle_not_done(**options).status is ResultStatus.DONE
    step = step_of(order, "create-shipment")
    assert (step.state, step.outcome, step.generation) == ("failed", "none", 2)
    assert stored(order).process_state == "error" and has_open_alert(order)
    assert settle_not_done(**options).status is ResultStatus.ALREADY
    assert step_of(order, "create-shipment").generation == 2
    resubmit_now(order_id=order.pk, actor=OLGA)
    pass_over()
    request = step_of(order, "create-shipment")
    assert (request.state, request.generation, request.attempt) == ("running", 2, 4)


@pytest.mark.pattern("C10", "F34")
def test_what_was_undone_outside_is_settled_with_proof_and_the_rest_is_undone() -> None:
    order = in_error(
        {
            "reserve-stock": "completed",
            "authorise-payment": "completed",
            "create-shipment": {"state": "failed", "outcome": "done", "undo_failure_count": 6},
        },
        goal="compensate",
        failure_count=6,
    )
    options: dict[str, Any] = {"order_id": order.pk, "step": "create-shipment", "actor": OLGA}
    assert settle_undone(reason="", **options).status is ResultStatus.REFUSED
    assert settle_undone(reason="the carrier's letter", **options).status is ResultStatus.DONE
    assert settle_undone(reason="the carrier's letter", **options).status is ResultStatus.ALREADY
    for _ in range(3):
        pass_over()
        answer(order=order)
    pass_over()
    assert stored(order).process_state == "compensated"
    assert event_of(order, "settled_undone").detail["reason"] == "the carrier's letter"


def test_a_known_outcome_is_not_settled_over() -> None:
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": REFUSED})
    before = everything(order)
    options: dict[str, Any] = {"order_id": order.pk, "step": "create-shipment", "actor": OLGA, "reason": "r"}
    results = [settle_done(result={}, **options), settle_not_done(**options), settle_undone(**options)]
    assert {one.status for one in results} == {ResultStatus.REFUSED} and everything(order) == before


# --- retrying now, priority


def test_what_waits_for_a_retry_is_tried_at_once_and_a_customer_is_still_waited_for() -> None:
    put_off = {"state": "not_started", "attempt": 1, "outcome": "unknown", "not_before": ahead(500)}
    order = an_order(
        {"reserve-stock": put_off, "authorise-payment": {"state": "failed", "not_before": ahead(900)}},
        process_state="pending",
        not_before=ahead(500),
    )
    assert retry_now(order_id=order.pk, actor=OLGA).said == "Retrying reserve-stock now."
    assert retry_now(order_id=order.pk, actor=OLGA).status is ResultStatus.ALREADY
    assert step_of(order, "authorise-payment").not_before is not None
    pass_over()
    assert asked(order) == {"reserve-stock"} and step_of(order, "reserve-stock").attempt == 2
    assert happened(order, "hurried") == [("hurried", "reserve-stock")]


@pytest.mark.pattern("A9")
def test_a_priority_holds_for_the_order_its_steps_and_what_is_already_asked() -> None:
    order = an_order({"reserve-stock": "running"}, process_state="processing")
    free = make_request(step_of(order, "reserve-stock"))
    assert set_priority(order_id=order.pk, priority=9, actor=OLGA).status is ResultStatus.DONE
    assert set_priority(order_id=order.pk, priority=9, actor=OLGA).status is ResultStatus.ALREADY
    free.refresh_from_db()
    assert (stored(order).priority, step_of(order, "create-shipment").priority, free.priority) == (9, 9, 9)
    assert stored(order).process_state == "processing"
    assert event_of(order, "priority_set").detail == {"before": 5, "after": 9}
    for wrong in (-1, 10):
        assert set_priority(order_id=order.pk, priority=wrong, actor=OLGA).status is ResultStatus.REFUSED
    ended = an_order({}, process_state="processed")
    assert set_priority(order_id=ended.pk, priority=9, actor=OLGA).status is ResultStatus.REFUSED


# --- editing


def edit(order: OrderProcess, to: Any = MOVED, *, seen: Any = ADDRESS, field: str = "ship_to") -> Result:
    return edit_and_resubmit(
        order_id=order.pk,
        step="create-shipment",
        changes={field: to},
        seen={field: seen},
        actor=OLGA,
        reason="she moved",
    )


@pytest.mark.pattern("O2", "A3")
def test_an_edited_step_keeps_its_original_and_is_tried_with_the_new_request_and_a_new_key() -> None:
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": REFUSED})
    result = edit(order)
    assert (result.status, result.said) == (
        ResultStatus.DONE,
        "Edited create-shipment. Resubmitted create-shipment.",
    )
    step = step_of(order, "create-shipment")
    assert (step.request["ship_to"], step.original["ship_to"], step.generation) == (MOVED, ADDRESS, 2)
    event = event_of(order, "edited")
    assert event.detail == {
        "before": {"ship_to": ADDRESS},
        "after": {"ship_to": MOVED},
        "reason": "she moved",
    }
    pass_over()
    answer("refused", order=order)
    pass_over()
    assert edit(order, ADDRESS | {"city": "Breda"}, seen=MOVED).status is ResultStatus.DONE
    step = step_of(order, "create-shipment")
    assert (step.request["ship_to"]["city"], step.original["ship_to"]) == ("Breda", ADDRESS)


def test_what_is_not_declared_as_editable_or_makes_no_sense_is_not_edited() -> None:
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": REFUSED})
    before = everything(order)
    for to, field in (
        ([], "lines"),
        (1, "amount"),
        ("Delft", "ship_to"),
        ({"city": "Delft"}, "ship_to"),
        (ADDRESS | {"city": "a\nb"}, "ship_to"),
        (ADDRESS | {"country": "Holland"}, "ship_to"),
    ):
        with pytest.raises(ValueError, match=r"\.$"):
            edit(order, to, field=field, seen=None)
    assert edit(order, ADDRESS).said.startswith("Nothing is different")
    assert edit(order, seen=MOVED).said.startswith("Somebody else has edited")
    assert everything(order) == before and not Event.objects.exists()


@pytest.mark.pattern("A3", "F14")
def test_a_step_is_not_edited_while_nobody_knows_whether_it_was_done() -> None:
    order = in_error(
        {**BEFORE_SHIPMENT, "create-shipment": {**UNKNOWN, "request": {"lines": [], "ship_to": ADDRESS}}}
    )
    before = everything(order)
    result = edit(order)
    assert result.status is ResultStatus.REFUSED and "Settle it first" in result.said
    assert everything(order) == before
    settle_not_done(order_id=order.pk, step="create-shipment", actor=OLGA, reason="not at the carrier")
    assert edit(order).status is ResultStatus.DONE
    assert step_of(order, "create-shipment").generation == 2


def test_a_declined_payment_can_be_edited_while_its_customer_is_waited_for() -> None:
    order = an_order(
        {
            "reserve-stock": "completed",
            "authorise-payment": {
                "state": "failed",
                "not_before": ahead(900),
                "request": {"payment_method": "card_declined"},
            },
        },
        process_state="pending",
        not_before=ahead(900),
    )
    result = edit_and_resubmit(
        order_id=order.pk,
        step="authorise-payment",
        changes={"payment_method": "card_ok"},
        seen={"payment_method": "card_declined"},
        actor=OLGA,
    )
    assert result.said == "Edited authorise-payment. It will be tried again."
    pass_over()
    step = step_of(order, "authorise-payment")
    assert (step.state, step.generation, step.request) == ("running", 2, {"payment_method": "card_ok"})


def test_every_workflow_is_known_to_the_editing_and_every_editable_field_has_a_type() -> None:
    assert editing.WORKFLOWS.keys() == workflows().keys()
    for (name, version), workflow in workflows().items():
        for step in workflow.steps:
            fields = editable_fields(workflow=name, version=version, step=step.name)
            assert tuple(field.name for field in fields) == step.editable
    assert editable_fields(workflow=FULFIL.name, version=999, step="create-shipment") == ()


# --- undoing, and who is not there


def test_undoing_asks_for_the_amount_when_money_goes_back() -> None:
    order = an_order({**BEFORE_SHIPMENT, "capture-payment": UNKNOWN}, process_state="pending")
    Order.objects.create(
        id=order.pk,
        email="a@b.c",
        currency="JPY",
        total=3900,
        ship_to={},
        payment_method="card_ok",
        placed_at=ago(9),
    )
    wrong = compensate(order_id=order.pk, actor=OLGA, reason="r", typed="cancel")
    assert (wrong.status, wrong.said) == (ResultStatus.REFUSED, "To confirm, type 3900.")
    assert compensate(order_id=order.pk, actor=OLGA, reason="r", typed=" 3900 ").status is ResultStatus.DONE
    assert compensate(order_id=order.pk, actor=OLGA, reason="r", typed="").status is ResultStatus.ALREADY
    assert stored(order).goal == "compensate"


def test_an_order_that_is_not_there_is_no_order() -> None:
    for act in (retry_now, resubmit_now):
        with pytest.raises(NoSuchOrderError):
            act(order_id=UUID(int=1), actor=OLGA)
    assert not AuditEntry.objects.exists()


# --- two people at once


@both_sessions
@pytest.mark.pattern("F33")
@pytest.mark.parametrize("act", ["skip", "settle", "edit", "resubmit", "priority"])
def test_of_several_people_at_once_one_acts_and_the_others_are_told(act: str) -> None:
    outcome = UNKNOWN if act == "settle" else REFUSED
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": outcome})
    if act == "skip":
        order = in_error({"reserve-stock": outcome})
    step = "reserve-stock" if act == "skip" else "create-shipment"
    options: dict[str, Any] = {"order_id": order.pk, "step": step, "reason": "r"}

    def do(n: int) -> ResultStatus:
        who = Actor(name=f"olga{n}")
        acts: dict[str, Callable[[], Result]] = {
            "skip": lambda: skip(actor=who, **options),
            "settle": lambda: settle_done(result={"shipment": "s"}, actor=who, **options),
            "edit": lambda: edit(order),
            "resubmit": lambda: resubmit_now(order_id=order.pk, actor=who),
            "priority": lambda: set_priority(order_id=order.pk, priority=9, actor=who),
        }
        return acts[act]().status

    said = all_at_once(4, do)
    assert sorted(one.value for one in said) == ["already", "already", "already", "done"]
    kinds = {
        "skip": "step_skipped",
        "settle": "settled_done",
        "edit": "edited",
        "resubmit": "resubmitted",
        "priority": "priority_set",
    }
    assert len(happened(order, kinds[act])) == 1
    assert len(audited(order)) == 4


@both_sessions
@pytest.mark.pattern("F33")
def test_a_skip_waits_for_the_scheduler_that_starts_the_step_and_is_refused_then(
    new_session: NewSession,
) -> None:
    order = an_order(BEFORE_SHIPMENT, process_state="pending")
    scheduler, operator = new_session(), new_session()
    scheduler.begin()
    scheduler.do(a_scheduler(workflows=FULFILS).run_once)
    skipping = operator.start(lambda: skip(order_id=order.pk, step="create-shipment", actor=OLGA, reason="r"))
    operator.await_wait()
    scheduler.commit()
    result = skipping.result(timeout=30)
    assert result.status is ResultStatus.REFUSED and "under way" in result.said
    assert states(order)["create-shipment"] == "running"
