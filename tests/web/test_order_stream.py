"""`GET orders/{id}/stream`: the order as events, for a token, with `Last-Event-ID`."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from rest_framework.test import APIClient

from orders.models import ApiToken
from orders.selectors import orders as order_selectors
from orders.vocabulary import TokenScope
from sasweb.holding import HOLD, Part
from tests.support.people import api_client, person, token_of
from tests.web.conftest import sign_in
from tests.web.following import about, happen, started
from tests.web.helpers import assert_problem, change_state, place, run_submission
from tests.web.server import Server
from tests.web.sse import Stream, is_quiet
from tests.web.waiters import until_held

real = pytest.mark.django_db(transaction=True)

SOON = 60.0
"""Seconds within which a reader is notified of a change: far less than those after which the server polls."""

ENDED = Part("", b"", is_last=True)

Follow = Callable[..., Stream]


@pytest.fixture(scope="module")
def shared(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It does not poll while a test lasts, so a stream goes on because of a wake-up."""
    log = tmp_path_factory.mktemp("events") / "log"
    yield from started(Server(log, application="tests.web.unhurried:application", **about("events")))


@pytest.fixture(scope="module")
def small(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Room for three streams of tokens, two of them of one account or IP address."""
    log = tmp_path_factory.mktemp("few-events") / "log"
    yield from started(Server(log, application="tests.web.few_waits:application", **about("few events")))


@pytest.fixture(scope="module")
def brief(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A stream lasts two seconds."""
    log = tmp_path_factory.mktemp("brief-events") / "log"
    yield from started(
        Server(log, application="tests.web.brief_streams:application", **about("brief events"))
    )


@pytest.fixture
def order_id(ada: APIClient) -> UUID:
    placed = UUID(place(ada)["id"])
    run_submission()
    return placed


@pytest.fixture
def follow() -> Iterator[Follow]:
    """Opens streams, which are closed at the end."""
    opened: list[Stream] = []

    def follow(server: Server, order_id: UUID, client: APIClient, **options: str) -> Stream:
        stream = Stream(server, path(order_id), Authorization=f"Token {client.token}", **options).open()
        opened.append(stream)
        return stream

    yield follow
    for stream in opened:
        stream.close()


def path(order_id: UUID) -> str:
    return f"/api/v1/orders/{order_id}/stream"


def read(client: APIClient, order_id: UUID) -> Any:
    return client.get(f"/api/v1/orders/{order_id}").json()


@real
def test_a_reader_gets_the_order_and_each_later_state_of_it(
    shared: Server, ada: APIClient, order_id: UUID, follow: Follow
) -> None:
    stream = follow(shared, order_id, ada, Accept="text/event-stream")
    assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert (stream.headers["cache-control"], stream.headers["x-accel-buffering"]) == ("no-store", "no")
    assert "content-length" not in stream.headers and stream.headers["x-request-id"]
    first = stream.next()
    assert first and 2000 <= int(first.fields["retry"]) <= 4000
    event = stream.next_version()
    assert (event.fields["event"], json.loads(event.fields["data"])) == ("order", read(ada, order_id))
    assert event.version == order_selectors.order_version(order_id)
    assert is_quiet(stream, seconds=0.3)
    version = happen(order_id)
    update = stream.next_version(seconds=SOON)
    assert (update.version, json.loads(update.fields["data"])) == (version, read(ada, order_id))


@real
def test_a_returning_reader_gets_what_it_missed_and_nothing_else(
    shared: Server, ada: APIClient, order_id: UUID, follow: Follow
) -> None:
    old = order_selectors.order_version(order_id)
    new = happen(order_id)
    behind = follow(shared, order_id, ada, Last_Event_ID=old)
    current = follow(shared, order_id, ada, Last_Event_ID=new)
    assert behind.next_version(seconds=SOON).version == new
    retry = current.next()
    assert retry and "retry" in retry.fields
    assert is_quiet(current, seconds=0.3)
    newer = happen(order_id)
    assert current.next_version(seconds=SOON).version == newer


@real
def test_the_stream_of_a_finished_order_ends_and_whoever_saw_it_end_is_told_not_to_return(
    shared: Server, ada: APIClient, order_id: UUID, follow: Follow
) -> None:
    stream = follow(shared, order_id, ada)
    stream.next_version()
    with transaction.atomic():
        change_state(order_id, "processed")
        happen(order_id)
    last = stream.next_version(seconds=SOON)
    assert json.loads(last.fields["data"])["state"] == "processed"
    end = stream.next()
    assert end and end.fields == {"event": "end", "data": "{}"}
    assert stream.next() is None
    answer = shared.request(
        "GET",
        path(order_id),
        headers={"Authorization": f"Token {ada.token}", "Last-Event-ID": last.version},
    )
    assert (answer.status, answer.body) == (204, b"")
    again = shared.request("GET", path(order_id), headers={"Authorization": f"Token {ada.token}"})
    text = again.body.decode()
    assert text.startswith(f"id: {last.version}\nevent: order\ndata: ")
    assert text.endswith("\n\nevent: end\ndata: {}\n\n")


@real
def test_a_stream_sends_heartbeats_and_ends_after_its_time(
    brief: Server, ada: APIClient, order_id: UUID, follow: Follow
) -> None:
    stream = follow(brief, order_id, ada)
    blocks = []
    while (block := stream.next(seconds=3.0)) is not None:
        blocks.append(block.fields)
    assert 2 <= sum("" in fields for fields in blocks) <= 4
    assert sum(fields.get("event") == "end" for fields in blocks) == 0


@real
def test_who_finds_no_room_gets_a_problem(
    small: Server, ada: APIClient, bob: APIClient, order_id: UUID, follow: Follow
) -> None:
    until_held(small)
    first, second = (follow(small, order_id, ada) for _ in range(2))
    answer = small.request("GET", path(order_id), headers={"Authorization": f"Token {ada.token}"})
    assert (answer.status, answer.json["code"]) == (429, "too_many_waiting")
    assert 5 <= int(answer.headers["retry-after"]) <= 15
    for stream in (first, second):
        stream.close()
    until_held(small)
    assert follow(small, order_id, ada).status == 200


@real
def test_a_stream_ends_when_its_token_is_revoked(
    shared: Server, ada: APIClient, order_id: UUID, follow: Follow
) -> None:
    stream = follow(shared, order_id, ada)
    stream.next_version()
    ApiToken.objects.all().delete()
    happen(order_id)
    assert stream.next(seconds=SOON) is None
    answer = shared.request("GET", path(order_id), headers={"Authorization": f"Token {ada.token}"})
    assert (answer.status, answer.json["code"]) == (401, "invalid_token")


def held_stream(client: APIClient, order_id: UUID) -> Any:
    scope: dict[str, Any] = {}
    assert client.get(path(order_id), **{"asgi.scope": scope}).status_code == 200
    return scope[HOLD]


@real
def test_a_revoked_token_ends_its_stream_and_is_not_counted(
    ada: APIClient, order_id: UUID, only: Any
) -> None:
    only(anonymous__address=1)
    stream = held_stream(ada, order_id)
    token = ApiToken.objects.get()
    assert stream.read.args == (token.digest, order_id), "the request is not kept"
    assert stream.read().version == order_selectors.order_version(order_id)
    token.delete()
    assert [stream.read() for _ in range(3)] == [ENDED] * 3
    assert_problem(ada.get(path(order_id)), "invalid_token")


@real
@pytest.mark.parametrize("loses", ["the console", "the scope", "the account"])
def test_the_stream_of_an_operator_who_may_no_longer_read_the_order_ends(
    ada: APIClient, order_id: UUID, loses: str
) -> None:
    operator = person("operator")
    client = api_client(token_of(operator, TokenScope.OPERATE))
    stream = held_stream(client, order_id)
    assert stream.read().version == order_selectors.order_version(order_id)
    if loses == "the console":
        operator.user_permissions.clear()
    elif loses == "the scope":
        ApiToken.objects.filter(user=operator).update(scopes=[TokenScope.READ])
    else:
        User.objects.filter(pk=operator.pk).update(is_active=False)
    assert stream.read() == ENDED


@pytest.mark.django_db
def test_only_its_owner_may_follow_an_order_and_refusals_are_problems(
    ada: APIClient, bob: APIClient, anybody: APIClient, order_id: UUID
) -> None:
    for accept in ("text/event-stream", "*/*", "application/json"):
        assert_problem(bob.get(path(order_id), headers={"Accept": accept}), "not_found")
        assert_problem(ada.get(path(uuid4()), headers={"Accept": accept}), "not_found")
        assert_problem(anybody.get(path(order_id), headers={"Accept": accept}), "not_authenticated")
        assert ada.get(path(order_id), headers={"Accept": accept}).status_code == 200
    assert_problem(ada.post(path(order_id)), "method_not_allowed")


@pytest.mark.django_db
def test_under_a_server_that_holds_nothing_a_stream_has_the_current_state_only(
    ada: APIClient, order_id: UUID
) -> None:
    response = ada.get(path(order_id))
    version = order_selectors.order_version(order_id)
    assert (response.status_code, response["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
    assert response.content.startswith(f"id: {version}\nevent: order\ndata: {{".encode())
    assert ada.get(path(order_id), headers={"Last-Event-ID": version}).content == b""
    scope: dict[str, Any] = {}
    assert ada.head(path(order_id), **{"asgi.scope": scope}).status_code == 200
    assert HOLD not in scope


@pytest.mark.django_db
def test_streams_are_counted_as_waits_are(ada: APIClient, order_id: UUID, only: Any) -> None:
    only(waits__account=1)
    assert ada.get(path(order_id)).status_code == 200
    assert_problem(ada.get(path(order_id)), "rate_limited")
    assert sign_in("eve").get(path(order_id)).status_code == 404
