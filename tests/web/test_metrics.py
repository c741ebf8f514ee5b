"""Who may read /metrics, and how little it asks of the database however many do."""

import dataclasses
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from pytest_django import Settings

from orders.metrics import access
from orders.metrics.families import read_metrics
from orders.metrics.scrape import NoAnswerError, Scrape
from tests.support.people import person, signed_in

LOCAL = {"HTTP_HOST": "127.0.0.1:8000"}
TOKEN = "0123456789-0123456789-0123456789"


@pytest.fixture(autouse=True)
def open_to_this_machine(settings: Settings) -> None:
    """As `METRICS_OPEN` has it."""
    settings.CONFIG = dataclasses.replace(settings.CONFIG, metrics_open=True)


@pytest.fixture(autouse=True)
def read_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing that an earlier test has read is answered."""
    monkeypatch.setattr(access, "SCRAPE", Scrape(read_metrics))
    yield


def get(**headers: str) -> Any:
    return Client().get("/metrics", **(LOCAL | headers))  # type: ignore[arg-type]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "[::1]"])
def test_a_program_on_this_machine_reads_them(host: str) -> None:
    answer = get(HTTP_HOST=host)
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    assert b"# HELP sasweb_orders Orders that have not finished, by state.\n" in answer.content


@pytest.mark.django_db
@pytest.mark.parametrize(
    "headers",
    [
        {"REMOTE_ADDR": "10.0.0.9"},
        {"REMOTE_ADDR": ""},
        {
            "HTTP_HOST": "shop.example.org"
        },  # a proxy that says nothing of itself, or a page that rebinds its name
        {"HTTP_HOST": "localhost.example.org"},
        {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"HTTP_FORWARDED": "for=127.0.0.1"},
        {"HTTP_VIA": "1.1 proxy"},
        {"HTTP_X_REAL_IP": "127.0.0.1"},
    ],
)
def test_for_anybody_else_there_is_no_such_page(headers: dict[str, str]) -> None:
    answer = get(**headers)
    assert answer.status_code == 404
    assert b"sasweb_" not in answer.content


@pytest.mark.django_db
def test_without_a_setting_there_is_no_such_page_for_this_machine_either(settings: Settings) -> None:
    """A bare nginx names this machine as its host and adds no header, so it looks the same as a program here."""
    settings.CONFIG = dataclasses.replace(settings.CONFIG, metrics_open=False)
    answer = get()
    assert answer.status_code == 404
    assert b"sasweb_" not in answer.content


@pytest.mark.django_db
def test_an_admin_who_is_signed_in_is_anybody_else() -> None:
    assert signed_in(person("admin")).get("/metrics").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_with_a_token_set_it_alone_opens_them_from_everywhere(settings: Settings) -> None:
    settings.CONFIG = dataclasses.replace(settings.CONFIG, metrics_token=TOKEN)
    far = {"REMOTE_ADDR": "10.0.0.9", "HTTP_HOST": "10.0.0.1:8000"}
    assert get(**far, HTTP_AUTHORIZATION=f"Bearer {TOKEN}").status_code == 200
    for wrong in ({}, {"HTTP_AUTHORIZATION": f"Bearer {TOKEN}x"}, {"HTTP_AUTHORIZATION": f"Token {TOKEN}"}):
        for place in (far, LOCAL):
            answer = get(**(place | wrong))
            assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="metrics"')
            assert TOKEN.encode() not in answer.content


@pytest.mark.django_db
def test_they_are_only_read() -> None:
    assert Client().post("/metrics", **LOCAL).status_code == 405  # type: ignore[arg-type]


def test_many_who_ask_within_a_few_seconds_cost_one_read() -> None:
    reads, now = [], [100.0]
    scrape = Scrape(lambda: reads.append(1) or b"%d" % len(reads), lifetime=5, clock=lambda: now[0])
    assert [scrape.text() for _ in range(50)] == [b"1"] * 50
    now[0] += 4.9
    assert scrape.text() == b"1"
    now[0] += 0.2
    assert scrape.text() == b"2"


def test_those_who_ask_while_it_is_read_wait_for_the_same_answer() -> None:
    reads, go = [], threading.Event()

    def read() -> bytes:
        reads.append(1)
        assert go.wait(20)
        return b"read"

    scrape = Scrape(read, timeout=20)
    answers: list[bytes] = []
    threads = [threading.Thread(target=lambda: answers.append(scrape.text())) for _ in range(10)]
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(20)
    assert (answers, reads) == ([b"read"] * 10, [1])


def test_a_database_that_hangs_is_answered_503_in_time_and_is_asked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go = threading.Event()
    reads = []

    def read() -> bytes:
        reads.append(1)
        go.wait(20)
        return b""

    monkeypatch.setattr(access, "SCRAPE", Scrape(read, timeout=0.01))
    for _ in range(3):
        answer = get()
        assert (answer.status_code, answer.content) == (503, b"the database did not answer within 0 s\n")
    go.set()
    assert reads == [1]


def test_a_database_that_refuses_is_answered_503_and_asked_again_at_once() -> None:
    failures = [OperationalError("the server closed the connection\nunexpectedly")]

    def read() -> bytes:
        if failures:
            raise failures.pop()
        return b"well"

    scrape = Scrape(read)
    with pytest.raises(NoAnswerError, match=r"^the database does not answer$"):
        scrape.text()
    assert scrape.text() == b"well"
