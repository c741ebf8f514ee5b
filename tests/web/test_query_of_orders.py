"""What each field of the query language finds, stored and archived."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from orders.console.forms.filters import OrderFilterForm
from orders.models import (
    AlertGroup,
    AuditEntry,
    BulkAction,
    CustomerTerm,
    Order,
    OrderLine,
    OrderProcess,
    StepState,
    WorkflowDefinition,
)
from orders.selectors.desk import archive_search, order_search, search
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.supervisor import retry_limits
from orders.services.audit import Actor
from orders.services.customer_terms import email_terms, learn_customers, name_terms
from orders.services.operators import erasure
from tests.support.factories import ago, ahead
from tests.support.finished_orders import finished_order, retain
from tests.web.conftest import Desk, person
from tests.web.console_orders import an_order, in_error

pytestmark = pytest.mark.django_db


def found(query: str, *, limit: int = 50) -> set[UUID]:
    """The orders on the first page of a query's list, which must be what its count and its export say."""
    order_filter = OrderFilterForm({"q": query}).filter
    at, limits = ahead(0), retry_limits()
    page = archive_search.page(
        order_filter, after=None, archived_after=None, limit=limit, retry_limits=limits, now=at
    )
    ids = {row.order_id for row in page.orders}
    exported = {
        row.order_id for row in archive_search.rows(order_filter, most=limit, retry_limits=limits, now=at)
    }
    assert exported == ids
    assert search.count(order_filter, now=at) in (
        None,
        len([row for row in page.orders if not row.is_archived]),
    )
    return ids


def described(order: OrderProcess, *skus: str, **values: Any) -> None:
    """Gives the order these values, and lines of these SKUs."""
    Order.objects.update_or_create(pk=order.pk, defaults={"placed_at": order.created_at, **values})
    for sku in skus:
        OrderLine.objects.create(order_id=order.pk, sku=sku, title=sku, quantity=1, unit_price=1)


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


def test_a_query_that_cannot_be_read_matches_nothing_exports_nothing_and_acts_on_nothing(desk: Desk) -> None:
    in_error()
    client = desk("operator")
    for query in ("colour:red", "state:eror", 'state:error "x'):
        page = client.get("/console/orders/", {"q": query})
        assert page.status_code == 200 and not page.context["orders"]
        assert page.context["form"].errors["q"]
        assert client.get("/console/orders.csv", {"q": query}).status_code == 400
        values = {
            "q": query,
            "do": "resubmit",
            "reason": "r",
            "waves": "0",
            "rate": "20",
            "stop_percent": "20",
        }
        assert client.post("/console/bulk/create/", {**values, "typed": "1", "seen": "1"}).status_code == 422
    assert not BulkAction.objects.exists()
    assert not AuditEntry.objects.filter(act="export").exists()


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


def test_the_drop_down_lists_write_into_the_query_and_old_urls_show_it(desk: Desk) -> None:
    failed = in_error()
    client = desk("viewer")
    written = client.get(
        "/console/orders/",
        {"q": "-agent:mail", "state": "error", "kind": "", "code": "no_route", "into": "query"},
    )
    assert written.status_code == 302
    assert written.headers["Location"] == "/console/orders/?q=state%3Aerror+error%3Ano_route+-agent%3Amail"
    for page in (
        client.get(written.headers["Location"]),
        client.get("/console/orders/?state=error&code=no_route"),
    ):
        assert [row.order_id for row in page.context["orders"]] == [failed.pk]
        assert 'value="state:error error:no_route' in page.content.decode()
        assert '<option value="error" selected>' in page.content.decode()


def test_the_folded_filters_write_customer_total_and_day_into_the_query_and_show_them(desk: Desk) -> None:
    client = desk("viewer")
    sent = {"q": "-agent:mail", "state": "error", "customer": "Ada L", "total": ">30", "since": "2h"}
    written = client.get("/console/orders/", {**sent, "until": "today", "into": "query"})
    query = 'state:error -agent:mail customer:"Ada L" total:>30 since:2h until:today'
    assert parse_qs(written.headers["Location"].partition("?")[2]) == {"q": [query]}
    page = client.get(written.headers["Location"])
    assert page.context["rest"] == "-agent:mail"
    assert {
        name: page.context["panel"][name].value() for name in ("customer", "total", "since", "until")
    } == {**{"customer": "Ada L", "total": ">30", "since": "2h", "until": "today"}}
    assert client.get("/console/orders/?customer=ada").headers["Location"].endswith("?q=customer%3Aada")


def test_a_filter_that_cannot_be_read_says_so_beside_its_field_and_nothing_is_searched(desk: Desk) -> None:
    in_error()
    page = desk("viewer").get("/console/orders/?q=state:error&total=much&into=query")
    assert page.context["panel"].errors["total"][0].startswith("Enter an amount, as in 39.00")
    assert (list(page.context["orders"]), page.context["rest"]) == ([], "state:error")
    assert '<details class="query__fields" open>' in page.content.decode()


def test_what_the_folded_filters_cannot_show_stays_in_the_query(desk: Desk) -> None:
    page = desk("viewer").get("/console/orders/", {"q": "state:error,pending priority:>5 agent:mail"})
    assert page.context["rest"] == "state:error,pending priority:>5"


def test_the_word_of_the_pages_finds_the_same_as_the_name_of_the_api(desk: Desk) -> None:
    order = an_order({}, process_state="compensated", goal="compensate", finished_at=ago(1))
    client = desk("operator")
    client.post("/console/orders/views/save/", {"name": "gone", "query": "state:compensated"})
    for word in ("cancelled", "compensated"):
        page = client.get(f"/console/orders/?q=state:{word}")
        assert [row.order_id for row in page.context["orders"]] == [order.pk]
        assert 'value="state:cancelled"' in page.content.decode()
        assert page.context["written"] == ["state:compensated"]
        assert str(order.pk) in client.get(f"/console/orders.csv?q=state:{word}").getvalue().decode()


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("waiting:carier", "no agent is called “carier”. Did you mean waiting:carrier?"),
        (
            "waiting:yes",
            "no agent is called “yes”. Choose from anything, carrier, mail, payments, warehouse.",
        ),
        ("-agent:mial", "no agent is called “mial”. Did you mean agent:mail?"),
        ("step:create-shipmnt", "Did you mean step:create-shipment?"),
        ("workflow:fulfill-order", "Did you mean workflow:fulfil-order?"),
        ("error:no_rute", "no alert has had the code “no_rute”. Did you mean error:no_route?"),
        ("owner:olgo", "no operator is called “olgo”. Did you mean owner:olga?"),
        ("owner:ada", "no operator is called “ada”."),
        ("acknowledged:olgo", "Did you mean acknowledged:olga?"),
        (
            "sku:tidl-lines",
            "no order and no product has the SKU “tidl-lines”. Did you mean sku:tidal-lines-a2?",
        ),
        ("state:eror", "Did you mean state:error? Choose from pending, processing"),
        ("standing:retriyng", "Did you mean standing:retrying?"),
        ("waitng:carrier", "There is no field “waitng”. Did you mean waiting? Choose from"),
        ("state:error OR state:pending", "has no “OR”. Separate alternatives of one field with commas"),
    ],
)
def test_a_name_that_nothing_has_is_an_error_with_the_nearest_one(query: str, says: str) -> None:
    person("operator", "olga")
    User.objects.create(username="ada")
    described(in_error(), "tidal-lines-a2")
    errors = OrderFilterForm({"q": query}).errors
    assert says in errors["q"][0]


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


def test_a_page_of_an_unreadable_query_says_that_nothing_was_searched(desk: Desk) -> None:
    in_error()
    for query in ({"q": "waiting:carier"}, {"agent": "carier"}, {"q": "colour:red"}):
        page = desk("viewer").get("/console/orders/", query).content.decode()
        assert "Nothing was searched" in page and "cannot be read" in page
        counted = page[page.index('id="found"') :]
        assert "all orders" not in counted and "0 orders" not in counted
    assert (
        "Did you mean agent:carrier?" in desk("viewer").get("/console/orders/?agent=carier").content.decode()
    )


def test_the_bar_completes_fields_and_the_values_that_are_known(desk: Desk) -> None:
    in_error()
    page = desk("viewer").get("/console/orders/").content.decode()
    offered = re.findall(r'<option value="([^"]+:[^"]*)"', page)
    assert {
        "state:error",
        "paused:yes",
        "step:create-shipment",
        "waiting:anything",
        "customer:",
        "sku:",
    } <= set(offered)
    for condition in offered:
        if not condition.endswith(":"):
            found(condition)
