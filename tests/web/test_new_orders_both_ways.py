"""The suite of `POST orders` on both ways, against the real server: placed together with others, and by Django."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
from rest_framework.test import APIClient

from orders.access import api_versions
from orders.models import ApiToken, LoggedRequest, SubmissionMessage
from tests.support.order_bodies import order_body
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.helpers import ORDERS
from tests.web.server import Answer, Server, running

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("S1", "S3")]

DJANGO = {"Cookie": "theme=dark"}
"""Has Django answer, to which it makes no difference."""
WAYS = pytest.mark.parametrize("way", [{}, DJANGO], ids=["together", "Django"])
OF_ITS_OWN = {"id", "number", "placed_at", "updated_at", "links"}


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("orders") / "log"
    limits = {"LIMITS": "orders.account=1000/86400,orders.token=900/86400", "DATABASE_POOL": "1"}
    with running(Server(log, database_url=database_url(), **limits)) as server:
        yield server


@pytest.fixture
def client(ada: APIClient, server: Server) -> APIClient:
    """Her token's use has been noted."""
    assert post(server, ada, DJANGO, body=b"{}").status == 400
    ApiToken.objects.update(scopes=["read", "orders"])
    return ada


def post(server: Server, client: APIClient, way: dict[str, str], *, body: Any = None, **more: str) -> Answer:
    headers = {
        "Authorization": f"Token {client.token}",
        "Content-Type": "application/json",
        **way,
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    sent = body if isinstance(body, bytes) else json.dumps(body or order_body()).encode()
    return server.request("POST", ORDERS, body=sent, headers=headers)


@pytest.mark.parametrize("version", [each.name for each in api_versions.VERSIONS])
def test_both_ways_say_the_same(server: Server, client: APIClient, version: str) -> None:
    ApiToken.objects.update(version=version)
    body = order_body(reference="mine", metadata={"cart": "7"}, subject="for Ada", priority=3)
    answers = [
        post(
            server,
            client,
            way,
            body={**body, "reference": key},
            Idempotency_Key=key,
            X_Request_ID=f"request-{key}",
        )
        for key, way in (("first", {}), ("other", DJANGO))
    ]
    here, there = answers
    assert (here.status, there.status) == (202, 202)
    changing = {"date": "", "location": "", "x-request-id": ""}
    for answer in answers:
        assert answer.headers["location"] == answer.json["links"]["self"]
    limits = [
        [part.partition(";t=")[0] for part in answer.headers["ratelimit"].split(", ")] for answer in answers
    ]
    assert limits == [
        ['"orders.account";r=998', '"orders.token";r=898'],
        ['"orders.account";r=997', '"orders.token";r=897'],
    ]
    changing["ratelimit"] = ""
    assert {**here.headers, **changing} == {**there.headers, **changing}
    assert here.headers["api-version"] == version
    members = [
        {name: value for name, value in answer.json.items() if name not in OF_ITS_OWN | {"reference"}}
        for answer in answers
    ]
    assert members[0] == members[1]
    assert list(here.json) == list(there.json)

    def lines() -> Any:
        logged = LoggedRequest.objects.filter(status=202).order_by("at")
        return list(logged.values("method", "path", "status", "code", "token", "customer_id"))

    until(lambda: len(lines()) == 2, seconds=20, what="the log of both requests")
    assert lines()[0] == lines()[1]


@WAYS
def test_what_is_sent_is_answered_alike(server: Server, client: APIClient, way: dict[str, str]) -> None:
    numbers = count()

    def answer(**request: Any) -> tuple[int, str, str]:
        key = {"Idempotency_Key": f"key-{next(numbers)}"}
        response = post(server, client, way, **{**key, **request})
        assert response.headers["x-request-id"]
        problem = response.json.get("code", "")
        return response.status, problem, response.headers.get("idempotent-replayed", "")

    body = order_body(reference="mine")
    assert answer(body=body, Idempotency_Key="one") == (202, "", "")
    assert answer(body=body, Idempotency_Key="one") == (202, "", "true")
    assert answer(Idempotency_Key="one") == (422, "idempotency_key_reused", "")
    assert answer(body=body) == (409, "reference_taken", "")
    assert answer(body=b"{") == (400, "malformed_request", "")
    assert answer(body=order_body(email="nobody")) == (400, "validation_failed", "")
    assert answer(body=order_body(lines=[{"sku": "none", "quantity": 1}]))[:2] == (400, "validation_failed")
    assert answer(body=order_body(priority=9)) == (403, "scope_missing", "")
    assert answer(Idempotency_Key="k" * 256) == (400, "validation_failed", "")
    assert answer(Content_Type="text/plain") == (415, "unsupported_media_type", "")
    assert answer(Authorization=f"Token sas_{'x' * 43}") == (401, "invalid_token", "")
    assert answer(Accept="text/html") == (406, "not_acceptable", "")
    assert SubmissionMessage.objects.count() == 1
    ApiToken.objects.all().delete()
    assert answer() == (401, "invalid_token", "")


def test_of_many_with_one_key_on_both_ways_at_once_one_is_new(server: Server, client: APIClient) -> None:
    with ThreadPoolExecutor(20) as threads:
        answers = list(
            threads.map(
                lambda n: post(server, client, (DJANGO, {})[n % 2], Idempotency_Key="same"), range(20)
            )
        )
    assert {answer.status for answer in answers} == {202}
    assert len({answer.json["id"] for answer in answers}) == 1
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    assert SubmissionMessage.objects.count() == 1


def test_every_order_of_a_crowd_is_placed_once(server: Server, client: APIClient) -> None:
    with ThreadPoolExecutor(30) as threads:
        answers = list(threads.map(lambda n: post(server, client, {}, Idempotency_Key=f"{n}"), range(300)))
    assert {answer.status for answer in answers} == {202}
    ids = {answer.json["id"] for answer in answers}
    assert len(ids) == 300
    assert {str(pk) for pk in SubmissionMessage.objects.values_list("order_id", flat=True)} == ids
