"""`Prefer: wait=N` and `wait=N`: the response arrives with the change, or when the time is up, and holds no thread."""

import http.client
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from orders.api.waiting import MOST_HEADERS
from orders.fields.numbers import LARGEST_ID
from orders.models import ApiToken
from sasweb.holding import HOLD, RESUMED, Outcome, Wait
from tests.support.finished_orders import archive, finished_order
from tests.web.conftest import sign_in
from tests.web.following import about, happen, started
from tests.web.helpers import ORDERS, assert_problem, place, run_submission
from tests.web.server import Server
from tests.web.waiters import Waiter, held, until_held

LONG = 60
"""Seconds that the API holds a request at most. A response that had to wait for their end would be the old one."""
SOON = 20.0
"""Seconds within which a response arrives once nothing holds it back."""
HOME, OFFICE = "127.0.2.1", "127.0.2.2"

real = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def shared(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It does not poll while a test lasts, so a response arrives because of a wake-up."""
    log = tmp_path_factory.mktemp("waits") / "log"
    yield from started(Server(log, application="tests.web.unhurried:application", **about("waits")))


@pytest.fixture(scope="module")
def small(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Room for three waits, two of them of one account or IP address. It polls three times a second."""
    log = tmp_path_factory.mktemp("few-waits") / "log"
    yield from started(Server(log, application="tests.web.few_waits:application", **about("few")))


@pytest.fixture
def url(ada: APIClient) -> str:
    return place(ada)["links"]["self"]


def order_of(url: str) -> UUID:
    return UUID(url.rpartition("/")[2])


def etag(client: APIClient, url: str) -> str:
    return client.get(url)["ETag"]


@real
@pytest.mark.parametrize("has_etag", [False, True], ids=["from the request on", "from a version on"])
def test_the_response_arrives_with_the_change(
    shared: Server, ada: APIClient, url: str, has_etag: bool
) -> None:
    headers = {"If_None_Match": etag(ada, url)} if has_etag else {}
    waiter = Waiter(shared, url, ada.token, Prefer=f"wait={LONG}", **headers)
    until_held(shared, waits=1)
    assert not waiter.is_answered()
    run_submission()
    answer = waiter.answer()
    assert (answer.status, answer.headers["preference-applied"]) == (200, f"wait={LONG}")
    assert answer.headers["etag"] == etag(ada, url)
    assert len(answer.json["steps"]) == 5
    until_held(shared)


@real
@pytest.mark.parametrize("has_etag", [False, True], ids=["200", "304"])
def test_without_a_change_the_response_arrives_when_the_time_is_up(
    shared: Server, ada: APIClient, url: str, has_etag: bool
) -> None:
    headers = {"If_None_Match": "*"} if has_etag else {}
    begun = time.monotonic()
    answer = Waiter(shared, url, ada.token, Prefer="wait=1", **headers).answer()
    assert 1 <= time.monotonic() - begun < SOON
    assert (answer.status, answer.headers["preference-applied"]) == (304 if has_etag else 200, "wait=1")
    assert answer.headers["etag"] == etag(ada, url)


@real
def test_one_connection_waits_again_and_again(shared: Server, ada: APIClient, url: str) -> None:
    client = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=LONG)
    headers = {"Authorization": f"Token {ada.token}", "Prefer": "wait=1", "If-None-Match": "*"}
    for _ in range(3):
        client.request("GET", url, headers=headers)
        response = client.getresponse()
        assert (response.status, response.read(), response.will_close) == (304, b"", False)
    client.close()


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["processed", "compensated", "archived"])
def test_a_finished_order_is_not_waited_for_unless_it_is_known(ada: APIClient, state: str) -> None:
    is_archived = state == "archived"
    order_id = finished_order(
        state="processed" if is_archived else state, purchase={"customer": ada.user}, days=1
    )
    if is_archived:
        archive(order_id)
    url = f"{ORDERS}/{order_id}"
    scope: dict[str, Any] = {}
    response = ada.get(url, headers={"Prefer": f"wait={LONG}"}, **{"asgi.scope": scope})
    assert (response.status_code, HOLD in scope) == (200, False)
    same = {"Prefer": f"wait={LONG}", "If-None-Match": response["ETag"]}
    response = ada.get(url, headers=same, **{"asgi.scope": scope})
    assert (response.status_code, HOLD in scope) == (304, True)


@pytest.mark.django_db
@pytest.mark.parametrize("preference", ["wait=0", "wait=x", "wait", "respond-async", "wait=-1", "waiting=9"])
def test_an_invalid_preference_is_ignored(ada: APIClient, url: str, preference: str) -> None:
    scope: dict[str, Any] = {}
    response = ada.get(url, headers={"Prefer": preference}, **{"asgi.scope": scope})
    assert (response.status_code, scope) == (200, {})
    assert "Preference-Applied" not in response


@pytest.mark.django_db
def test_a_client_with_an_older_version_does_not_wait(ada: APIClient, url: str) -> None:
    scope: dict[str, Any] = {}
    headers = {"Prefer": f"wait={LONG}", "If-None-Match": '"an-older-one"'}
    response = ada.get(url, headers=headers, **{"asgi.scope": scope})
    assert (response.status_code, scope) == (200, {})
    assert "Preference-Applied" not in response


@pytest.mark.django_db
def test_a_wait_is_limited_to_a_minute(ada: APIClient, url: str) -> None:
    scope: dict[str, Any] = {}
    headers = {"Prefer": "respond-async, wait=99999999999"}
    response = ada.get(url, headers=headers, **{"asgi.scope": scope})
    clients = (f"account:{ada.user.pk}", "address:127.0.0.1")
    wait = Wait(subject=order_of(url), version="0-pending", clients=clients, seconds=60)
    assert (scope[HOLD], response["Preference-Applied"]) == (wait, "wait=60")


@pytest.mark.django_db
def test_clients_without_an_address_share_no_places(ada: APIClient, url: str) -> None:
    scope: dict[str, Any] = {}
    ada.get(url, headers={"Prefer": "wait=9"}, **{"asgi.scope": scope, "REMOTE_ADDR": ""})
    assert scope[HOLD].clients == (f"account:{ada.user.pk}",)


@pytest.mark.django_db
@pytest.mark.parametrize("part", ["", "/stream"], ids=["a wait", "a stream"])
def test_a_request_with_large_headers_is_not_held(ada: APIClient, url: str, part: str) -> None:
    for size, expected in ((MOST_HEADERS - 1, 200), (MOST_HEADERS, 431)):
        scope: dict[str, Any] = {"headers": [(b"a", b"b" * size)]}
        response = ada.get(url + part, headers={"Prefer": "wait=9"}, **{"asgi.scope": scope})
        assert (response.status_code, HOLD in scope) == (expected, expected == 200)
    assert_problem(response, "headers_too_large")
    assert ada.get(url, **{"asgi.scope": scope}).status_code == 200


@pytest.mark.django_db
def test_under_a_server_that_holds_nothing_nobody_waits(ada: APIClient, url: str) -> None:
    response = ada.get(url, headers={"Prefer": f"wait={LONG}"})
    assert (response.status_code, "Preference-Applied" in response) == (200, False)
    assert ada.get(f"/api/v1/response-queues/shop.1/messages?wait={LONG}").json()["results"] == []


@pytest.mark.django_db
def test_a_request_that_was_held_is_not_held_again_and_not_counted_again(
    ada: APIClient, url: str, only: Any
) -> None:
    only(waits__account=1)
    scope: dict[str, Any] = {}
    headers = {"Prefer": f"wait={LONG}", "If-None-Match": "*"}
    assert ada.get(url, headers=headers, **{"asgi.scope": scope}).status_code == 304
    for _ in range(3):
        scope = {RESUMED: Outcome.CHANGED}
        response = ada.get(url, headers=headers, **{"asgi.scope": scope})
        assert (response.status_code, response["Preference-Applied"]) == (304, f"wait={LONG}")
        assert HOLD not in scope
    assert_problem(ada.get(url, headers=headers), "rate_limited")


@pytest.mark.django_db
@pytest.mark.parametrize(("outcome", "status"), [(Outcome.CHANGED, 200), (Outcome.CROWDED, 429)])
def test_an_answer_after_a_wait_says_what_was_left_when_it_was_counted(
    ada: APIClient, url: str, only: Any, outcome: Outcome, status: int
) -> None:
    only(waits__account=4, reads__account=40)
    scope: dict[str, Any] = {}
    headers = {"Prefer": f"wait={LONG}"}
    held = ada.get(url, headers=headers, **{"asgi.scope": scope})
    assert held["RateLimit"].startswith('"reads.account";r=39;')
    del scope[HOLD]
    scope[RESUMED] = outcome
    response = ada.get(url, headers=headers, **{"asgi.scope": scope})
    assert response.status_code == status
    for name in ("RateLimit", "RateLimit-Policy"):
        assert response[name] == held[name]


@real
def test_a_change_without_a_wake_up_is_noticed_by_the_poll(small: Server, ada: APIClient, url: str) -> None:
    run_submission()
    before = etag(ada, url)
    waiter = Waiter(small, url, ada.token, Prefer=f"wait={LONG}", If_None_Match=before)
    until_held(small, waits=1)
    version = happen(order_of(url), silently=True)
    answer = waiter.answer()
    assert (answer.status, answer.headers["etag"]) == (200, f'W/"{version}"')


@real
def test_a_reader_of_a_response_queue_gets_the_next_message(shared: Server, ada: APIClient) -> None:
    queue = "/api/v1/response-queues/shop.1/messages"
    place(ada, reply_to="shop.1")
    waiter = Waiter(shared, f"{queue}?wait={LONG}", ada.token)
    behind = Waiter(shared, f"{queue}?wait={LONG}&after={LARGEST_ID}", ada.token)
    until_held(shared, waits=2)
    assert not waiter.is_answered()
    run_submission()
    assert [message["kind"] for message in waiter.answer().json["results"]] == ["received"]
    assert held(shared) == (1, 0), "the message is not after the ID that the other one knows"
    behind.leave()
    until_held(shared)
    assert shared.request(
        "GET", f"{queue}?wait=1&after={LARGEST_ID}", headers={"Authorization": f"Token {ada.token}"}
    ).json == {"results": [], "next": None}


@real
def test_a_token_that_was_revoked_during_the_wait_gets_nothing(
    shared: Server, ada: APIClient, url: str
) -> None:
    waiter = Waiter(shared, url, ada.token, Prefer=f"wait={LONG}")
    until_held(shared, waits=1)
    ApiToken.objects.all().delete()
    run_submission()
    answer = waiter.answer()
    assert (answer.status, answer.json["code"]) == (401, "invalid_token")


@real
def test_a_client_that_leaves_is_forgotten(shared: Server, ada: APIClient, url: str) -> None:
    waiters = [Waiter(shared, url, ada.token, Prefer="wait=60") for _ in range(3)]
    until_held(shared, waits=3)
    for waiter in waiters:
        waiter.leave()
    until_held(shared)


@real
def test_who_finds_no_room_is_told_when_to_come_again_and_may_ask_without_waiting(
    small: Server, ada: APIClient, url: str
) -> None:
    bob, eve = sign_in("bob"), sign_in("eve")
    of_bob, of_eve = place(bob)["links"]["self"], place(eve)["links"]["self"]

    def refused(path: str, token: str, source: str) -> None:
        answer = Waiter(small, path, token, source=source, Prefer="wait=60", If_None_Match="*").answer()
        assert (answer.status, answer.json["code"]) == (429, "too_many_waiting")
        assert 5 <= int(answer.headers["retry-after"]) <= 15
        assert "preference-applied" not in answer.headers

    waiters = [Waiter(small, url, ada.token, source=HOME, Prefer="wait=60") for _ in range(2)]
    until_held(small, waits=2)
    refused(url, ada.token, OFFICE)
    refused(of_bob, bob.token, HOME)
    waiters.append(Waiter(small, of_bob, bob.token, source=OFFICE, Prefer="wait=60"))
    until_held(small, waits=3)
    refused(of_eve, eve.token, "127.0.2.3")
    refused("/api/v1/response-queues/mine/messages?wait=60", eve.token, "127.0.2.3")
    assert small.request("GET", of_eve, headers={"Authorization": f"Token {eve.token}"}).status == 200
    for waiter in waiters:
        waiter.leave()
    until_held(small)


@real
def test_a_stop_answers_those_who_wait_at_once(ada: APIClient, url: str, tmp_path: Path) -> None:
    server = Server(
        tmp_path / "log",
        application="tests.web.unhurried:application",
        config="tests.web.long_grace",
        **about("stopped"),
    )
    for _ in started(server):
        waiters = [
            Waiter(server, url, ada.token, Prefer="wait=600", If_None_Match=etag(ada, url)) for _ in range(60)
        ]
        until_held(server, waits=60)
        server.stop()  # in less time than their waits, or the grace for those that are not answered, would take
        assert [waiter.answer().status for waiter in waiters] == [304] * 60
