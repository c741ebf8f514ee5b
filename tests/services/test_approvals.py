"""Asking for approval: one act at a time, answered once, by another person, and carried out as it would be alone."""

from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, transaction

from orders.engine.circuits.store import read_circuits
from orders.models import (
    ApprovalRequest,
    AuditEntry,
    Circuit,
    Erasure,
    Event,
    OrderProcess,
)
from orders.services.audit import Actor
from orders.services.operators import approvals, settling
from orders.services.order_lock import NoSuchOrderError
from orders.vocabulary import ApprovalAct
from tests.services.approval_requests import ALREADY, ANN, BOB, DONE, EVE, REFUSED, asked, now_of
from tests.services.operated_orders import BEFORE_SHIPMENT, UNKNOWN, in_error
from tests.support.factories import ago, step_of
from tests.support.finished_orders import finished_order
from tests.support.two_sessions import all_at_once

pytestmark = pytest.mark.django_db


def a_doubtful_order() -> OrderProcess:
    return in_error({**BEFORE_SHIPMENT, "create-shipment": UNKNOWN})


def settlement(order: OrderProcess, **changes: Any) -> dict[str, Any]:
    step = {"order_id": str(order.pk), "step": "create-shipment", "outcome": "not_done", "result": {}}
    return step | changes


def asked_to_settle(order: OrderProcess, **more: Any) -> ApprovalRequest:
    return asked(ApprovalAct.SETTLE, settlement(order), **more)


def test_what_is_asked_for_changes_nothing_until_it_is_approved_and_then_both_people_are_named() -> None:
    order = a_doubtful_order()
    request = asked_to_settle(order)
    assert step_of(order, "create-shipment").outcome == "unknown"
    assert not Event.objects.filter(order_id=order.pk, kind="settled_not_done").exists()
    result = approvals.approve(request_id=request.pk, actor=ANN)
    assert result.status is DONE
    assert (step_of(order, "create-shipment").outcome, step_of(order, "create-shipment").generation) == (
        "none",
        2,
    )
    event = Event.objects.get(order_id=order.pk, kind="settled_not_done")
    assert event.actor_name == "ann"
    assert event.detail["reason"] == f"I looked (asked for by bob, request {request.pk})"
    entries = AuditEntry.objects.filter(target=f"order {order.pk}").order_by("id")
    assert [(entry.act, entry.actor, entry.allowed) for entry in entries] == [
        ("ask for approval", "bob", True),
        ("settle", "ann", True),
        ("approve", "ann", True),
    ]
    assert "of bob" in entries[2].result
    end = now_of(request)
    assert (end.state, end.decided_by, end.summary) == (
        "approved",
        "ann",
        "Settle create-shipment as not done",
    )


def test_the_same_act_asked_for_twice_is_one_request_whoever_asks() -> None:
    order = a_doubtful_order()
    request = asked_to_settle(order)
    again = approvals.ask(act=ApprovalAct.SETTLE, parameters=settlement(order), actor=EVE, reason="me too")
    assert again.request == request and again.result.status is ALREADY
    assert again.result.message == (
        f"Request {request.pk} of bob is already waiting for an admin’s approval, since"
        f" {request.asked_at:%d %b %H:%M} UTC: Settle create-shipment as not done. It is the same, so nothing was"
        " added."
    )
    assert ApprovalRequest.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_who_ask_and_many_who_approve_at_once_one_has_an_effect() -> None:
    order = a_doubtful_order()
    requests = all_at_once(4, lambda _: asked_to_settle(order).pk)
    assert len(set(requests)) == 1
    admins = [Actor(name=f"admin {n}") for n in range(4)]
    results = all_at_once(4, lambda n: approvals.approve(request_id=requests[0], actor=admins[n]))
    assert sorted(result.status.value for result in results) == ["already", "already", "already", "done"]
    assert Event.objects.filter(order_id=order.pk, kind="settled_not_done").count() == 1
    assert step_of(order, "create-shipment").generation == 2


@pytest.mark.django_db(transaction=True)
def test_one_who_approves_and_one_who_withdraws_at_once_do_not_both() -> None:
    order = a_doubtful_order()
    request = asked_to_settle(order)
    acts = (approvals.withdraw, approvals.approve)
    results = all_at_once(2, lambda n: acts[n](request_id=request.pk, actor=(BOB, ANN)[n]))
    assert sorted(result.status.value for result in results) == ["done", "refused"]
    is_settled = step_of(order, "create-shipment").outcome == "none"
    assert is_settled is (now_of(request).state == "approved") is (results[1].status is DONE)


@pytest.mark.parametrize("name", ["bob", "operator:bob"])
def test_nobody_approves_or_declines_her_own_request(name: str) -> None:
    order = a_doubtful_order()
    request = asked_to_settle(order)
    for act in (approvals.approve, approvals.decline):
        assert act(request_id=request.pk, actor=Actor(name=name)).status is REFUSED
    assert (now_of(request).state, step_of(order, "create-shipment").outcome) == ("waiting", "unknown")
    assert AuditEntry.objects.filter(act="approve", allowed=False, actor=name).count() == 1


def test_the_database_refuses_that_somebody_approves_her_own_request() -> None:
    request = asked_to_settle(a_doubtful_order())
    rows = ApprovalRequest.objects.filter(pk=request.pk)
    with pytest.raises(IntegrityError, match="nobody_approves_her_own_request"), transaction.atomic():
        rows.update(state="approved", decided_by="bob", decided_at=ago(0))


def test_a_request_expires_and_can_be_asked_for_again() -> None:
    order = a_doubtful_order()
    request = asked_to_settle(order)
    ApprovalRequest.objects.update(expires_at=ago(1))
    late = approvals.approve(request_id=request.pk, actor=ANN)
    assert late.status is REFUSED and "has expired" in late.message
    assert (now_of(request).state, step_of(order, "create-shipment").outcome) == ("expired", "unknown")
    second = asked_to_settle(order)
    ApprovalRequest.objects.filter(pk=second.pk).update(expires_at=ago(1))
    third = asked_to_settle(order)
    assert len({request.pk, second.pk, third.pk}) == 3
    assert now_of(second).state == "expired"


def test_what_is_no_longer_possible_is_not_done_and_the_request_lapses() -> None:
    order = a_doubtful_order()
    request = asked_to_settle(order)
    settling.settle_not_done(order_id=order.pk, step="create-shipment", actor=EVE, reason="saw it")
    result = approvals.approve(request_id=request.pk, actor=ANN)
    assert result.status is REFUSED
    assert result.message == (
        "This can no longer be done, so nothing was changed. Step create-shipment is already settled as not done."
    )
    assert (now_of(request).state, step_of(order, "create-shipment").generation) == ("lapsed", 2)
    late = asked_to_settle(other := a_doubtful_order())
    OrderProcess.objects.filter(pk=other.pk).delete()
    assert approvals.approve(request_id=late.pk, actor=ANN).status is REFUSED
    assert now_of(late).state == "lapsed"


def test_only_who_asked_withdraws_and_what_is_declined_or_withdrawn_is_not_approved() -> None:
    order = a_doubtful_order()
    request = asked_to_settle(order)
    assert approvals.withdraw(request_id=request.pk, actor=EVE).status is REFUSED
    assert approvals.withdraw(request_id=request.pk, actor=BOB).status is DONE
    assert approvals.withdraw(request_id=request.pk, actor=BOB).status is ALREADY
    assert (
        approvals.approve(request_id=request.pk, actor=ANN).message
        == "It has already been withdrawn, by bob."
    )
    second = asked_to_settle(order)
    assert approvals.decline(request_id=second.pk, actor=ANN, note="ask the carrier first").status is DONE
    assert now_of(second).note == "ask the carrier first"
    assert approvals.approve(request_id=second.pk, actor=EVE).status is REFUSED
    assert step_of(order, "create-shipment").outcome == "unknown"
    with pytest.raises(approvals.NoSuchApprovalError):
        approvals.approve(request_id=10**9, actor=ANN)


def test_what_would_be_refused_alone_is_not_asked_for() -> None:
    order = a_doubtful_order()
    for parameters, reason in (
        (settlement(order, step="mix"), "r"),
        (settlement(order), ""),
        (settlement(order, outcome="done"), "r"),
    ):
        answer = approvals.ask(act=ApprovalAct.SETTLE, parameters=parameters, actor=BOB, reason=reason)
        assert (answer.request, answer.result.status) == (None, REFUSED)
    with pytest.raises(NoSuchOrderError):
        unknown = settlement(order) | {"order_id": str(UUID(int=7))}
        approvals.ask(act=ApprovalAct.SETTLE, parameters=unknown, actor=BOB, reason="r")
    assert not ApprovalRequest.objects.exists()
    refused = AuditEntry.objects.filter(act="ask for approval", allowed=False)
    assert refused.count() == 3


def test_a_circuit_is_forced_and_let_go_once_that_is_approved() -> None:
    Circuit.objects.create(agent="carrier")
    force = {"agent": "carrier", "state": "open", "seconds": 900}
    request = asked(ApprovalAct.FORCE_CIRCUIT, force)
    assert request.summary == "Force the circuit of carrier open for 15 min"
    assert read_circuits(["carrier"])["carrier"].forced == ""
    approvals.approve(request_id=request.pk, actor=ANN)
    assert read_circuits(["carrier"])["carrier"].forced == "open"
    approvals.approve(request_id=asked(ApprovalAct.UNFORCE_CIRCUIT, {"agent": "carrier"}).pk, actor=ANN)
    assert read_circuits(["carrier"])["carrier"].forced == ""


def test_an_erasure_begins_once_it_is_approved() -> None:
    order_id = str(finished_order())
    for typed in ("", "eraze"):
        answer = approvals.ask(
            act=ApprovalAct.ERASE, parameters={"order_id": order_id}, actor=BOB, reason="r", typed=typed
        )
        assert answer.result.status is REFUSED
    request = asked(ApprovalAct.ERASE, {"order_id": order_id}, typed="erase")
    assert not Erasure.objects.exists()
    assert approvals.approve(request_id=request.pk, actor=ANN).status is DONE
    assert Erasure.objects.count() == 1
