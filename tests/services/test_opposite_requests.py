"""Requests for approval that wait: what is opposed to one is refused, and operators are told of each once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from orders.models import ApprovalRequest, AuditEntry, Circuit, OrderProcess, OutgoingMessage
from orders.outbox.queue import deliver_due
from orders.services.act_results import ResultStatus
from orders.services.audit import Actor
from orders.services.operators import approvals
from orders.services.operators.opposite_requests import are_opposed
from orders.vocabulary import ApprovalAct
from orders.wording.skipped_messages import why_skipped
from tests.services.operated_orders import BEFORE_SHIPMENT, UNKNOWN, in_error
from tests.support.factories import ago, make_purchase
from tests.support.mailbox import mailbox
from tests.support.two_sessions import all_at_once
from tests.support.webhook import LOOPBACK, webhook

BOB, ANN, EVE = (Actor(name=name) for name in ("bob", "ann", "eve"))
SHIPMENT = {"tracking": "T"}
CANCEL = {"order_id": "1"}


def charged() -> OrderProcess:
    order = in_error({**BEFORE_SHIPMENT, "capture-payment": "completed", "create-shipment": UNKNOWN})
    make_purchase(order.pk)
    return order


def ask(act: ApprovalAct, actor: Actor = BOB, typed: Any = None, **parameters: Any) -> approvals.Asking:
    return approvals.ask(act=act, parameters=parameters, actor=actor, reason="r", typed=typed)


def settle(order: OrderProcess, outcome: str, actor: Actor = BOB) -> approvals.Asking:
    result = SHIPMENT if outcome == "done" else {}
    about = {"order_id": str(order.pk), "step": "create-shipment"}
    return ask(ApprovalAct.SETTLE, actor, **about, outcome=outcome, result=result)


@pytest.mark.django_db
def test_an_opposite_request_is_refused_and_says_which_waits_by_whom_until_that_is_answered() -> None:
    order = charged()
    answer = settle(order, "done")
    first = answer.request
    assert first is not None, answer.result
    second = settle(order, "not_done", EVE)
    assert (second.result.status, second.request) == (ResultStatus.REFUSED, None)
    assert second.result.message == (
        f"Request {first.pk} of bob is already waiting for an admin’s approval, since {first.asked_at:%d %b %H:%M} UTC:"
        " Settle create-shipment as done. You can ask for this once an admin has answered it, or bob has withdrawn it."
    )
    entry = AuditEntry.objects.get(allowed=False)
    assert (entry.act, entry.actor, entry.result) == ("ask for approval", "eve", second.result.message)
    approvals.withdraw(request_id=first.pk, actor=BOB)
    assert settle(order, "not_done", EVE).result.status is ResultStatus.DONE


@pytest.mark.django_db
def test_what_has_expired_stands_in_nobodys_way() -> None:
    order = charged()
    settle(order, "done")
    ApprovalRequest.objects.update(expires_at=ago(1))
    assert settle(order, "not_done").result.status is ResultStatus.DONE


@pytest.mark.django_db
def test_a_cancellation_alone_or_in_bulk_is_opposed_to_a_step_that_is_settled(settings: Any) -> None:
    settings.CONFIG = replace(settings.CONFIG, approve_refunds_above={"EUR": 3_000})
    order, other = charged(), charged()
    settle(order, "done")
    cancel = ask(ApprovalAct.COMPENSATE, typed="39.00", order_id=str(order.pk))
    assert cancel.result.status is ResultStatus.REFUSED and "Settle create-shipment" in cancel.result.message
    bulk = {"kind": "compensate", "selection": "two", "group": None, "query": {}, "waves": [0]}
    numbers = {"stop_share": 0.2, "rate": 1.0}
    many = ask(ApprovalAct.BULK, typed=2, orders=[str(order.pk), str(other.pk)], **bulk, **numbers)
    assert many.result.status is ResultStatus.REFUSED
    assert ask(ApprovalAct.BULK, typed=1, orders=[str(other.pk)], **bulk, **numbers).request
    late = ask(ApprovalAct.COMPENSATE, EVE, typed="39.00", order_id=str(other.pk))
    assert late.result.status is ResultStatus.REFUSED and "of bob is already waiting" in late.result.message


@pytest.mark.django_db
def test_a_circuit_has_one_request_that_waits() -> None:
    Circuit.objects.create(agent="carrier")
    Circuit.objects.create(agent="payments")
    force = {"state": "open", "seconds": 900}
    assert ask(ApprovalAct.FORCE_CIRCUIT, agent="carrier", **force).request
    closed = ask(ApprovalAct.FORCE_CIRCUIT, EVE, agent="carrier", state="closed", seconds=900)
    assert closed.result.status is ResultStatus.REFUSED
    assert ask(ApprovalAct.FORCE_CIRCUIT, agent="payments", **force).request


@pytest.mark.django_db(transaction=True)
def test_of_two_opposite_requests_at_once_one_waits() -> None:
    order = charged()
    answers = all_at_once(2, lambda n: settle(order, ("done", "not_done")[n]).result.status)
    assert set(answers) == {ResultStatus.DONE, ResultStatus.REFUSED}
    assert ApprovalRequest.objects.count() == 1


@pytest.mark.parametrize(
    ("act", "parameters", "other", "others", "expected"),
    [
        (
            "settle_step",
            {"step": "a", "outcome": "done"},
            "settle_step",
            {"step": "b", "outcome": "done"},
            False,
        ),
        ("settle_step", {"step": "a", "outcome": "compensated"}, "compensate_order", CANCEL, False),
        ("settle_step", {"step": "a", "outcome": "not_done"}, "decide", CANCEL, True),
        ("compensate_order", CANCEL, "decide", CANCEL, True),
        ("erase_customer", CANCEL, "compensate_order", CANCEL, False),
        ("unforce_circuit", {}, "force_circuit", {}, True),
        ("compensate_order", CANCEL, "of_a_newer_release", {}, False),
    ],
)
def test_opposed_is_what_would_do_and_undo_one_thing(
    act: str, parameters: Mapping[str, Any], other: str, others: Mapping[str, Any], expected: bool
) -> None:
    assert (
        are_opposed(act, parameters, other, others) is are_opposed(other, others, act, parameters) is expected
    )


@pytest.mark.django_db
def test_operators_are_told_once_by_email_and_by_webhook_with_the_link(settings: Any) -> None:
    with mailbox(settings) as box, webhook() as hook:
        settings.CONFIG = replace(
            settings.CONFIG,
            public_url="https://shop.example",
            webhook_networks=LOOPBACK,
            alert_email="ops@example.org",
            alert_webhook_url=hook.url,
        )
        order = charged()
        request = settle(order, "done").request
        settle(order, "done", EVE)
        assert request is not None and deliver_due() == 2 and deliver_due() == 0
        url = f"https://shop.example/console/approvals/#approval-{request.pk}"
        (email,) = box.emails
        assert email["Subject"] == "sasweb: bob asks for approval: Settle create-shipment as done"
        text = email.get_content()
        assert url in text and f"order {order.pk}" in text and "Reason: r" in text
        (call,) = hook.received
        assert (call["kind"], call["request"], call["url"]) == ("approval", request.pk, url)


@pytest.mark.django_db
def test_a_request_that_was_answered_before_its_message_is_sent_is_not_told(settings: Any) -> None:
    settings.CONFIG = replace(settings.CONFIG, alert_email="ops@example.org")
    request = settle(charged(), "done").request
    assert request is not None
    approvals.withdraw(request_id=request.pk, actor=BOB)
    assert deliver_due() == 0
    message = OutgoingMessage.objects.get()
    assert message.state == "skipped"
    assert "was answered" in why_skipped(kind=message.kind, channel=message.channel)
