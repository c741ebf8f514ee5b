"""Erasing a customer: nothing that names her is left, her orders keep their amounts, and it is one audited act."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from orders.models import Address, ArchivedOrder, AuditEntry, Event, Order, OutgoingMessage, StepState
from orders.services import audit
from orders.services.act_results import ResultStatus
from orders.services.operators.erasure import erase
from tests.support.factories import ago
from tests.support.finished_orders import finished_order, retain

pytestmark = pytest.mark.django_db

EMAIL = "zelda@customer.example"
ADMIN = audit.Actor(name="admin")
SHIP_TO = {"name": "Zelda Q", "street": "Q 1", "city": "Q", "postal_code": "1", "country": "NL"}


def make_customer() -> User:
    user = User.objects.create(username=EMAIL, email=EMAIL, first_name="Zelda")
    Address.objects.create(user=user, **SHIP_TO)
    OutgoingMessage.objects.create(
        kind="sign_up", recipient=EMAIL, state="sent", give_up_at=ago(0), ended_at=ago(0)
    )
    audit.record(actor=ADMIN, act="note", target=EMAIL, after={"email": EMAIL})
    for days in (91, 1):
        order_id = finished_order(
            days=days, purchase={"customer": user, "email": EMAIL.title(), "ship_to": SHIP_TO}
        )
        StepState.objects.filter(process_id=order_id).update(request={"email": EMAIL, "name": "Zelda Q"})
        Event.objects.filter(order_id=order_id).update(detail={"email": EMAIL})
    assert retain()["finished orders"] == 1
    return user


def stored_text() -> str:
    """All rows of all our tables, and of the accounts."""
    tables = [model._meta.db_table for model in (*apps.get_app_config("orders").get_models(), User)]
    with connection.cursor() as cursor:
        texts = []
        for table in tables:
            cursor.execute(f"SELECT coalesce(string_agg(t::text, ' '), '') FROM {table} AS t")
            texts.append(cursor.fetchone()[0])
    return " ".join(texts).lower()


def test_nothing_names_an_erased_customer_and_her_orders_keep_their_amounts() -> None:
    make_customer()
    assert "zelda" in stored_text()
    result = erase(email=EMAIL, actor=ADMIN)
    assert result.status is ResultStatus.DONE
    assert "zelda" not in stored_text()
    assert (Order.objects.get().total, ArchivedOrder.objects.get().total) == (3_900, 3_900)
    entry = AuditEntry.objects.get(act="erase")
    assert (entry.actor, entry.result) == ("admin", result.message)
    assert erase(email=EMAIL, actor=ADMIN).status is ResultStatus.ALREADY


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
