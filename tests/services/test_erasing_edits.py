"""Erasing a customer also erases what an edit of her order has replaced, wherever it was mentioned."""

from typing import Any

import pytest
from django.db import connection

from orders.models import (
    AlertGroup,
    ApprovalRequest,
    AuditEntry,
    CustomerTerm,
    Event,
    GroupNote,
    Order,
    OrderProcess,
)
from orders.services.audit import Actor
from orders.services.customer_terms import learn_customers
from orders.services.operators.erasure import continue_erasures, erase
from tests.services.edited_orders import DATA, a_placed_order, edited
from tests.support.factories import ago
from tests.support.finished_orders import archive
from tests.support.order_bodies import DELFT, EMAIL

pytestmark = pytest.mark.django_db
FORMER = {**DELFT, "name": "Zelda Quist", "street": "Zilverschoonlaan 12"}
TRACES = ("quist", "zilverschoon")


def everything_that_names_her() -> list[str]:
    """What the tables say of orders, events, acts and notes, in lower case."""
    texts: list[str] = []
    with connection.cursor() as cursor:
        for table in (
            "order",
            "stepstate",
            "event",
            "auditentry",
            "groupnote",
            "archivedorder",
            "approvalrequest",
        ):
            cursor.execute(f"SELECT lower(t::text) FROM orders_{table} AS t")
            texts += [text for (text,) in cursor.fetchall() if any(trace in text for trace in TRACES)]
    return texts


def known_emails() -> set[str]:
    """The emails of customers who are found by their parts."""
    return set(CustomerTerm.objects.values_list("email", flat=True))


def finish(order: OrderProcess, *, is_archived: bool = False) -> None:
    """Makes an order processed, and has it in the archive."""
    end = Order.objects.get(pk=order.pk).placed_at
    OrderProcess.objects.filter(pk=order.pk).update(process_state="processed", finished_at=end)
    if is_archived:
        archive(order.pk)


@pytest.mark.parametrize("is_archived", [False, True], ids=("finished", "archived"))
def test_a_former_address_is_erased_with_its_customer(is_archived: bool) -> None:
    data: dict[str, Any] = {**DATA, "ship_to": FORMER}
    order = a_placed_order(data=data)
    edited(order, seen=data, ship_to=DELFT)
    assert Event.objects.filter(order_id=order.pk, detail__before__ship_to=FORMER).exists()
    assert AuditEntry.objects.filter(before__ship_to=FORMER).exists()
    group = AlertGroup.objects.create(kind="step_failed", agent="carrier", code="no", pattern="no")
    GroupNote.objects.create(group=group, by="olga", text="It went to Zilverschoonlaan 12, to Zelda Quist.")
    finish(order, is_archived=is_archived)
    assert everything_that_names_her()
    erase(email=EMAIL, actor=Actor(name="admin"))
    continue_erasures()
    assert everything_that_names_her() == []


@pytest.mark.parametrize("is_archived", [False, True], ids=("finished", "archived"))
def test_an_erased_customer_is_found_by_no_email_that_an_edit_replaced(is_archived: bool) -> None:
    order = a_placed_order(data={**DATA, "email": "typo@lovelace.example"})
    learn_customers()
    edited(order, seen={"email": "typo@lovelace.example"}, email=EMAIL)
    assert known_emails() == {"typo@lovelace.example", EMAIL}, "found by the new one at once"
    finish(order, is_archived=is_archived)
    erase(email=EMAIL, actor=Actor(name="admin"))
    continue_erasures()
    assert known_emails() == set()


def test_a_customer_whose_email_was_another_order_s_by_mistake_is_still_found() -> None:
    order = a_placed_order(data={**DATA, "email": "bob@other.example"})
    a_placed_order(data={**DATA, "email": "bob@other.example"})
    learn_customers()
    edited(order, seen={"email": "bob@other.example"}, email=EMAIL)
    finish(order)
    erase(email=EMAIL, actor=Actor(name="admin"))
    continue_erasures()
    assert known_emails() == {"bob@other.example"}


@pytest.mark.parametrize("is_decided", [False, True], ids=("waiting", "decided"))
def test_what_requests_for_approval_say_of_an_order_is_erased_with_it(is_decided: bool) -> None:
    order = a_placed_order()
    at = ago(60)
    request = ApprovalRequest.objects.create(
        act="settle_step",
        target=f"order {order.pk}",
        order_id=order.pk,
        summary="settle the step",
        parameters={"result": {"street": "Elsewhere 3"}},
        digest="1",
        reason="she lives elsewhere now",
        asked_by="bob",
        expires_at=ago(-3600),
        **(
            {"state": "declined", "decided_by": "ann", "decided_at": at, "note": "ask her"}
            if is_decided
            else {}
        ),
    )
    finish(order)
    erase(email=EMAIL, actor=Actor(name="admin"))
    continue_erasures()
    request.refresh_from_db()
    assert (request.parameters, request.reason, request.note, request.result) == ({}, "", "", "erased")
    assert request.state == ("declined" if is_decided else "lapsed")
    assert (request.decided_at == at) is is_decided
