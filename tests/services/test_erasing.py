"""Erasing a customer: nothing that names her is left, her orders keep their amounts, and it is one audited act."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessLog
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from uuid_utils.compat import uuid7

from orders import jobs
from orders.engine.runtime.sql import fetch
from orders.models import (
    Address,
    Alert,
    AlertGroup,
    ArchivedOrder,
    AuditEntry,
    BulkAction,
    BulkItem,
    Circuit,
    Erasure,
    Event,
    GroupNote,
    LoggedRequest,
    Order,
    OrderLine,
    OrderNote,
    OrderProcess,
    OutgoingMessage,
    RetentionFailure,
    SetAside,
    StatusMessage,
    StepState,
    SubmissionKey,
    SubmissionMessage,
)
from orders.services import audit
from orders.services.act_results import ResultStatus
from orders.services.operators import erasing_work
from orders.services.operators.erasure import continue_erasures, erase
from tests.support.factories import ago
from tests.support.finished_orders import finished_order, retain

pytestmark = pytest.mark.django_db

EMAIL = "zelda@customer.example"
NAME, STREET = 'Zelda "Zee" Quist-Ørsted', "Zilverschoonlaan 12"
ADMIN = audit.Actor(name="admin")
LINE2, PHONE = "Kattentoren, 3rd floor", "+31 20 555 0199"
GIFT_NOTE = "Honderd lisdodden"
SHIP_TO = {
    **{"name": NAME, "street": STREET, "line2": LINE2, "city": "Q", "postal_code": "1", "country": "NL"},
    "phone": PHONE,
}
TRACES = ("zelda", "quist", "zilverschoon", "kattentoren", "lisdodden", PHONE)
"""Parts of her email, name, address and gift note, in lower case."""
OTHER = "mrs.zelda@customer.example"
"""The email of somebody else, which contains hers."""
MENTION = f"told {NAME.upper()} ({EMAIL}) of {STREET}, {LINE2}, by {PHONE}, and of {GIFT_NOTE}."


def make_customer() -> User:
    """A customer with an account, an order in the archive and one outside, whose traces are wherever they can be."""
    user = User.objects.create(username=EMAIL, email=EMAIL, first_name="Zelda", last_name="Quist")
    Address.objects.create(user=user, **SHIP_TO)
    for days in (91, 1):
        order_id = finished_order(
            days=days,
            purchase={
                "customer": user,
                "email": EMAIL.title(),
                "data": {"ship_to": SHIP_TO, "email": EMAIL, "gift_note": GIFT_NOTE},
                "title": f"A print for {NAME}",
                "subject": f"for {EMAIL}",
                "reference": f"{NAME}, {days}",
                "metadata": {"for": NAME, EMAIL: "yes"},
                "attributes": [f"for={NAME}"],
            },
        )
        OrderLine.objects.filter(order_id=order_id).update(title=f"Frame for {NAME}")
        leave_traces_in_order(order_id)
    assert retain()["finished orders"] == 1
    leave_other_traces(user)
    return user


def leave_traces_in_order(order_id: Any) -> None:
    body = {"email": EMAIL, "ship_to": SHIP_TO, "gift_note": GIFT_NOTE}
    StepState.objects.filter(process_id=order_id).update(
        request=body, original=body, result=body, error=body, awaits={"kind": "answer", "reference": EMAIL}
    )
    Event.objects.filter(order_id=order_id).update(detail=body)
    Alert.objects.filter(order_id=order_id).update(message=MENTION, resolution=MENTION)
    StatusMessage.objects.filter(order_id=order_id).update(body=body, queue=f"q/{EMAIL}")
    SubmissionKey.objects.filter(order_id=order_id).update(key=f"{EMAIL} {order_id}")
    OrderNote.objects.create(order_id=order_id, by="admin", text=MENTION)
    OrderProcess.objects.filter(pk=order_id).update(reply_to=f"q/{EMAIL}")
    SetAside.objects.create(
        order_id=order_id, client="c", body=body, reason=MENTION, posted_at=ago(9), replayed_at=ago(8)
    )
    OutgoingMessage.objects.create(
        kind="order_link",
        recipient=EMAIL.upper(),
        order_id=order_id,
        arguments=body,
        error=MENTION,
        state="sent",
        give_up_at=ago(0),
        ended_at=ago(0),
    )
    audit.record(
        actor=ADMIN,
        act="edit and resubmit",
        target=f"order {order_id}",
        reason=MENTION,
        before=SHIP_TO,
        after={"ship_to": {"street": "Zilverschoon 13"}},
    )


def leave_other_traces(user: User) -> None:
    audit.record(actor=ADMIN, act="note", target=EMAIL, reason=MENTION, after={"email": EMAIL, "to": SHIP_TO})
    group = AlertGroup.objects.create(kind="step_failed", code="no", pattern=f"no {NAME}")
    GroupNote.objects.create(group=group, by="admin", text=MENTION)
    OrderNote.objects.create(order_id=uuid7(), by="admin", text=MENTION)
    action = BulkAction.objects.create(
        kind="resubmit",
        selection=f"orders matching {EMAIL}",
        query={"q": EMAIL},
        by="admin",
        reason=MENTION,
        starts_at=ago(0),
        total=1,
    )
    BulkItem.objects.create(action=action, position=0, order_id=Order.objects.get().pk, result=MENTION)
    LoggedRequest.objects.create(
        customer=user,
        request_id=NAME,
        at=ago(9),
        method="GET",
        path=f"/q/{EMAIL}",
        status=404,
        order_ids=[],
        token="sas_",
        milliseconds=1,
    )
    Circuit.objects.create(agent="carrier", cause_message=MENTION, held_reason=MENTION)
    OutgoingMessage.objects.create(
        kind="sign_up", recipient=EMAIL, state="sent", give_up_at=ago(0), ended_at=ago(0)
    )
    LogEntry.objects.create(user=user, action_flag=CHANGE, object_repr=EMAIL, change_message=MENTION)
    AccessAttempt.objects.create(username=EMAIL, ip_address="192.0.2.1", failures_since_start=1)
    AccessLog.objects.create(username=EMAIL, ip_address="192.0.2.1")
    for values in ({"_auth_user_id": str(user.pk)}, {"emailed": EMAIL.title()}, {"cart": {"nap": 1}}):
        session = SessionStore()
        session.update(values)
        session.save()


def stored_text() -> str:
    """All rows of all tables with all their columns, and what sessions hold, in lower case."""
    tables = [name for (name,) in fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    assert len(tables) > 40
    texts = [str(row) for table in tables for row in fetch(f"SELECT row::text FROM {table} AS row")]
    return " ".join([*texts, *(str(session.get_decoded()) for session in Session.objects.all())]).lower()


class Killed(BaseException):
    """Raised where the process dies."""


@contextmanager
def dying(*, after: int) -> Iterator[None]:
    """Lets that many statements pass; with the next one the process dies, and its transaction is rolled back."""
    passed = 0

    def pass_or_die(execute: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal passed
        passed += 1
        if passed > after:
            raise Killed
        return execute(*arguments)

    with connection.execute_wrapper(pass_or_die):
        yield


def traces() -> list[str]:
    text = stored_text().replace(OTHER, "")
    return [trace for trace in TRACES if trace in text]


def test_nothing_names_an_erased_customer_and_her_orders_keep_their_amounts() -> None:
    make_customer()
    assert traces() == list(TRACES)
    result = erase(email=EMAIL, actor=ADMIN, reason=f"{NAME} of {STREET} wrote from {EMAIL}")
    assert result.status is ResultStatus.DONE
    assert traces() == []
    assert (Order.objects.get().total, ArchivedOrder.objects.get().total) == (3_900, 3_900)
    assert [session.get_decoded() for session in Session.objects.all()] == [{"cart": {"nap": 1}}]
    entry = AuditEntry.objects.get(act="erase")
    assert (entry.actor, entry.result) == ("admin", result.message)
    assert "orders: 2, accounts: 1" in entry.result
    assert entry.after["orders"] == 2 and entry.after["accounts"] == 1
    assert erase(email=EMAIL, actor=ADMIN).status is ResultStatus.ALREADY
    assert AuditEntry.objects.filter(act="erase").count() == 1


def test_other_customers_are_left_alone() -> None:
    make_customer()
    other = finished_order(days=1, purchase={"email": OTHER})
    audit.record(actor=ADMIN, act="note", target=OTHER, reason="called Zeldana Quistgaard")
    erase(email=EMAIL, actor=ADMIN)
    assert Order.objects.get(pk=other).email == OTHER
    entry = AuditEntry.objects.get(target=OTHER)
    assert entry.reason == "called Zeldana Quistgaard"


@pytest.mark.django_db(transaction=True)
def test_an_erasure_that_is_killed_again_and_again_is_finished_by_the_jobs() -> None:
    """It dies after ever more statements, so at a different place each time. Her act is recorded once."""
    make_customer()
    deaths = 0
    with dying(after=20), pytest.raises(Killed):
        erase(email=EMAIL, actor=ADMIN)
    assert AuditEntry.objects.get(act="erase").result == "Begun (orders: 2, accounts: 1)."
    assert not User.objects.get(email=EMAIL).is_active
    while Erasure.objects.filter(finished_at=None).exists():
        Erasure.objects.update(leased_until=ago(1))  # the lease of the process that died has lapsed
        with dying(after=6 + deaths):
            try:
                continue_erasures()
            except Killed:
                deaths += 1
    assert deaths > 10
    assert traces() == []
    entry = AuditEntry.objects.get(act="erase")
    assert "was erased (orders: 2, accounts: 1" in entry.result
    assert entry.after["orders"] == 2


@pytest.mark.django_db(transaction=True)
def test_what_a_page_has_no_time_for_is_done_by_the_jobs() -> None:
    make_customer()
    result = erase(email=EMAIL, actor=ADMIN, seconds=0)
    assert "continues in the background" in result.message
    assert traces() == list(TRACES)
    jobs.continue_erasures()
    assert traces() == []
    assert AuditEntry.objects.get(act="erase").result.startswith("The customer’s data was erased")


def test_an_erasure_belongs_to_one_process_at_a_time() -> None:
    make_customer()
    erase(email=EMAIL, actor=ADMIN, seconds=0)
    (erasure,) = Erasure.objects.all()
    assert erasing_work.lease(erasure.pk)
    assert "another process" in erase(email=EMAIL, actor=ADMIN).message
    assert continue_erasures().changed == 0
    assert traces() == list(TRACES)
    erasing_work.release(erasure.pk)
    assert continue_erasures().changed == 1
    assert continue_erasures().changed == 0
    assert traces() == []


@pytest.mark.django_db(transaction=True)
def test_an_erasure_that_cannot_go_on_is_reported_and_the_others_are_finished() -> None:
    make_customer()
    finished_order(days=1, purchase={"email": "ada@customer.example"})
    for email in (EMAIL, "ada@customer.example"):
        erase(email=email, actor=ADMIN, seconds=0)
    Erasure.objects.filter(email=EMAIL).update(walked={"orders_circuit": 5})  # which is no key of that table
    jobs.continue_erasures()
    assert RetentionFailure.objects.get().part == "erasures"
    assert Erasure.objects.filter(finished_at=None).count() == 1
    Erasure.objects.filter(email=EMAIL).update(walked={}, leased_until=None)
    jobs.continue_erasures()
    assert not RetentionFailure.objects.exists()
    assert traces() == []


def test_an_order_that_finishes_during_an_erasure_is_erased_too() -> None:
    make_customer()
    erase(email=EMAIL, actor=ADMIN, seconds=0)
    finished_order(days=1, purchase={"email": EMAIL, "ship_to": SHIP_TO})
    continue_erasures()
    assert "orders: 3" in AuditEntry.objects.get(act="erase").result
    assert traces() == []


def test_a_customer_with_an_open_order_is_not_erased() -> None:
    make_customer()
    order_id = Order.objects.get().pk
    connection.cursor().execute(
        "UPDATE orders_orderprocess SET process_state = 'error' WHERE order_id = %s", [order_id]
    )
    before = stored_text()
    result = erase(email=EMAIL, actor=ADMIN)
    assert result.status is ResultStatus.REFUSED
    assert str(order_id) in result.message
    assert stored_text() == before


def test_a_dry_run_changes_nothing(capsys: Any) -> None:
    make_customer()
    before = stored_text()
    call_command("erase", EMAIL, "--dry-run")
    assert "orders: 2, accounts: 1" in capsys.readouterr().out
    assert stored_text() == before


def test_the_audit_log_is_append_only_for_everything_but_an_erasure() -> None:
    make_customer()
    call_command("erase", EMAIL, "--yes")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        AuditEntry.objects.update(reason="x")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        AuditEntry.objects.all().delete()


@pytest.mark.parametrize(
    ("client", "body"),
    [
        ("guest", {"email": EMAIL}),
        ("guest", {"workflow": "bake", "contact": {"email": EMAIL.upper()}}),
        ("user", {"workflow": "bake", "for": "somebody"}),
    ],
)
def test_an_order_that_is_still_a_submission_keeps_its_customer(client: str, body: dict[str, Any]) -> None:
    """Wherever its kind keeps the email, and if it belongs to her account."""
    user = User.objects.create(username=EMAIL, email=EMAIL)
    sender = f"user:{user.pk}" if client == "user" else client
    SubmissionMessage.objects.create(order_id=uuid7(), client=sender, body=body)
    result = erase(email=EMAIL, actor=ADMIN)
    assert result.status is ResultStatus.REFUSED
    assert User.objects.filter(pk=user.pk).exists()
