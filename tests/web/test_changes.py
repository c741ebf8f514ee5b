"""`GET changes`: everything that happens to a client's orders, each change once, however it is read."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from orders.api.feed_cursors import cursor_at
from orders.engine import state_store
from orders.engine.rows import Actor, EventRow
from orders.engine.state_store.feed import Epoch, epoch
from orders.models import FeedEpoch
from orders.selectors.changes import FeedPoint
from orders.vocabulary import ActorKind
from sasweb.holding import HOLD
from tests.support.finished_orders import archive, finished_order
from tests.support.two_sessions import NewSession
from tests.web.following import about, happen, started
from tests.web.helpers import ORDERS, assert_problem, mistakes, place, run_submission
from tests.web.server import Server
from tests.web.waiters import Waiter, until_held

CHANGES = "/api/v1/changes"
LONG = 60

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It does not poll while a test lasts, so a response arrives because of a wake-up."""
    log = tmp_path_factory.mktemp("changes") / "log"
    yield from started(Server(log, application="tests.web.unhurried:application", **about("changes")))


def page(client: APIClient, **query: Any) -> dict[str, Any]:
    response = client.get(CHANGES, query)
    assert response.status_code == 200, response.content
    body: dict[str, Any] = response.json()
    return body


def order_id(client: APIClient) -> UUID:
    return UUID(place(client)["id"])


def test_a_page_takes_four_statements_whatever_its_size(
    ada: APIClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    cursor = page(ada)["cursor"]
    for expected in (1, 4):
        place(ada)
        run_submission()
        latest = page(ada, after=cursor)["results"]
        with django_assert_num_queries(
            4
        ):  # the token, how far the feed is settled, the changes, their orders
            assert page(ada, after=cursor)["results"] == latest
        assert len(latest) == expected
        for _ in range(2):
            place(ada)


def test_what_happens_to_an_order_is_in_its_clients_feed(ada: APIClient, bob: APIClient) -> None:
    order = order_id(ada)
    run_submission()
    happen(order)
    (received, begun) = page(ada)["results"]
    assert (received["kind"], begun["kind"]) == ("received", "step_started")
    assert received["order_id"] == begun["order_id"] == str(order)
    (event, _) = ada.get(f"{ORDERS}/{order}/events").json()["results"]
    assert event.items() <= received.items()
    (summary,) = ada.get(ORDERS).json()["results"]
    assert received["order"] == begun["order"] == summary
    assert page(bob)["results"] == []


@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_client_goes_on_from_its_cursor(ada: APIClient, size: int) -> None:
    order = order_id(ada)
    run_submission()
    for _ in range(4):
        happen(order)
    ids: list[int] = []
    body = page(ada, page_size=size)
    while True:
        ids += [change["id"] for change in body["results"]]
        assert len(body["results"]) <= size
        assert body["next"] == f"{CHANGES}?{urlencode({'page_size': size, 'after': body['cursor']})}"
        if not body["has_more"]:
            break
        body = ada.get(body["next"]).json()
    events = ada.get(f"{ORDERS}/{order}/events").json()["results"]
    assert ids == [event["id"] for event in events] and len(ids) == 5
    assert page(ada, after=body["cursor"])["results"] == []
    happen(order)
    assert [change["kind"] for change in page(ada, after=body["cursor"])["results"]] == ["step_started"]


def test_latest_skips_what_has_happened(ada: APIClient) -> None:
    order = order_id(ada)
    run_submission()
    latest = page(ada, after="latest")
    assert (latest["results"], latest["has_more"]) == ([], False)
    happen(order)
    (change,) = page(ada, after=latest["cursor"])["results"]
    assert change["kind"] == "step_started"


def test_a_submission_that_is_set_aside_is_in_the_feed(ada: APIClient) -> None:
    order = order_id(ada)
    ada.post(f"{ORDERS}/{order}/cancel")
    (change,) = page(ada)["results"]
    assert (change["order_id"], change["reason"]) == (str(order), "customer_cancelled")


@pytest.mark.parametrize(
    "after",
    ["", "7", "earliest", "A" * 37, "A" * 39, "_" * 38, "A" * 37 + "=", "A" * 37 + "B", "a b", "é" * 38],
)
def test_what_is_no_cursor_is_refused(ada: APIClient, after: str) -> None:
    assert mistakes(ada.get(CHANGES, {"after": after})) == ["after"]


@pytest.mark.parametrize("query", [{"wait": 61}, {"wait": "x"}, {"page_size": 101}, {"before": 1}])
def test_other_parameters_are_checked(ada: APIClient, query: dict[str, Any]) -> None:
    assert mistakes(ada.get(CHANGES, query)) == list(query)


def a_cursor(*, now: datetime, of: Epoch | None = None) -> str:
    return str(cursor_at(FeedPoint(1, 0), of or epoch(), now=now))


@pytest.mark.parametrize("days", [30, 7])
def test_a_cursor_is_good_for_as_long_as_changes_are_kept(ada: APIClient, settings: Any, days: int) -> None:
    settings.CONFIG = replace(settings.CONFIG, keep_finished=90.0 if days == 30 else 7.0)
    young = a_cursor(now=timezone.now() - timedelta(days=days, minutes=-1))
    old = a_cursor(now=timezone.now() - timedelta(days=days, minutes=1))
    assert page(ada, after=young)["results"] == []
    problem = assert_problem(ada.get(CHANGES, {"after": old}), "cursor_expired")
    assert problem["begin"] == f"{CHANGES}?after=latest"
    assert ada.get(problem["begin"]).status_code == 200


def test_a_cursor_from_before_a_restore_is_refused(ada: APIClient) -> None:
    cursor = page(ada)["cursor"]
    assert page(ada, after=cursor)["results"] == []
    FeedEpoch.objects.update(cluster="the one that burnt down")
    assert_problem(ada.get(CHANGES, {"after": cursor}), "cursor_expired")
    other = a_cursor(now=timezone.now(), of=epoch()._replace(cluster="another"))
    assert_problem(ada.get(CHANGES, {"after": other}), "cursor_expired")
    unknown = assert_problem(ada.get(CHANGES, {"after": "A" * 38}), "cursor_expired")
    assert unknown["detail"].startswith(
        "This is not a cursor of this database as it is now. It may come from before"
    )


def test_the_changes_of_an_archived_order_are_in_its_history_only(ada: APIClient) -> None:
    order = finished_order(purchase={"customer": ada.user}, days=100)
    state_store.record_events([EventRow(order, "step_started", Actor(ActorKind.SCHEDULER, "s"))])
    assert len(page(ada)["results"]) == 1
    archive(order)
    assert page(ada)["results"] == []
    assert len(ada.get(f"{ORDERS}/{order}/events").json()["results"]) == 3


def test_a_change_answers_whoever_waits_for_it(server: Server, ada: APIClient, bob: APIClient) -> None:
    order, others = order_id(ada), order_id(bob)
    run_submission()
    cursors = {client: page(client)["cursor"] for client in (ada, bob)}
    paths = {client: f"{CHANGES}?after={cursor}&wait={LONG}" for client, cursor in cursors.items()}
    waiter, other = (Waiter(server, path, client.token) for client, path in paths.items())
    until_held(server, waits=2)
    happen(order)
    answer = waiter.answer()
    assert [change["order_id"] for change in answer.json["results"]] == [str(order)]
    assert page(ada, after=answer.json["cursor"])["results"] == []
    until_held(server, waits=1)
    assert not other.is_answered()
    happen(others)
    assert len(other.answer().json["results"]) == 1
    until_held(server)


def test_a_waiter_beside_a_slow_transaction_is_answered_when_it_ends(
    server: Server, ada: APIClient, new_session: NewSession
) -> None:
    """The slow one wakes nobody at its end, as if its wake-up were lost."""
    first, second, slow = order_id(ada), order_id(ada), new_session()
    run_submission()
    cursor = page(ada)["cursor"]
    slow.begin()
    slow.do(
        lambda: state_store.record_events([EventRow(first, "step_started", Actor(ActorKind.SCHEDULER, "s"))])
    )
    happen(second)
    waiter = Waiter(server, f"{CHANGES}?after={cursor}&wait={LONG}", ada.token)
    until_held(server, waits=1)
    assert not waiter.is_answered()
    slow.commit()
    body = waiter.answer(seconds=20).json
    assert {change["order_id"] for change in body["results"]} == {str(first), str(second)}


def test_without_a_change_the_answer_is_an_empty_page_with_a_cursor(server: Server, ada: APIClient) -> None:
    cursor = page(ada, after="latest")["cursor"]
    answer = Waiter(server, f"{CHANGES}?after={cursor}&wait=1", ada.token).answer()
    assert (answer.status, answer.json["results"], answer.json["has_more"]) == (200, [], False)
    assert page(ada, after=answer.json["cursor"])["results"] == []


def test_who_has_changes_to_read_does_not_wait(ada: APIClient) -> None:
    order_id(ada)
    run_submission()
    scope: dict[str, Any] = {}
    ada.get(CHANGES, {"wait": LONG}, **{"asgi.scope": scope})
    assert HOLD not in scope
