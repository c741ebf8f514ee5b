"""Whom a request comes from: only what trusted proxies say is believed."""

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from sasweb import proxies
from sasweb.proxies import see_through
from sasweb.public_hosts import read_networks

TRUSTED = read_networks(["10.0.0.0/8", "127.0.0.1", "fd00::/8"])


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    """A process that has not warned yet."""
    proxies._warned.clear()
    yield
    proxies._warned.clear()


def seen(
    peer: str | None, *forwarded: str, proto: str = "", trusted: Any = TRUSTED
) -> tuple[str | None, str]:
    """The client and the scheme that the application sees."""
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in forwarded]
    if proto:
        headers.append((b"x-forwarded-proto", proto.encode()))
    scope: dict[str, Any] = {
        "client": (peer, 1234) if peer is not None else None,
        "headers": headers,
        "scheme": "http",
    }
    see_through(scope, trusted)
    return scope["client"] and scope["client"][0], scope["scheme"]


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["203.0.113.9, 10.1.2.3"], "203.0.113.9"),
        ("127.0.0.1", ["203.0.113.9", "10.1.2.3"], "203.0.113.9"),  # the same as two lines
        ("127.0.0.1", ["1.1.1.1, 203.0.113.9, 10.1.2.3"], "203.0.113.9"),  # the client wrote the first
        ("127.0.0.1", ["10.9.9.9, 203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["10.9.9.9"], "10.9.9.9"),  # somebody in our own network
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["203.0.113.9:5555"], "203.0.113.9"),
        ("127.0.0.1", ["[2001:db8::1]:5555"], "2001:db8::1"),
        ("127.0.0.1", ["2001:db8::1"], "2001:db8::1"),
        ("::ffff:127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["::ffff:203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["203.0.113.9, unknown, 10.1.2.3"], "10.1.2.3"),
        ("127.0.0.1", ["'; DROP TABLE", "\xff"], "127.0.0.1"),
        ("fd00::1", ["203.0.113.9"], "203.0.113.9"),
        ("203.0.113.77", ["127.0.0.1"], "203.0.113.77"),  # no proxy of ours
    ],
)
def test_the_client_is_the_last_that_is_no_trusted_proxy(
    peer: str, forwarded: list[str], client: str
) -> None:
    assert seen(peer, *forwarded)[0] == client


def test_nobody_is_trusted_by_default() -> None:
    assert seen("127.0.0.1", "203.0.113.9", proto="https", trusted=()) == ("127.0.0.1", "http")


def test_the_scheme_is_believed_from_trusted_proxies_alone() -> None:
    assert seen("10.0.0.1", "203.0.113.9", proto="https") == ("203.0.113.9", "https")
    assert seen("10.0.0.1", "203.0.113.9", proto="http, https")[1] == "https"
    assert seen("10.0.0.1", proto="gopher")[1] == "http"
    assert seen("203.0.113.77", proto="https")[1] == "http"


def test_a_long_list_is_read_from_its_end() -> None:
    assert seen("127.0.0.1", ", ".join(["1.1.1.1"] * 5_000 + ["203.0.113.9"]))[0] == "203.0.113.9"


@pytest.mark.parametrize("peer", [None, "", "unix"])
def test_a_socket_without_an_address_stays_as_it_is(peer: str | None) -> None:
    assert seen(peer, "203.0.113.9")[0] == peer


def test_a_proxy_that_is_missing_from_the_setting_is_reported_once() -> None:
    with capture_logs() as lines:
        seen("10.0.0.1", "203.0.113.9", trusted=())
        seen("10.0.0.1", "203.0.113.9", trusted=())
        seen("10.0.0.1", trusted=TRUSTED)
    assert [line["event"] for line in lines] == ["X-Forwarded-For ignored"]
    assert lines[0]["peer"] == "10.0.0.1"


def test_strangers_cannot_cause_that_line() -> None:
    with capture_logs() as lines:
        seen("8.8.8.8", "203.0.113.9", trusted=())
    assert lines == []
