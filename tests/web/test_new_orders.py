"""Orders that arrive at the same moment are placed together. What is not simply accepted, Django answers."""

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from orders.access import api_versions
from orders.access.limits import ask as ask_limits
from orders.api import new_orders
from orders.api.new_orders import NewOrders
from orders.business.order_ids import derived_order_id
from orders.engine.channels import submissions
from orders.models import ApiToken, Bucket, LoggedRequest, SubmissionKey, SubmissionMessage
from orders.services.request_log import REQUESTS
from tests.support.businesses import Bakery, Oven, business
from tests.support.order_bodies import DELFT, order_body
from tests.support.two_sessions import Session
from tests.web.arrivals import order, place_in, send
from tests.web.conftest import Limits
from tests.web.helpers import ORDERS, place

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("S1")]
NewSession = Callable[[], Session]


@pytest.fixture
def client(ada: APIClient) -> APIClient:
    return used(ada)


def used(client: APIClient) -> APIClient:
    """The client, whose token's use has been noted."""
    assert client.get(ORDERS).status_code == 200
    return client


def stored() -> int:
    return SubmissionMessage.objects.count()


def test_a_new_order_is_placed_and_answered(client: APIClient) -> None:
    (placed,) = send(order(client, "one"))
    assert placed and stored() == 1
    assert client.get(placed["links"]["self"]).json() == placed
    again = client.post(ORDERS, order_body(), headers={"Idempotency-Key": "one"})
    assert (again.status_code, again["Idempotent-Replayed"], again.json()["id"]) == (
        202,
        "true",
        placed["id"],
    )


def test_an_order_is_placed_as_the_version_of_its_token_promises(client: APIClient) -> None:
    """The first version took any postal code. What the newest refuses, Django answers."""
    oldest, newest = api_versions.VERSIONS[0].name, api_versions.newest().name
    body = order_body(ship_to={**DELFT, "postal_code": "2611"})
    for version, is_placed in ((oldest, True), (newest, False)):
        ApiToken.objects.update(version=version)
        (placed,) = send(order(client, version, body=body))
        assert bool(placed) == is_placed, version
    assert stored() == 1


def test_many_orders_take_few_statements_and_each_client_has_her_own(
    client: APIClient, bob: APIClient
) -> None:
    used(bob)
    placings = [
        new_orders.placing_of(request, request["body"])
        for number in range(20)
        for account in (client, bob)
        for request in [order(account, f"key {number}", body=order_body(reference=f"no {number}"))]
    ]
    with CaptureQueriesContext(connection) as statements:
        accepted = new_orders.place_all([placing for placing in placings if placing])
    assert len(statements) <= 7, [each["sql"][:80] for each in statements]
    assert len(accepted) == 40 and all(accepted)
    for name, clients in (("ada", accepted[::2]), ("bob", accepted[1::2])):
        orders = [json.loads(each.body) for each in clients if each]
        assert [each["reference"] for each in orders] == [f"no {number}" for number in range(20)]
        owner = f"user:{User.objects.get(username=name).pk}"
        messages = SubmissionMessage.objects.filter(client=owner).order_by("id")
        assert [str(message.order_id) for message in messages] == [each["id"] for each in orders]
        keys = dict(SubmissionKey.objects.filter(client=owner).values_list("key", "order_id"))
        assert {key: str(order_id) for key, order_id in keys.items()} == {
            f"key {number}": each["id"] for number, each in enumerate(orders)
        }


def test_whatever_may_have_another_answer_goes_to_django(client: APIClient) -> None:
    ordinary = order(client, "ordinary")
    without_key = {
        **ordinary,
        "headers": [pair for pair in ordinary["headers"] if pair[0] != b"idempotency-key"],
    }
    twice = {**ordinary, "headers": [*ordinary["headers"], (b"idempotency-key", b"other")]}
    changes: Any
    for changes in (
        {"method": "PUT"},
        {"query_string": b"fields=id"},
        {"root_path": "/elsewhere"},
        {"path": f"{ORDERS}/"},
        {"path": f"{ORDERS}/quote"},
    ):
        assert send({**ordinary, **changes}) == [None], changes
    for more in (
        {"Cookie": "theme=dark"},
        {"Prefer": "wait=5"},
        {"API_Version": "2020-01-01"},
        {"Accept": "text/html"},
        {"Content_Type": "application/json; charset=latin-1"},
        {"Content_Encoding": "gzip"},
        {"Transfer_Encoding": "chunked"},
        {"Idempotency_Key": ""},
        {"Idempotency_Key": "é"},
        {"Idempotency_Key": "k" * 256},
        {"Authorization": "Token sas_wrong"},
        {"Authorization": f"Token sas_{'x' * 43}"},
        {"Host": "elsewhere.example"},
    ):
        assert send(order(client, "ordinary", **more)) == [None], more
    assert send(without_key, twice) == [None, None]
    assert stored() == 0
    assert send(ordinary)[0]


def test_an_order_with_something_wrong_goes_to_django_and_the_others_are_placed(client: APIClient) -> None:
    wrong = [
        b"",
        b"{",
        b'{"a": 1, "a": 2}',
        b"[]",
        {"workflow": "none"},
        order_body(lines=[{"sku": "sold-out", "quantity": 1}]),
        order_body(lines=[{"sku": "unheard-of", "quantity": 1}]),
        order_body(email="nobody"),
        order_body(reference="x" * 1_000),
        json.dumps(order_body(subject=" " * 20_000)).encode(),
    ]
    requests = [order(client, f"wrong {number}", body=body) for number, body in enumerate(wrong)]
    answers = send(*requests, order(client, "right"))
    assert [bool(answer) for answer in answers] == [False] * len(wrong) + [True]
    assert stored() == 1


def test_what_was_placed_before_goes_to_django(client: APIClient) -> None:
    place(client, key="used", reference="mine")
    others = order_body(reference="mine")
    assert (
        send(order(client, "used", body=others), order(client, "used"), order(client, "new", body=others))
        == [None] * 3
    )
    assert stored() == 1


@pytest.mark.pattern("S3")
def test_of_two_with_one_key_or_one_reference_at_once_one_is_placed(client: APIClient) -> None:
    answers = send(
        *(order(client, "same") for _ in range(3)),
        *(order(client, f"{number}", body=order_body(reference="same")) for number in range(3)),
    )
    assert sorted(map(bool, answers[:3])) == sorted(map(bool, answers[3:])) == [False, False, True]
    assert stored() == 2


def test_a_token_that_is_not_valid_goes_to_django_at_once(client: APIClient) -> None:
    now = timezone.now()
    before = ApiToken.objects.values().get()
    for changes in (
        {"expires_at": now - timedelta(seconds=1), "created_at": now - timedelta(days=1)},
        {"last_used_at": now - timedelta(seconds=61)},
        {"last_used_at": None},
        {"version": "2020-01-01"},
        {"scopes": ["read"]},
    ):
        ApiToken.objects.update(**changes)
        assert send(order(client, "refused")) == [None], changes
        ApiToken.objects.update(**{**{name: before[name] for name in changes}, "last_used_at": now})
    User.objects.update(is_active=False)
    assert send(order(client, "refused")) == [None]
    User.objects.update(is_active=True)
    assert send(order(client, "accepted"))[0]
    ApiToken.objects.all().delete()
    assert send(order(client, "refused")) == [None]


def test_a_priority_needs_its_scope(client: APIClient) -> None:
    urgent = order(client, "urgent", body=order_body(priority=9))
    ApiToken.objects.update(scopes=["read", "orders"])
    assert send(urgent) == [None]
    ApiToken.objects.update(scopes=["read", "orders", "priority"])
    assert send(urgent)[0]


def test_orders_count_on_both_ways_and_once(client: APIClient, only: Limits) -> None:
    only(orders__account=5, orders__token=100)
    account = {("orders.account", str(client.user.pk)): 0}
    Bucket.objects.all().delete()
    assert send(order(client, "1"))[0]
    assert send(order(client, "1")) == [None], "a replay, which Django counts"
    for key in ("1", "2", "3", "4"):
        assert client.post(ORDERS, order_body(), headers={"Idempotency-Key": key}).status_code == 202
    ((is_taken, _),) = ask_limits(account).values()
    assert is_taken
    assert send(order(client, "5")) == [None], "the limit is used up, and Django says so"
    assert client.post(ORDERS, order_body(), headers={"Idempotency-Key": "5"}).status_code == 429
    assert stored() == 4


def test_one_account_that_may_place_no_more_takes_nothing_from_the_others(
    client: APIClient, bob: APIClient, only: Limits
) -> None:
    only(orders__account=2)
    used(bob)
    answers = send(
        *(order(client, f"{number}") for number in range(3)),
        *(order(bob, f"{number}") for number in range(2)),
    )
    assert [bool(answer) for answer in answers] == [False] * 3 + [True] * 2
    assert client.post(ORDERS, order_body(), headers={"Idempotency-Key": "0"}).status_code == 202


def test_the_request_is_in_its_clients_log(client: APIClient) -> None:
    (placed,) = send(order(client, "logged", X_Request_ID="of-this-request"))
    assert placed
    REQUESTS.write()
    line = LoggedRequest.objects.get(request_id="of-this-request")
    assert (line.customer_id, line.method, line.path, line.status, line.code) == (
        client.user.pk,
        "POST",
        ORDERS,
        202,
        "",
    )
    assert (list(map(str, line.order_ids)), line.token) == ([placed["id"]], client.token[:10])


def test_what_fails_goes_to_django(client: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OperationalError("no")

    with monkeypatch.context() as failing:
        failing.setattr(new_orders, "place_orders", fail)
        assert send(*(order(client, f"{number}") for number in range(3))) == [None] * 3
    assert send(order(client, "0"))[0]


@pytest.mark.pattern("S3")
def test_a_key_that_another_transaction_holds_keeps_no_other_order_waiting(
    client: APIClient, new_session: NewSession
) -> None:
    """Django posts them instead, each by itself."""
    other, owner = new_session(), f"user:{client.user.pk}"
    order_id = derived_order_id(client=owner, key="held")
    other.begin()
    other.do(
        lambda: submissions.post_once(order_id=order_id, client=owner, body={}, key="held", body_hash="h")
    )
    assert send(order(client, "held"), order(client, "free")) == [None, None]
    assert client.post(ORDERS, order_body(), headers={"Idempotency-Key": "free"}).status_code == 202
    other.rollback()
    assert send(order(client, "held"))[0]


def test_a_kind_that_describes_its_orders_one_by_one_goes_to_django(
    client: APIClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise they would wait for one another."""
    cake = {"workflow": "bake", "cake": "plum"}
    with business(settings, kinds=[Bakery], agents=[Oven()]):
        assert send(order(client, "plain", body=cake))[0]
        monkeypatch.setattr(Bakery, "describe", classmethod(lambda _, request: request))
        assert send(order(client, "looks things up", body=cake)) == [None]


def test_a_kind_of_order_that_is_slow_holds_up_no_other(
    client: APIClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def describe_all(_: type[Bakery], requests: Sequence[Any]) -> Sequence[Any]:
        begun.set()
        assert go_on.wait(60.0)
        return requests

    async def scene() -> None:
        here = NewOrders()
        cake = asyncio.create_task(
            place_in(here, order(client, "cake", body={"workflow": "bake", "cake": "plum"}))
        )
        await asyncio.to_thread(begun.wait, 60.0)
        assert await place_in(here, order(client, "poster"))
        assert not cake.done()
        go_on.set()
        assert await cake

    with business(settings, kinds=[Bakery], agents=[Oven()]):
        monkeypatch.setattr(Bakery, "describe_all", classmethod(describe_all))
        asyncio.run(asyncio.wait_for(scene(), 60.0))
