"""The log of clients' requests: what is in it, who sees it, and what never gets there."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.serializers import serialize
from django.db import DataError, connection, transaction
from rest_framework.test import APIClient

from orders.access import api_tokens, api_versions
from orders.engine.runtime.sql import DATABASE_TROUBLE
from orders.models import ApiToken, LoggedRequest
from orders.services.request_log import RequestLog
from orders.vocabulary import TokenScope
from tests.support.order_bodies import order_body
from tests.support.people import api_client, token_of
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.helpers import ORDERS, assert_problem, mistakes, place
from tests.web.logged_requests import line, log
from tests.web.places import UNKNOWN
from tests.web.server import Server

__all__ = ["log"]
pytestmark = pytest.mark.django_db

REQUESTS = "/api/v1/requests"


def listed(client: APIClient, **query: Any) -> list[dict[str, Any]]:
    response = client.get(REQUESTS, query)
    assert response.status_code == 200, response.content
    results: list[dict[str, Any]] = response.json()["results"]
    return results


def test_acts_and_refusals_are_logged_and_reads_are_not(ada: APIClient, log: RequestLog) -> None:
    order = place(ada)
    assert ada.get(ORDERS).status_code == 200
    refused = ada.get(f"{ORDERS}/{UNKNOWN}")
    ada.post(f"{ORDERS}/{order['id']}/cancel")
    assert log.write() == 3
    cancelled, missing, placed = listed(ada)
    assert (cancelled["path"], cancelled["order_ids"]) == (f"{ORDERS}/{order['id']}/cancel", [order["id"]])
    assert (missing["method"], missing["status"], missing["code"]) == ("GET", 404, "not_found")
    assert missing["request_id"] == refused["X-Request-ID"]
    assert (placed["method"], placed["path"], placed["status"], placed["code"]) == ("POST", ORDERS, 202, None)
    assert placed["order_ids"] == [order["id"]]
    assert placed["token"] == ada.token[: api_tokens.BEGINNING]
    assert 0 <= placed["seconds"] < 60


def test_a_request_is_found_by_the_id_that_its_answer_has(ada: APIClient, log: RequestLog) -> None:
    refused = ada.post(ORDERS, {})
    log.write()
    request_id = refused.json()["request_id"]
    assert request_id == refused["X-Request-ID"]
    entry = ada.get(f"{REQUESTS}/{request_id}").json()
    assert (entry["request_id"], entry["status"], entry["code"]) == (request_id, 400, "validation_failed")
    for unknown in ("nothing-like-it", "x", "é" * 300):
        assert_problem(ada.get(f"{REQUESTS}/{unknown}"), "not_found")


def test_of_requests_that_a_client_has_given_one_id_the_newest_is_found_and_all_are_listed(
    ada: APIClient, bob: APIClient, log: RequestLog
) -> None:
    first, last = (
        ada.post(ORDERS, order_body(), headers={"X-Request-ID": "my-request", "Idempotency-Key": key}).json()
        for key in ("a", "b")
    )
    bob.post(ORDERS, order_body(), headers={"X-Request-ID": "my-request"})
    place(ada)
    log.write()
    assert ada.get(f"{REQUESTS}/my-request").json()["order_ids"] == [last["id"]]
    same = listed(ada, request_id="my-request")
    assert [entry["order_ids"] for entry in same] == [[last["id"]], [first["id"]]]
    assert listed(ada, request_id="another-one") == []


@pytest.mark.parametrize("wrong", ["", "short", "x" * 65, "my request"])
def test_what_can_be_no_requests_id_is_refused_as_a_filter(ada: APIClient, wrong: str) -> None:
    assert mistakes(ada.get(REQUESTS, {"request_id": wrong})) == ["request_id"]


def test_a_client_sees_no_request_of_another(ada: APIClient, bob: APIClient, log: RequestLog) -> None:
    order = place(ada)
    stolen = bob.get(f"{ORDERS}/{order['id']}")
    log.write()
    (own,) = listed(bob)
    assert own["request_id"] == stolen["X-Request-ID"]
    (hers,) = listed(ada, order_id=order["id"])
    assert_problem(bob.get(f"{REQUESTS}/{hers['request_id']}"), "not_found")


def test_an_expired_token_is_logged_and_an_unknown_one_is_nobodys(ada: APIClient, log: RequestLog) -> None:
    ApiToken.objects.update(created_at="2020-01-01T00:00Z", expires_at="2020-02-01T00:00Z")
    assert_problem(ada.get(ORDERS), "token_expired")
    assert_problem(api_client("sas_" + "x" * 43).get(ORDERS), "invalid_token")
    assert_problem(APIClient().get(ORDERS), "not_authenticated")
    log.write()
    (entry,) = listed(api_client(token_of(ada.user)))
    assert (entry["code"], entry["token"]) == ("token_expired", ada.token[: api_tokens.BEGINNING])


def test_a_batch_is_logged_with_all_that_it_placed(ada: APIClient, log: RequestLog) -> None:
    items = [
        {"idempotency_key": "a", "order": order_body()},
        {"idempotency_key": "b", "order": {}},
        {"idempotency_key": "c", "order": order_body()},
    ]
    results = ada.post(f"{ORDERS}/batch", {"orders": items}).json()["results"]
    log.write()
    (entry,) = listed(ada)
    assert entry["order_ids"] == [results[0]["order_id"], results[2]["order_id"]]
    assert [each["order_ids"] for each in listed(ada, order_id=results[2]["order_id"])] == [
        entry["order_ids"]
    ]


def test_a_batch_is_logged_with_the_orders_for_which_parts_of_it_were_refused(
    ada: APIClient, log: RequestLog
) -> None:
    by_key = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "used"}).json()["id"]
    by_reference = place(ada, reference="P-7")["id"]
    items = [
        {"idempotency_key": "used", "order": order_body(subject="another")},
        {"idempotency_key": "a", "order": order_body(reference="P-7")},
        {"idempotency_key": "b", "order": order_body()},
        {"idempotency_key": "used", "order": order_body(subject="a third")},
    ]
    results = ada.post(f"{ORDERS}/batch", {"orders": items}).json()["results"]
    assert [result["status"] for result in results] == [422, 409, 202, 422]
    log.write()
    assert listed(ada)[0]["order_ids"] == [by_key, by_reference, results[2]["order_id"]]
    assert len(listed(ada, order_id=by_key)) == len(listed(ada, order_id=by_reference)) == 2


@pytest.mark.parametrize(
    ("key", "code"), [("first", "idempotency_key_reused"), ("second", "reference_taken")]
)
def test_a_request_that_is_refused_for_another_order_is_logged_with_that_one(
    ada: APIClient, log: RequestLog, key: str, code: str
) -> None:
    first = ada.post(ORDERS, order_body(reference="P-7"), headers={"Idempotency-Key": "first"}).json()
    body = order_body(reference="P-7", subject="another")
    assert_problem(ada.post(ORDERS, body, headers={"Idempotency-Key": key}), code)
    log.write()
    refused, placed = listed(ada, order_id=first["id"])
    assert (refused["code"], refused["order_ids"]) == (code, [first["id"]])
    assert placed["code"] is None


def test_the_log_has_no_body_no_query_no_token_and_nothing_of_a_wrong_url(
    ada: APIClient, log: RequestLog
) -> None:
    place(ada, subject="for Zelda Quist", reference="Quist 7", metadata={"name": "Zelda"})
    ada.get(ORDERS, {"zelda": "Quist"})
    ada.post("/api/v1/zelda@quist.example", {"name": "Quist"})
    ada.delete(f"{ORDERS}?q=Quist")
    assert log.write() == 3  # what no url takes has not been asked for a token
    rows = serialize("json", LoggedRequest.objects.all())
    assert not [word for word in ("Zelda", "zelda", "Quist", "quist", ada.token) if word in rows]


def test_lists_are_narrowed_and_paged(ada: APIClient, log: RequestLog) -> None:
    orders = [place(ada)["id"] for _ in range(3)]
    ada.post(ORDERS, {})
    ada.get(f"{ORDERS}/{UNKNOWN}")
    log.write()
    assert [entry["code"] for entry in listed(ada, refused="true")] == ["not_found", "validation_failed"]
    assert [entry["order_ids"] for entry in listed(ada, refused="false")] == [[each] for each in orders[::-1]]
    assert [entry["status"] for entry in listed(ada, code="validation_failed")] == [400]
    assert [entry["order_ids"] for entry in listed(ada, order_id=orders[1])] == [[orders[1]]]
    pages = []
    following = f"{REQUESTS}?page_size=2"
    while following:
        page = ada.get(following).json()
        pages.append([entry["status"] for entry in page["results"]])
        following = page["next"]
    assert pages == [[404, 400], [202, 202], [202]]
    assert mistakes(ada.get(REQUESTS, {"order_id": "7", "refused": "yes", "code": "x", "cursor": "-1"})) == [
        *("order_id", "code", "refused", "cursor")
    ]


# --- what is not written


def test_under_overload_lines_are_left_out_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    small = RequestLog(most=5, share=3)
    for customer in (1, 1, 1, 1, 2, 2, 2):
        small.note(line(customer_id=customer))
    assert small.write() == 5
    assert sorted(LoggedRequest.objects.values_list("customer_id", flat=True)) == [1, 1, 1, 2, 2]
    assert "'requests': 2" in caplog.text
    small.note(line(customer_id=1))
    assert small.write() == 1  # there is room again
    assert small.write() == 0


def test_what_the_database_could_not_take_is_written_later(log: RequestLog) -> None:
    log.note(line())
    with pytest.raises(DATABASE_TROUBLE), transaction.atomic():
        connection.cursor().execute("SET LOCAL transaction_read_only = on")
        log.write()
    assert not LoggedRequest.objects.exists()
    assert log.write() == 1
    assert LoggedRequest.objects.count() == 1


def test_a_line_that_cannot_be_written_stops_no_later_one(log: RequestLog) -> None:
    log.note(line(request_id="x" * 65))
    with pytest.raises(DataError), transaction.atomic():
        log.write()
    log.note(line())
    assert log.write() == 1


# --- the web process


@pytest.mark.django_db(transaction=True)
def test_the_web_writes_the_log_within_seconds_and_at_its_stop(tmp_path: Path) -> None:
    token = token_of(User.objects.create(username="ada"), TokenScope.ORDERS)
    server = Server(tmp_path / "web.log", database_url=database_url())

    def ask(method: str, path: str, **headers: str) -> Any:
        headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"} | headers
        return server.request(method, path, headers=headers, body=b"{}" if method == "POST" else None)

    try:
        until(server.answers, what="the server")
        first = ask("POST", ORDERS)
        assert (first.status, first.headers["api-version"]) == (400, api_versions.newest().name)
        path = f"{REQUESTS}/{first.headers['x-request-id']}"
        until(lambda: ask("GET", path).status == 200, what="the line")
        assert json.loads(ask("GET", path).body)["code"] == "validation_failed"
        ask("POST", ORDERS, **{"X-Request-ID": "the-last-one"})
        server.stop()
        assert LoggedRequest.objects.filter(request_id="the-last-one").count() == 1
    finally:
        server.end()
