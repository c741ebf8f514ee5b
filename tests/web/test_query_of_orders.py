"""What each field of the query language finds, stored and archived."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from uuid_utils.compat import uuid7

from orders.console.forms.filters import OrderFilterForm
from orders.fields.order_numbers import spoken_number
from orders.models import (
    AlertGroup,
    BulkAction,
    CustomerTerm,
    Order,
    OrderProcess,
    StepState,
    WorkflowDefinition,
)
from orders.selectors.desk import order_search, search
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.supervisor import retry_limits
from orders.services.audit import Actor
from orders.services.customer_terms import email_terms, learn_customers, name_terms
from orders.services.operators import erasure
from tests.support.factories import ago, ahead, register
from tests.support.finished_orders import finished_order, retain
from tests.web.conftest import Desk, person
from tests.web.console_orders import an_order, in_error
from tests.web.queried_orders import described, found

pytestmark = pytest.mark.django_db


def test_orders_over_200_euros_of_a_customer_with_a_sku_that_wait_for_the_carrier_since_yesterday() -> None:
    """The one order that is all of this, among others that each lack one thing."""
    waits = {"create-shipment": {"waiting_since": ago(30)}}
    customers = [User.objects.create(username=name) for name in ("c14", "c141")]
    whole: dict[str, Any] = {"customer": customers[0], "total": 30_000, "currency": "EUR"}

    def order(steps: Any = waits, *, days: float = 0.01, sku: str = "tidal-lines-a2", **values: Any) -> UUID:
        process = an_order(steps, process_state="pending", created_at=ago(days * 86_400))
        described(process, sku, **{**whole, **values})
        return process.pk

    match = order()
    for other in (
        {"steps": {"authorise-payment": {"waiting_since": ago(30)}}},
        {"days": 3},
        {"sku": "first-sun-a2"},
        {"customer": customers[1]},
        {"total": 20_000},
        {"currency": "USD"},
    ):
        order(**other)
    assert found("customer:c14 total:>200EUR sku:tidal waiting:carrier since:yesterday") == {match}


def test_each_field_finds_its_orders_and_negated_all_others() -> None:
    failed = in_error()
    old = an_order({}, process_state="processed", created_at=ago(3 * 86_400), finished_at=ago(86_400))
    new = an_order({"authorise-payment": "running"}, process_state="processing")
    ada = User.objects.create(username="ada")
    described(failed, subject="sample-12", total=100, currency="EUR", email="bob@shop.example")
    described(old, "tidal-lines-a2", total=5_000, currency="EUR", promised_by=ago(2 * 86_400), customer=ada)
    described(
        new, reference="PO 7", total=20_001, currency="EUR", attributes=["method=xrd"], email="Eve@b.example"
    )
    OrderProcess.objects.filter(pk=new.pk).update(priority=8, paused_at=ago(60))
    OrderProcess.objects.filter(pk=old.pk).update(failure_count=3)
    StepState.objects.filter(process=old, name="reserve-stock").update(attempt=4)
    everything = {failed.pk, old.pk, new.pk}
    register(*everything)
    expected: dict[str, set[UUID]] = {
        "state:error,processed": {failed.pk, old.pk},
        "state:error": {failed.pk},
        "standing:running": {new.pk},
        "standing:processed": {old.pk},
        "standing:error,running": {failed.pk, new.pk},
        "step:create-shipment": {failed.pk},
        "agent:payments,carrier": {failed.pk, new.pk},
        "error:no_route": {failed.pk},
        "workflow:fulfil-order state:processed": {old.pk},
        "failures:>2": {old.pk},
        "attempts:4": {old.pk},
        "promise:late": {old.pk},
        "age:>2d": {old.pk},
        "until:yesterday": {old.pk},
        "since:yesterday": {failed.pk, new.pk},
        "account:ada": {old.pk},
        "customer:EVE@b.example": {new.pk},
        "email:bob@shop.example": {failed.pk},
        "total:>200": {new.pk},
        "total:1..50": {failed.pk, old.pk},
        "total:<=1.00EUR": {failed.pk},
        "total:>0USD": set(),
        "sku:tidal": {old.pk},
        "subject:sample-12": {failed.pk},
        'reference:"PO 7"': {new.pk},
        "attribute:method=xrd": {new.pk},
        f"id:{old.pk.hex[-8:]}": {old.pk},
        f"number:{spoken_number(old.pk).lower()}": {old.pk},
        f"number:{spoken_number(uuid7())}": set(),
        "paused:yes": {new.pk},
        "archived:no": everything,
    }
    for query, orders in expected.items():
        assert found(query) == orders, query
        if query.count(":") == 1:
            assert found(f"-{query}") == everything - orders, query
    assert found("priority:>7") == {new.pk}
    assert found(f"{new.pk} -state:processing") == set()
    assert found("method=xrd total:>100") == {new.pk}


def test_a_bulk_action_takes_what_the_query_finds(desk: Desk) -> None:
    match, other = in_error(), in_error()
    described(match, total=30_000, currency="EUR")
    described(other, total=10_000, currency="EUR")
    client, query = desk("operator"), "state:error total:>200"
    assert client.get("/console/bulk/new/", {"q": query}).context["count"] == 1
    values = {"q": query, "do": "resubmit", "reason": "r", "waves": "0", "rate": "20", "stop_percent": "20"}
    assert client.post("/console/bulk/create/", {**values, "typed": "1", "seen": "1"}).status_code == 302
    action = BulkAction.objects.get()
    assert action.query["q"] == query
    assert [item.order_id for item in action.items.all()] == [match.pk]


@pytest.mark.parametrize("most_found", [4_000, 0])
def test_the_same_is_found_whether_an_index_finds_few_orders_or_many(
    most_found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_search, "MOST_FOUND", most_found)
    orders = [an_order({}, process_state="processed", finished_at=ago(1)).pk for _ in range(4)]
    Order.objects.filter(pk__in=orders[:3]).update(email="ada@shop.example")
    Order.objects.filter(pk__in=orders[1:]).update(total=777)
    assert found("ada@shop.example") == found("email:ada@shop.example") == set(orders[:3])
    assert found("email:ada@shop.example total:7.77") == set(orders[1:3])
    assert found("ada@shop.example -total:7.77") == {orders[0]}


def test_a_page_that_has_looked_at_enough_orders_leads_on_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(order_search, "MOST_FOUND", 0)
    monkeypatch.setattr(order_search, "MOST_LOOKED_AT", 3)
    orders = [
        an_order({}, process_state="processed", finished_at=ago(1), created_at=ago(100 - number)).pk
        for number in range(10)
    ]
    Order.objects.filter(pk__in=(orders[0], orders[9])).update(total=777)
    seen, after, pages = [], None, 0
    while pages == 0 or after is not None:
        page = search.page(
            OrderFilter(q="total:7.77"), after=after, limit=50, retry_limits=retry_limits(), now=ahead(0)
        )
        seen += [row.order_id for row in page.orders]
        after, pages = page.after, pages + 1
    assert seen == [orders[9], orders[0]]
    assert 2 < pages < 6
    every = search.matching(OrderFilter(q="total:7.77"), most=9, retry_limits=retry_limits(), now=ahead(0))
    assert list(every) == seen


def test_terms_begin_at_each_word() -> None:
    assert set(email_terms("Ada.Love@mail.Example")) == {
        "ada.love@mail.example", "love@mail.example", "@mail.example", "mail.example", "example"
    }  # fmt: skip
    assert name_terms(" Ada  O'Neil ") == ["ada o'neil", "o'neil", "neil"]


@pytest.mark.parametrize("days", [1, 100], ids=["stored", "archived"])
def test_customers_are_found_by_parts_of_their_emails_and_names_until_they_are_erased(days: int) -> None:
    person = {"ship_to": {"name": "Ada Lovelace", "street": "1 Long Street"}}
    order_id = finished_order(days=days, purchase={"email": "Ada.Love@mail.example", "data": person})
    other = finished_order(
        days=days, purchase={"email": "bob@other.example", "data": person | {"ship_to": None}}
    )
    if days == 1:
        assert learn_customers().changed == 2
        retain()
    else:
        retain()
        assert learn_customers().changed >= 2
    learned = set(CustomerTerm.objects.values_list("email", "term", "is_name"))
    learn_customers()
    assert set(CustomerTerm.objects.values_list("email", "term", "is_name")) == learned
    for query in (
        "email:love",
        "email:@mail.example",
        "email:ADA.L",
        "customer:lovel",
        'customer:"ada love"',
        "lovelace",
        "love@mail",
    ):
        assert found(query) == {order_id}, query
    for query in ("email:ove", "customer:ove", "customer:mail"):
        assert found(query) == set(), query
    assert found("email:example") == {order_id, other}
    result = erasure.erase(email="ada.love@mail.example", actor=Actor(name="olga"))
    assert "erased" in result.message
    assert set(CustomerTerm.objects.values_list("email", flat=True)) == {"bob@other.example"}
    assert found("lovelace") == found("email:love") == set()
    OrderProcess.objects.update(created_at=ago(1))
    learn_customers()
    assert set(CustomerTerm.objects.values_list("email", flat=True)) == {"bob@other.example"}


def test_orders_of_one_moment_are_all_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orders.services.customer_terms.BATCH", 2)
    at = ago(60)
    for number in range(5):
        order = an_order({}, process_state="processed", finished_at=ago(1), created_at=at)
        Order.objects.filter(pk=order.pk).update(email=f"c{number}@shop.example")
    later = an_order({}, process_state="processed", finished_at=ago(1), created_at=at + timedelta(seconds=1))
    Order.objects.filter(pk=later.pk).update(email="later@shop.example")
    learn_customers()
    assert CustomerTerm.objects.filter(term="@shop.example").count() == 6


def test_what_is_known_in_any_of_its_places_is_no_error() -> None:
    """A step of an earlier version, an agent that is gone, an alert of long ago, and an operator who has left."""
    olga = person("operator", "olga")
    olga.is_active = False
    olga.save()
    AlertGroup.objects.create(kind="step_failed", code="gone", pattern="x", acknowledged_by="root@host")
    WorkflowDefinition.objects.create(
        name="old-kind", version=1, fingerprint="f", definition={"old-step": {"agent": "old-agent"}}
    )
    order = an_order({}, process_state="processed", finished_at=ago(1))
    StepState.objects.filter(process=order, name="create-shipment").update(name="stir:2", agent="stirrer")
    queries = (
        *("error:gone", "error:timed_out", "owner:olga", "acknowledged:olga,root@host", "step:old-step"),
        *("agent:old-agent", "workflow:old-kind", "waiting:anything", "step:stir:2", "agent:stirrer"),
    )
    for query in queries:
        assert OrderFilterForm({"q": query}).errors == {}, query


def test_the_owner_is_who_has_the_cause_and_acknowledged_is_another_field() -> None:
    olga = person("operator", "olga")
    person("operator", "otto")
    failed = in_error()
    AlertGroup.objects.update(owner=olga, acknowledged_by="otto", acknowledged_at=ago(0))
    assert found("owner:olga") == found("acknowledged:otto") == {failed.pk}
    assert found("owner:otto") == found("acknowledged:olga") == set()
    AlertGroup.objects.update(acknowledged_at=ago(9_000))  # of an earlier time that the cause was open
    assert found("acknowledged:otto") == set()
    assert found("-acknowledged:otto") == {failed.pk}
