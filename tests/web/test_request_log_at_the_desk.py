"""What operators see of the log of clients' requests: the order of a request, and the requests about an order."""

import re
from typing import Any

import pytest
from rest_framework.test import APIClient

from orders.access import api_tokens
from orders.models import LoggedRequest
from orders.selectors.logged_requests import SHOWN
from orders.services.request_log import RequestLog
from tests.support.finished_orders import archive, finished_order
from tests.support.order_bodies import order_body
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.helpers import ORDERS, run_submission
from tests.web.logged_requests import line, log

__all__ = ["log"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def placed(ada: APIClient, log: RequestLog) -> dict[str, Any]:
    """An order that a request named `the-request` has placed."""
    order = ada.post(ORDERS, order_body(), headers={"X-Request-ID": "the-request"}).json()
    log.write()
    return order


@pytest.mark.parametrize("is_inserted", [True, False])
def test_an_operator_finds_an_order_by_its_request_and_the_request_on_its_page(
    placed: dict[str, Any], ada: APIClient, is_inserted: bool
) -> None:
    if is_inserted:
        run_submission()
    olga = signed_in(person("viewer", "olga"))
    page = olga.get("/console/orders/", {"q": "the-request"}, follow=True)
    assert page.redirect_chain == [(f"/console/orders/{placed['id']}/", 302)]
    assert '<code class="piece">the-request</code>' in page.text
    assert f"<code>{ada.token[: api_tokens.BEGINNING]}…</code>" in page.text
    assert "POST /api/v1/orders" in re.sub("</?span[^>]*>", "", page.text)
    nothing = olga.get("/console/orders/", {"q": "another-request"})
    assert nothing.status_code == 200


def test_an_operators_program_finds_orders_by_their_request_as_far_as_its_other_filters_match(
    placed: dict[str, Any], ada: APIClient, log: RequestLog
) -> None:
    items = [{"idempotency_key": key, "order": order_body()} for key in ("a", "b")]
    batch = ada.post(f"{ORDERS}/batch", {"orders": items}, headers={"X-Request-ID": "the-batch"}).json()
    run_submission()
    archived = finished_order(purchase={"customer": ada.user})
    archive(archived)
    log.note(line(customer_id=ada.user.pk, request_id="the-archived", order_ids=[archived]))
    log.write()
    viewer = api_client(token_of(person("viewer", "olga")))

    def matches(**query: Any) -> list[str]:
        return [row["id"] for row in viewer.get(f"{ORDERS}/search", query).json()["results"]]

    assert matches(q=" the-request ", state="pending") == [placed["id"]]
    assert matches(q="the-request", state="error") == []
    assert sorted(matches(q="the-batch")) == sorted(result["order_id"] for result in batch["results"])
    assert matches(q="the-archived") == [str(archived)]
    assert matches(q="another-request") == []
    page = viewer.get(f"{ORDERS}/search", {"q": "the-batch", "page_size": 1}).json()
    (following,) = viewer.get(page["next"]).json()["results"]
    assert {page["results"][0]["id"], following["id"]} == set(matches(q="the-batch"))


def shown_ids(order_id: str) -> list[str]:
    page = signed_in(person("viewer", "vera")).get(f"/console/orders/{order_id}/").text
    return re.findall(r'<code class="piece">(its-[a-z0-9-]+)</code>', page)


def test_an_order_page_shows_the_latest_requests_first_and_says_that_there_are_more(
    placed: dict[str, Any], ada: APIClient, log: RequestLog
) -> None:
    for number in range(SHOWN):
        log.note(line(customer_id=ada.user.pk, order_ids=[placed["id"]], request_id=f"its-{number}"))
    log.write()
    assert shown_ids(placed["id"]) == [f"its-{number}" for number in reversed(range(SHOWN))]
    page = signed_in(person("viewer", "olga")).get(f"/console/orders/{placed['id']}/").text
    assert "Only the latest are shown." in page and "the-request" not in page
    LoggedRequest.objects.filter(request_id="its-0").delete()
    page = signed_in(person("viewer", "pia")).get(f"/console/orders/{placed['id']}/").text
    assert "Only the latest are shown." not in page and "the-request" in page


@pytest.mark.parametrize("is_inserted", [True, False])
def test_requests_of_strangers_push_no_request_of_the_client_or_an_operator_out(
    placed: dict[str, Any], ada: APIClient, bob: APIClient, log: RequestLog, is_inserted: bool
) -> None:
    if is_inserted:
        run_submission()
    common = {"order_ids": [placed["id"]]}
    log.note(line(customer_id=ada.user.pk, request_id="its-own", **common))
    log.note(line(customer_id=person("operator", "olga").pk, request_id="its-operator", **common))
    for number in range(SHOWN + 1):
        log.note(line(customer_id=bob.user.pk, status=404, request_id=f"its-stranger-{number}", **common))
    log.write()
    assert shown_ids(placed["id"]) == ["its-operator", "its-own"]


def test_requests_about_an_archived_order_are_shown_and_no_strangers(
    ada: APIClient, bob: APIClient, log: RequestLog
) -> None:
    order_id = finished_order(purchase={"customer": ada.user})
    archive(order_id)
    for name, user in (("its-own", ada.user), ("its-stranger", bob.user)):
        log.note(line(customer_id=user.pk, request_id=name, order_ids=[order_id]))
    log.write()
    assert shown_ids(str(order_id)) == ["its-own"]


def test_an_id_that_the_web_made_finds_its_order(ada: APIClient, log: RequestLog) -> None:
    response = ada.post(ORDERS, order_body())
    log.write()
    found_page = signed_in(person("viewer")).get("/console/orders/", {"q": response["X-Request-ID"]})
    assert found_page["Location"] == f"/console/orders/{response.json()['id']}/"
