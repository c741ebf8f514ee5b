"""An archived order is still found: by its customer, over the API, and in the console. Nobody can change it."""

from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from orders.models import ArchivedOrder
from tests.support.finished_orders import finished_order, retain
from tests.web.conftest import Desk

pytestmark = pytest.mark.django_db


def archive(order_id: UUID) -> None:
    assert retain()["finished orders"] == 1
    assert ArchivedOrder.objects.get().order_id == order_id


def test_the_api_answers_for_an_archived_order_as_before(ada: APIClient, bob: APIClient) -> None:
    order_id = finished_order(purchase={"customer": ada.user})
    url = f"/api/v1/orders/{order_id}"
    before, events, page = ada.get(url), ada.get(f"{url}/events"), ada.get("/api/v1/orders")
    archive(order_id)
    after = ada.get(url)
    assert (after.status_code, after.json(), after["ETag"]) == (200, before.json(), before["ETag"])
    assert ada.get(f"{url}/events").json() == events.json()
    assert ada.get("/api/v1/orders").json() == page.json()
    assert len(page.json()["results"]) == 1
    assert ada.get(url, HTTP_IF_NONE_MATCH=before["ETag"], HTTP_PREFER="wait=0").status_code == 304
    assert bob.get(url).status_code == 404


def test_an_archived_order_cannot_be_cancelled(ada: APIClient) -> None:
    order_id = finished_order(purchase={"customer": ada.user})
    archive(order_id)
    answer = ada.post(f"/api/v1/orders/{order_id}/cancel")
    assert answer.status_code == 409
    assert "moment" not in answer.content.decode()


def test_cancelling_an_archived_order_that_was_cancelled_has_no_further_effect(ada: APIClient) -> None:
    order_id = finished_order(state="compensated", purchase={"customer": ada.user})
    archive(order_id)
    answer = ada.post(f"/api/v1/orders/{order_id}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (202, "compensated")


def test_the_customers_page_of_an_archived_order_is_the_same_as_before(ada: Any) -> None:
    order_id = finished_order(purchase={"customer": ada.user})
    browser = Client()
    browser.force_login(ada.user)
    url = f"/orders/{order_id}/"
    assert browser.get(url).status_code == 200
    archive(order_id)
    page = browser.get(url)
    assert page.status_code == 200
    assert "Tide" in page.content.decode()


def test_the_console_shows_and_finds_an_archived_order(desk: Desk) -> None:
    order_id = finished_order(purchase={"email": "Ada@example.org"})
    archive(order_id)
    client = desk("admin")
    page = client.get(f"/console/orders/{order_id}/").content.decode()
    assert "Archived" in page
    assert "Ada@example.org" in page
    assert "/compensate/" not in page
    for query in ("ada@example.org", str(order_id), order_id.hex[-8:]):
        assert str(order_id) in client.get("/console/orders/", {"q": query}).content.decode()
    assert str(order_id) not in client.get("/console/orders/", {"q": "bob@example.org"}).content.decode()
    assert client.post(f"/console/orders/{order_id}/resubmit/").status_code == 404


def test_a_page_reads_an_archived_order_once(desk: Desk, ada: Any) -> None:
    order_id = finished_order(purchase={"customer": ada.user})
    archive(order_id)
    browser = Client()
    browser.force_login(ada.user)
    pages = (
        (desk("admin"), f"/console/orders/{order_id}/"),
        (desk("admin"), f"/console/orders/{order_id}/erase/"),
        (browser, f"/orders/{order_id}/"),
        (ada, f"/api/v1/orders/{order_id}"),
        (ada, f"/api/v1/orders/{order_id}/events"),
    )
    read = {}
    for client, url in pages:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(url).status_code == 200
        read[url] = sum('"orders_archivedorder"."document"' in query["sql"] for query in queries)
    assert read == dict.fromkeys(read, 1)
