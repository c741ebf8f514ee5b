"""`Prefer: wait=N`: the response arrives with the change, or when the time is up."""

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from rest_framework.test import APIClient

from orders.api import views, waiting
from orders.api.waiting import WaitingRoom
from orders.selectors import orders as order_selectors
from sasweb import shutdown
from tests.support.finished_orders import archive, finished_order
from tests.web.helpers import ORDERS, in_threads, place, run_submission

LONG = 30
SOON = 20.0
"""Seconds within which a response arrives once nothing holds it back."""


@pytest.fixture
def clear_stopping() -> Iterator[None]:
    yield
    shutdown.STOPPING.clear()


@pytest.fixture
def polled(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when a waiting request has polled the database."""
    event, ask = threading.Event(), order_selectors.order_version

    def ask_and_signal(order_id: Any) -> str:
        version = ask(order_id)
        event.set()
        return version

    monkeypatch.setattr(order_selectors, "order_version", ask_and_signal)
    return event


def get_in_thread(client: APIClient, url: str, **headers: str) -> Callable[[], Any]:
    """Sends a GET in a thread. The function returned waits for the response."""

    def get(_: int) -> Any:
        begun = time.monotonic()
        response = client.get(url, headers=headers)
        response.took = time.monotonic() - begun
        return response

    (future,) = in_threads(1, get)
    return lambda: future.result(timeout=LONG)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_etag", [False, True], ids=["from the request on", "from a version on"])
def test_the_response_arrives_with_the_change(
    ada: APIClient, polled: threading.Event, has_etag: bool
) -> None:
    url = place(ada)["links"]["self"]
    headers = {"If-None-Match": ada.get(url)["ETag"]} if has_etag else {}
    answer = get_in_thread(ada, url, Prefer=f"wait={LONG}", **headers)
    assert polled.wait(SOON)
    run_submission()
    response = answer()
    assert (response.status_code, response["Preference-Applied"]) == (200, f"wait={LONG}")
    assert len(response.json()["steps"]) == 5
    assert response.took < SOON


@pytest.mark.django_db
def test_a_client_with_an_older_version_gets_a_response_at_once(ada: APIClient) -> None:
    url = place(ada)["links"]["self"]
    response = ada.get(url, headers={"Prefer": f"wait={LONG}", "If-None-Match": '"an-older-one"'})
    assert response.status_code == 200
    assert "Preference-Applied" not in response


@pytest.mark.django_db
@pytest.mark.parametrize(("headers", "status"), [({"If-None-Match": "*"}, 304), ({}, 200)])
def test_without_a_change_the_response_arrives_when_the_time_is_up(
    ada: APIClient, headers: dict[str, str], status: int
) -> None:
    url = place(ada)["links"]["self"]
    begun = time.monotonic()
    response = ada.get(url, headers={"Prefer": "wait=1", **headers})
    assert (response.status_code, response["Preference-Applied"]) == (status, "wait=1")
    assert 1 <= time.monotonic() - begun < SOON


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["processed", "compensated", "archived"])
def test_a_finished_order_is_not_waited_for_unless_it_is_known(ada: APIClient, state: str) -> None:
    is_archived = state == "archived"
    order_id = finished_order(
        state="processed" if is_archived else state, purchase={"customer": ada.user}, days=1
    )
    if is_archived:
        archive(order_id)
    url, begun = f"{ORDERS}/{order_id}", time.monotonic()
    response = ada.get(url, headers={"Prefer": f"wait={LONG}"})
    assert (response.status_code, "Preference-Applied" in response) == (200, False)
    assert time.monotonic() - begun < SOON
    same = ada.get(url, headers={"Prefer": "wait=1", "If-None-Match": response["ETag"]})
    assert (same.status_code, same["Preference-Applied"]) == (304, "wait=1")


@pytest.mark.django_db
@pytest.mark.parametrize("preference", ["wait=0", "wait=x", "wait", "respond-async", "wait=-1", "waiting=9"])
def test_an_invalid_preference_is_ignored(ada: APIClient, preference: str) -> None:
    response = ada.get(place(ada)["links"]["self"], headers={"Prefer": preference})
    assert response.status_code == 200
    assert "Preference-Applied" not in response


@pytest.mark.django_db
def test_nobody_waits_when_all_places_are_taken(ada: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "ROOM", WaitingRoom(0))
    begun = time.monotonic()
    response = ada.get(place(ada)["links"]["self"], headers={"Prefer": f"wait={LONG}"})
    assert response.status_code == 200
    assert "Preference-Applied" not in response
    assert time.monotonic() - begun < SOON


@pytest.mark.django_db
def test_a_wait_is_limited_to_a_minute(ada: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    room = SimpleNamespace(wait=lambda _, *, request, seconds: waits.append(seconds) or True)
    monkeypatch.setattr(views, "ROOM", room)
    response = ada.get(place(ada)["links"]["self"], headers={"Prefer": "respond-async, wait=99999999999"})
    assert (waits, response["Preference-Applied"]) == ([60], "wait=60")


@pytest.mark.django_db(transaction=True)
def test_a_waiting_request_is_answered_when_the_process_stops(
    ada: APIClient, polled: threading.Event, clear_stopping: None
) -> None:
    answer = get_in_thread(ada, place(ada)["links"]["self"], Prefer=f"wait={LONG}")
    assert polled.wait(SOON)
    shutdown.STOPPING.set()
    assert answer().took < SOON


def request_of(disconnected: threading.Event, *, account: int = 1, address: str = "192.0.2.1") -> Any:
    meta = {"asgi.scope": {"sasweb.gone": disconnected}, "REMOTE_ADDR": address}
    return SimpleNamespace(META=meta, user=SimpleNamespace(pk=account))


@pytest.mark.django_db
def test_waiting_ends_when_the_client_disconnects() -> None:
    disconnected = threading.Event()
    polls = 0

    def ask() -> bool:
        nonlocal polls
        polls += 1
        if polls == 2:
            disconnected.set()
        return False

    assert WaitingRoom(1).wait(ask, request=request_of(disconnected), seconds=LONG)
    assert polls == 2


@pytest.mark.django_db
def test_a_place_is_freed_when_polling_fails() -> None:
    room = WaitingRoom(1)

    def fail() -> bool:
        raise RuntimeError

    for _ in range(3):
        with pytest.raises(RuntimeError):
            room.wait(fail, request=request_of(threading.Event()), seconds=LONG)


def test_at_most_half_of_the_threads_may_wait() -> None:
    assert waiting.ROOM._places == 16


@pytest.mark.django_db
def test_one_client_has_at_most_a_quarter_of_the_places_whether_by_account_or_by_address() -> None:
    room, has_ended, held = WaitingRoom(8), threading.Event(), threading.Semaphore(0)

    def wait(account: int, address: str) -> bool:
        def poll() -> bool:
            held.release()
            return has_ended.wait(LONG)

        return room.wait(
            poll, request=request_of(threading.Event(), account=account, address=address), seconds=LONG
        )

    def holds(account: int, address: str) -> Callable[[], bool]:
        (future,) = in_threads(1, lambda _: wait(account, address))
        assert held.acquire(timeout=SOON)
        return lambda: future.result(timeout=LONG)

    waiting_ones = [holds(1, "192.0.2.1"), holds(1, "192.0.2.2")]
    assert not wait(1, "192.0.2.3")
    waiting_ones += [holds(2, "2001:db8::1"), holds(3, "2001:db8::2")]
    assert not wait(4, "2001:db8::3")
    waiting_ones += [holds(number, f"192.0.2.{number}") for number in range(5, 9)]
    assert not wait(9, "192.0.2.9")
    has_ended.set()
    assert all(result() for result in waiting_ones)
    assert wait(1, "192.0.2.1")
