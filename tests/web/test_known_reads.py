"""Whether an order is still as its reader knows it: answered in the event loop, and by Django. Both say the same."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.utils import timezone
from rest_framework.test import APIClient

from orders.access import api_versions
from orders.access.purses import PURSES
from orders.api import django_headers, known_reads
from orders.api.known_reads import KnownReads
from orders.api.together import CROWD
from orders.models import ApiToken, Bucket, Event
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.conftest import Limits, sign_in
from tests.web.helpers import change_state, place, run_submission
from tests.web.server import Server, running

pytestmark = pytest.mark.django_db(transaction=True)

DJANGO = {"Cookie": "theme=dark"}
"""Has Django answer, to which it makes no difference."""


class Known(NamedTuple):
    """An order in the state store, and what its reader sends who knows it."""

    path: str
    headers: dict[str, str]


@pytest.fixture
def reader(ada: APIClient) -> Known:
    return known_order(ada)


def known_order(client: APIClient) -> Known:
    path = place(client)["links"]["self"]
    run_submission()
    etag = client.get(path)["ETag"]  # this notes the token's use
    return Known(path, {"Authorization": f"Token {client.token}", "If-None-Match": etag})


def note_event(order_id: str) -> None:
    Event.objects.create(
        order_id=order_id, kind="claimed", actor_kind="scheduler", actor_name="scheduler:test"
    )


def scope_of(path: str, headers: dict[str, str], **changes: Any) -> dict[str, Any]:
    sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": "http",
        "scheme": "http",
        "method": "GET",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"localhost"), *sent],
        **changes,
    }


def ask(*scopes: dict[str, Any]) -> Sequence[list[dict[str, Any]]]:
    """The messages of each answer; none of what goes on to Django."""

    async def ask_one(reads: KnownReads, scope: dict[str, Any]) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)

        assert await reads.answer(scope, send) is bool(messages)
        return messages

    async def ask_all() -> Sequence[list[dict[str, Any]]]:
        reads = KnownReads()
        return await asyncio.gather(*(ask_one(reads, scope) for scope in scopes))

    return asyncio.run(asyncio.wait_for(ask_all(), 60.0))


def is_answered(path: str, headers: dict[str, str], **changes: Any) -> bool:
    (messages,) = ask(scope_of(path, headers, **changes))
    if messages:
        assert [message.get("status") for message in messages] == [304, None]
    return bool(messages)


def test_an_unchanged_order_is_answered_at_once(reader: Known) -> None:
    for more in (
        {},
        {"Accept": "text/html, application/json"},
        {"Accept": "*/*"},
        {"X-Request-ID": "0123456789"},
        {"Accept-Encoding": "gzip", "User-Agent": "curl/8"},
        {"If-None-Match": "*"},
        {"If-None-Match": f'"other", {reader.headers["If-None-Match"]}'},
    ):
        assert is_answered(reader.path, {**reader.headers, **more}), more


@pytest.mark.parametrize("version", [each.name for each in api_versions.VERSIONS])
def test_each_version_of_the_api_is_answered_at_once(reader: Known, version: str) -> None:
    ApiToken.objects.update(version=version)
    ((start, _),) = ask(scope_of(*reader))
    assert (b"api-version", version.encode()) in start["headers"]


def test_a_version_that_has_ended_goes_to_django(reader: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    oldest, *others = api_versions.VERSIONS
    ends = replace(oldest, ends_at=timezone.now() - timedelta(seconds=1))
    ApiToken.objects.update(version=oldest.name)
    assert is_answered(*reader)
    monkeypatch.setattr(api_versions, "VERSIONS", (ends, *others))
    assert not is_answered(*reader)


def test_whatever_may_have_another_answer_goes_to_django(reader: Known) -> None:
    for more in (
        DJANGO,
        {"Prefer": "wait=5"},
        {"API-Version": "2020-01-01"},
        {"Content-Length": "2"},
        {"Transfer-Encoding": "chunked"},
        {"Expect": "100-continue"},
        {"Accept": "text/html"},
        {"Accept": "application/json;q=0"},
        {"If_None_Match": "*"},
        {"If-None-Match": '"0-pending"'},
        {"If-None-Match": ""},
        {"Authorization": "Token sas_wrong"},
        {"Authorization": f"Token sas_{'x' * 43}"},
        {"Authorization": "Basic YTpi"},
    ):
        assert not is_answered(reader.path, {**reader.headers, **more}), more
    changes: dict[str, Any]
    for changes in (
        {"method": "HEAD"},
        {"method": "POST"},
        {"query_string": b"fields=id"},
        {"root_path": "/elsewhere"},
        *(
            {"path": path.format(reader.path)}
            for path in ("/api/v1/orders", "{}/", "{}/events", "/{}", "{}%00")
        ),
    ):
        assert ask({**scope_of(*reader), **changes}) == [[]], changes
    assert is_answered(*reader)


def test_a_header_that_comes_twice_goes_to_django(reader: Known) -> None:
    scope = scope_of(*reader)
    scope["headers"].append((b"authorization", reader.headers["Authorization"].encode()))
    assert ask(scope) == [[]]


def test_an_unknown_host_goes_to_django(reader: Known) -> None:
    scope = scope_of(*reader)
    scope["headers"][0] = (b"host", b"elsewhere.example")
    assert ask(scope) == [[]]


def test_a_changed_order_goes_to_django(reader: Known) -> None:
    order_id = reader.path.rpartition("/")[2]
    change_state(order_id, "processing")
    assert not is_answered(*reader)
    reader.headers["If-None-Match"] = reader.headers["If-None-Match"].replace("pending", "processing")
    assert is_answered(*reader)
    note_event(order_id)
    assert not is_answered(*reader)


def test_another_clients_order_goes_to_django_whatever_she_knows(reader: Known, bob: APIClient) -> None:
    theirs = {**known_order(bob).headers, "If-None-Match": "*"}
    assert not is_answered(reader.path, theirs)


@pytest.mark.parametrize("is_inserted", [False, True], ids=["queued", "set aside"])
def test_an_order_outside_the_state_store_goes_to_django(ada: APIClient, is_inserted: bool) -> None:
    headers = {**known_order(ada).headers, "If-None-Match": "*"}
    path = place(ada)["links"]["self"]
    if is_inserted:
        run_submission()
    assert is_answered(path, headers) is is_inserted


def test_a_token_that_is_not_valid_goes_to_django_at_once(reader: Known) -> None:
    now = timezone.now()
    for changes, undone in (
        ({"expires_at": now - timedelta(seconds=1), "created_at": now - timedelta(days=1)}, {}),
        ({"last_used_at": now - timedelta(seconds=61)}, {"last_used_at": now}),
        ({"last_used_at": None}, {"last_used_at": now}),
        ({"version": "2020-01-01"}, {"version": api_versions.newest().name}),
    ):
        before = ApiToken.objects.values("expires_at", "created_at", "version").get()
        ApiToken.objects.update(**changes)
        assert not is_answered(*reader), changes
        ApiToken.objects.update(**{**before, **undone})
        assert is_answered(*reader)
    User.objects.update(is_active=False)
    assert not is_answered(*reader)
    User.objects.update(is_active=True)
    ApiToken.objects.all().delete()
    assert not is_answered(*reader)


def test_reads_count_on_both_ways(reader: Known, ada: APIClient, only: Limits) -> None:
    only(reads__account=3)
    Bucket.objects.all().delete()
    PURSES.forget()
    assert is_answered(*reader)
    assert ada.get(reader.path).status_code == 200
    assert is_answered(*reader)
    assert not is_answered(*reader), "the limit is used up, and Django says so"
    assert ada.get(reader.path).status_code == 429


def test_many_questions_are_answered_with_few_statements(
    reader: Known, bob: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = known_order(bob)
    sizes: list[int] = []
    versions_seen = known_reads.versions_seen

    def note(readings: Sequence[Any], **usable: Any) -> Any:
        sizes.append(len(readings))
        return versions_seen(readings, **usable)

    monkeypatch.setattr(known_reads, "versions_seen", note)
    crossed = [Known(reader.path, theirs.headers), Known(theirs.path, reader.headers)]
    answers = ask(*(scope_of(*each) for each in [reader, *crossed, theirs] * 100))
    assert [bool(answer) for answer in answers] == [True, False, False, True] * 100
    assert sum(sizes) == 400 and len(sizes) <= 5
    etags = [dict(answer[0]["headers"])[b"etag"].decode() for answer in answers if answer]
    assert etags == [reader.headers["If-None-Match"], theirs.headers["If-None-Match"]] * 100


def test_a_crowd_goes_to_django(reader: Known) -> None:
    answers = ask(*[scope_of(*reader)] * (CROWD + 50))
    assert sum(not answer for answer in answers) == 50


@pytest.mark.parametrize("error", [OperationalError("no"), ValueError("a mistake of ours")])
def test_what_fails_goes_to_django(reader: Known, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(known_reads, "versions_seen", fail)
    assert ask(*[scope_of(*reader)] * 3) == [[]] * 3
    monkeypatch.undo()
    assert is_answered(*reader)


def test_a_secure_answer_says_what_django_says_of_secure_ones(reader: Known, settings: Any) -> None:
    settings.SECURE_HSTS_SECONDS = 60
    django_headers.django_of.cache_clear()
    django_headers.headers_from_django.cache_clear()
    try:
        ((start, _),) = ask(scope_of(*reader, scheme="https"))
        assert dict(start["headers"])[b"strict-transport-security"] == b"max-age=60"
        settings.SECURE_SSL_REDIRECT = True
        django_headers.django_of.cache_clear()
        django_headers.headers_from_django.cache_clear()
        assert not is_answered(*reader), "which Django sends to https"
    finally:
        django_headers.django_of.cache_clear()
        django_headers.headers_from_django.cache_clear()


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("known") / "log"
    limits = {"LIMITS": "reads.account=100000/60", "DATABASE_POOL": "1"}
    with running(Server(log, database_url=database_url(), **limits)) as server:
        yield server


@pytest.mark.parametrize("version", [each.name for each in api_versions.VERSIONS])
def test_both_ways_say_the_same(server: Server, reader: Known, version: str) -> None:
    ApiToken.objects.update(version=version)
    headers = {**reader.headers, "X-Request-ID": "the-same-for-both"}
    here, there = (server.request("GET", reader.path, headers={**headers, **more}) for more in ({}, DJANGO))
    assert (here.status, here.body) == (there.status, there.body) == (304, b"")
    for answer in (here, there):
        name, tokens, _ = answer.headers["ratelimit"].split(";")
        assert name == '"reads.account"' and tokens.startswith("r=")
    changing = {"date": "", "ratelimit": ""}
    assert {**here.headers, **changing} == {**there.headers, **changing}
    assert here.headers["api-version"] == version


@pytest.mark.parametrize("more", [{}, DJANGO], ids=["event loop", "Django"])
def test_what_is_asked_is_answered_alike(server: Server, reader: Known, bob: APIClient, more: Any) -> None:
    """The suite of a conditional read, on both ways."""

    def ask_for(path: str, **changes: str) -> tuple[int, str]:
        headers = {
            **reader.headers,
            **more,
            **{name.replace("_", "-"): text for name, text in changes.items()},
        }
        answer = server.request("GET", path, headers=headers)
        code = answer.json.get("code", "") if answer.body else ""
        assert answer.headers["x-request-id"]
        return answer.status, code

    theirs = known_order(bob)
    assert ask_for(reader.path) == (304, "")
    assert ask_for(reader.path, If_None_Match="*") == (304, "")
    assert ask_for(reader.path, If_None_Match='"0-pending"') == (200, "")
    assert ask_for(theirs.path, If_None_Match="*") == (404, "not_found")
    assert ask_for(reader.path, Authorization=f"Token sas_{'x' * 43}") == (401, "invalid_token")
    assert ask_for(reader.path, Accept="text/html") == (406, "not_acceptable")
    assert ask_for(reader.path, Host="elsewhere.example")[0] == 400
    change_state(reader.path.rpartition("/")[2], "processing")
    assert ask_for(reader.path) == (200, "")
    ApiToken.objects.filter(user__username="ada").delete()
    assert ask_for(reader.path) == (401, "invalid_token")


def test_a_change_is_never_answered_as_unchanged(server: Server, reader: Known) -> None:
    """What was committed before a request is seen by it, however many ask at the time."""
    order_id = reader.path.rpartition("/")[2]
    for _ in range(20):
        etag = server.request(
            "GET", reader.path, headers={"Authorization": reader.headers["Authorization"]}
        ).headers["etag"]
        headers = {**reader.headers, "If-None-Match": etag}
        assert server.request("GET", reader.path, headers=headers).status == 304
        note_event(order_id)
        assert server.request("GET", reader.path, headers=headers).status == 200


def test_the_use_of_a_token_is_noted_although_nothing_changes(server: Server, reader: Known) -> None:
    long_ago = timezone.now() - timedelta(minutes=5)
    ApiToken.objects.update(last_used_at=long_ago)
    assert server.request("GET", reader.path, headers=reader.headers).status == 304
    until(lambda: ApiToken.objects.get().last_used_at > long_ago, seconds=20, what="the token's use")


def test_accounts_do_not_share_what_they_know(server: Server, catalogue: None) -> None:
    clients = [known_order(sign_in(f"client-{number}")) for number in range(4)]
    for client in clients:
        for read in clients:
            answer = server.request("GET", read.path, headers={**client.headers, "If-None-Match": "*"})
            assert answer.status == (304 if read is client else 404)
