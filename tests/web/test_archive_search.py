"""The console's list of orders with the archive behind it: one search finds both, no action takes an archived one."""

import csv
import io
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from orders.console.forms.filters import OrderFilterForm
from orders.models import ArchivedOrder, BulkItem, Order, OrderLine, OrderProcess
from orders.selectors.desk import archive_search, search
from orders.selectors.desk.archive_search import NEWEST
from orders.selectors.desk.supervisor import retry_limits
from orders.selectors.paging import read_position
from orders.shop.models import Product
from tests.support.factories import ahead
from tests.support.finished_orders import finished_order, retain
from tests.web.conftest import Desk
from tests.web.console_orders import in_error

pytestmark = pytest.mark.django_db


def ids_of_list(*, limit: int = 50, **query: str) -> list[UUID]:
    """The orders of all pages of a search, one page after the other."""
    ids: list[UUID] = []
    after, archived_after = None, None
    while True:
        page = archive_search.page(
            OrderFilterForm(query).filter,
            after=after,
            archived_after=archived_after,
            limit=limit,
            retry_limits=retry_limits(),
            now=ahead(0),
        )
        assert len(page.orders) <= limit
        ids += [row.order_id for row in page.orders]
        if (page.after, page.archived_after) == (None, None):
            return ids
        after = page.after
        archived_after = page.archived_after and read_position(str(page.archived_after))


def an_order(*, days: float, sku: str = "", **purchase: Any) -> UUID:
    """A finished order; with `sku`, of that product, whose title is the SKU in words."""
    order_id = finished_order(days=days, state=purchase.pop("state", "processed"), purchase=purchase)
    if sku:
        product = Product.objects.create(
            sku=sku, title=sku.replace("-", " ").title(), artist="Ada", price=100
        )
        OrderLine.objects.create(
            order_id=order_id, sku=product.pk, title=product.title, quantity=1, unit_price=100
        )
    return order_id


@pytest.mark.parametrize("days", [200, 1], ids=["archived", "stored"])
def test_an_order_is_found_by_the_same_words_whether_it_is_archived_or_not(days: float) -> None:
    ada = User.objects.create(username="ada")
    order_id = an_order(days=days, sku="night-train-a2", total=12_345, customer=ada, email="Ada@example.org")
    refunded = an_order(days=days + 10, state="compensated")
    retain()
    assert ArchivedOrder.objects.count() == (2 if days == 200 else 0)
    finding: list[Mapping[str, str]] = [
        {"q": str(order_id)},
        {"q": order_id.hex[-8:]},
        {"q": "ada@example.ORG"},
        {"q": "night-train-a2"},
        {"q": "NIGHT-TRAIN-A2"},
        {"q": "ght trai"},
        {"q": "ada"},
        {"q": "Ada"},
        {"q": "123.45"},
        {"q": "€123,45"},
        {"q": "EUR 123.45"},
        {"q": "ada", "state": "processed"},
        {"state": "processed"},
        {"kind": "processed"},
    ]
    for query in finding:
        assert ids_of_list(**query) == [order_id], query
        assert matches(query) == 1, query
    missing: list[Mapping[str, str]] = [
        {"q": "night-train-a3"},
        {"q": "adam"},
        {"q": "123.46"},
        {"q": "ada", "state": "compensated"},
        {"q": "ada", "state": "error"},
        {"q": "ada", "kind": "running"},
        {"q": "ada", "priority": "9"},
        {"q": "ada", "step": "mix"},
        {"q": "ada", "code": "no"},
        {"q": "ada", "waiting": "1"},
        {"q": "a"},
    ]
    for query in missing:
        assert ids_of_list(**query) == [], query
        assert matches(query) == 0, query
    assert ids_of_list(state="compensated") == ids_of_list(kind="compensated") == [refunded]
    assert set(ids_of_list()) == {order_id, refunded}
    if days == 200:  # an order of a test has a new id, however old it is
        assert ids_of_list(older="199d") == [order_id, refunded]
        assert ids_of_list(older="205d") == [refunded]
        assert ids_of_list(older="900d") == []


def matches(query: Mapping[str, str]) -> int:
    order_filter = OrderFilterForm(query).filter
    stored = search.count(order_filter, now=ahead(0)) or 0
    return stored + archive_search.count(order_filter, most=10, now=ahead(0))


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7])
def test_pages_of_stored_and_archived_orders_follow_one_another_without_gap_or_overlap(limit: int) -> None:
    archived = [
        an_order(days=days, state=state)
        for days, state in ((100, "processed"), (99, "compensated"), (98, "processed"))
    ]
    retain()
    ArchivedOrder.objects.filter(pk__in=archived[:2]).update(  # placed in the same moment
        placed_at=ArchivedOrder.objects.get(pk=archived[1]).placed_at
    )
    archived = [archived[2], *sorted(archived[:2], reverse=True)]
    stored = sorted([an_order(days=days) for days in (3, 2, 1)], reverse=True)
    assert ids_of_list(limit=limit) == [*stored, *archived]
    assert ids_of_list(limit=limit, state="processed", q="tide")[:3] == stored


@pytest.mark.parametrize(
    "text", ["", "x", "_", f"2026-01-01_{UUID(int=1)}", "2026-01-01T00:00:00Z_x", f"soon_{UUID(int=1)}"]
)
def test_a_position_that_cannot_be_read_is_none(desk: Desk, text: str) -> None:
    assert read_position(text) is None
    assert desk("viewer").get("/console/orders/", {"archived": text}).status_code == 200


def test_a_position_is_read_as_it_was_written() -> None:
    assert read_position(str(NEWEST)) == NEWEST


def test_the_page_says_what_is_archived_and_does_not_let_it_be_selected(desk: Desk) -> None:
    archived = an_order(days=100, email="ada@example.org")
    retain()
    stored = an_order(days=1, email="ada@example.org")
    page = desk("operator").get("/console/orders/", {"q": "ada@example.org"}).content.decode()
    assert f'value="{stored}"' in page
    assert f'value="{archived}"' not in page
    assert f"/console/orders/{archived}/" in page
    text = " ".join(page.split())
    assert "1 order and 1 archived order worth €" in text
    assert "Act on the matching order" in text
    Order.objects.filter(pk=stored).update(email="bob@example.org")
    page = desk("operator").get("/console/orders/", {"q": "ada@example.org"}).content.decode()
    assert "Act on" not in page


def test_the_export_has_the_archived_orders_last_and_is_bounded(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    archived = [an_order(days=days) for days in (100, 101, 102)]
    retain()
    stored = an_order(days=1)

    def exported() -> list[tuple[str, str]]:
        answer = desk("viewer").get("/console/orders.csv?q=tide")
        text = b"".join(answer.streaming_content).decode().removeprefix("\ufeff")
        return [(row["order"], row["archived"]) for row in csv.DictReader(io.StringIO(text))]

    monkeypatch.setattr(archive_search, "CHUNK", 2)
    assert exported() == [(str(stored), "no"), *((str(order_id), "yes") for order_id in archived)]
    monkeypatch.setattr("orders.console.order_views.MOST_EXPORTED", 2)
    assert exported() == [(str(stored), "no"), (str(archived[0]), "yes")]


@pytest.mark.parametrize("do", ["resubmit", "compensate"])
def test_a_bulk_action_leaves_archived_orders_out_and_says_so(desk: Desk, do: str) -> None:
    archived = [an_order(days=days, email="ada@example.org") for days in (100, 101)]
    retain()
    failed = in_error()
    Order.objects.filter(pk=failed.pk).update(email="ada@example.org")
    client = desk("operator")
    for selection in ({"q": "ada@example.org"}, {"orders": [failed.pk, *archived]}):
        query = {**selection, "do": do}
        page = " ".join(client.get("/console/bulk/new/", query).content.decode().split())
        assert "This leaves out 2 archived orders." in page
        client.post("/console/bulk/create/", {**query, "reason": "r", "waves": "0", "rate": "20",
                                              "stop_percent": "20", "typed": "1", "seen": "1"})  # fmt: skip
    assert set(BulkItem.objects.values_list("order_id", flat=True)) == {failed.pk}
    page = client.get("/console/bulk/new/", {"orders": archived, "do": do}).content.decode()
    assert "This leaves out 2 archived orders." in page
    assert OrderProcess.objects.count() == 1
