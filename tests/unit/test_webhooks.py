"""A webhook is called at a public address, or one that WEBHOOK_NETWORKS allows, once and within its time."""

import asyncio
import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from orders.outbox.delivery import call_heartbeat
from sasweb import config, webhooks
from sasweb.mail_server import NotSentError
from sasweb.public_hosts import is_public, read_literal
from tests.support.webhook import LOOPBACK, Webhook, webhook

INTERNAL = [
    *("0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1"),
    *("192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *(
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
    ),
    *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
    *("64:ff9b:1::808:808", "2002:7f00:1::", "2002:808:808::1", "2001:0:808:808::1", "100::1"),
]
PUBLIC = ["1.1.1.1", "93.184.215.14", "2606:4700::1111", "64:ff9b::808:808"]
ODD = ["2130706433", "0x7f.1", "127.1", "0177.0.0.1", "017700000001", "0x7f000001", "0"]
HANG = 30.0
"""Seconds after which what hangs in these tests ends, far longer than a call may take."""


@pytest.fixture
def hook(settings: Any) -> Iterator[Webhook]:
    settings.CONFIG = replace(settings.CONFIG, webhook_networks=LOOPBACK)
    with webhook() as receiver:
        yield receiver


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "TIMEOUT", 0.5)


def refusal(url: str, **options: Any) -> str:
    """Why a call failed."""
    with pytest.raises(NotSentError) as refused:
        webhooks.call(url, body=b"{}", **options)
    assert not refused.value.is_final
    return str(refused.value)


def leads_to(*addresses: str) -> Callable[..., Any]:
    """A name server that knows these addresses for every name, one at each look-up; the last one for ever."""
    rest = list(addresses)

    def look_up(host: str, port: int, **_: Any) -> Any:
        address = rest.pop(0) if len(rest) > 1 else rest[0]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    return look_up


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that accepts one connection; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(HANG)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(HANG)
                try:
                    answer(connection)
                except OSError:
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(HANG)
        assert not thread.is_alive()


# Which addresses.


def test_public_addresses_are_told_from_all_others() -> None:
    assert [text for text in INTERNAL if is_public(ip_address(text))] == []
    assert [text for text in PUBLIC if not is_public(ip_address(text))] == []


@pytest.mark.parametrize("name", ["ALERT_WEBHOOK_URL", "HEARTBEAT_URL"])
@pytest.mark.parametrize(
    "host", [*ODD, "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]"]
)
def test_an_address_that_is_not_public_stops_the_start(
    name: str, host: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VAR_DIR", str(tmp_path))
    monkeypatch.setenv(name, f"https://{host}/hook")
    with pytest.raises(config.ConfigError, match=f"{name}=.* is not valid; expected a URL .* public host"):
        config.read()


@pytest.mark.parametrize(
    ("url", "networks", "is_taken"),
    [
        ("https://hooks.example/", "", True),
        ("https://1.1.1.1/", "", True),
        ("http://hooks.example/", "", False),
        ("http://1.1.1.1/", "", False),
        ("http://1.1.1.1/", "10.0.0.0/8", False),
        ("http://10.1.2.3/", "10.0.0.0/8", True),
        ("https://10.1.2.3/", "192.168.0.0/16, 10.1.2.3", True),
        ("http://hooks.example/", "10.0.0.0/8", True),
        ("https://[::ffff:127.0.0.1]/", "127.0.0.0/8", False),
        ("https://[fd00::1]/", "fd00::/8", True),
    ],
)
def test_http_and_internal_addresses_need_their_network(
    url: str, networks: str, is_taken: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in (
        ("VAR_DIR", str(tmp_path)),
        ("ALERT_WEBHOOK_URL", url),
        ("WEBHOOK_NETWORKS", networks),
    ):
        monkeypatch.setenv(name, value)
    if is_taken:
        assert config.read().alert_webhook_url == url.rstrip("/")
    else:
        with pytest.raises(config.ConfigError, match=r"^ALERT_WEBHOOK_URL="):
            config.read()


@pytest.mark.parametrize("host", [*ODD, "127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "①②⑦.0.0.1"])
def test_no_form_of_an_address_gets_through_to_it(hook: Webhook, settings: Any, host: str) -> None:
    """The receiver is there, and would answer."""
    settings.CONFIG = replace(settings.CONFIG, webhook_networks=(ip_network("10.0.0.0/8"),))
    url = hook.url.replace("127.0.0.1", host)
    for each in (url, url.replace("http://", "https://")):
        refusal(each)
    assert call_heartbeat(url) is False
    assert hook.received == []


def test_odd_forms_are_read_as_the_system_reads_them() -> None:
    for text in ODD:
        ((*_, (address, _)),) = socket.getaddrinfo(
            text, 1, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )
        assert str(read_literal(text)) == address


def test_a_name_that_leads_to_another_address_at_the_next_look_up_is_not_followed(
    hook: Webhook, settings: Any
) -> None:
    """The check and the connection use one look-up: the name server is not asked again in between."""
    settings.CONFIG = replace(settings.CONFIG, webhook_networks=(ip_network("127.0.0.2"),))
    url = hook.url.replace("127.0.0.1", "hook.example")
    rebinding = leads_to("127.0.0.2", "127.0.0.1")
    assert "refused" in refusal(url, look_up=rebinding)  # it called 127.0.0.2, where nobody listens
    assert "its address is not public" in refusal(url, look_up=rebinding)
    assert hook.received == []


def test_a_public_address_is_not_called_over_http(settings: Any) -> None:
    settings.CONFIG = replace(settings.CONFIG, webhook_networks=LOOPBACK)
    assert "it needs https" in refusal("http://hook.example/", look_up=leads_to("1.1.1.1"))


def test_the_url_is_in_no_error_since_it_may_hold_a_secret(hook: Webhook) -> None:
    hook.status = 404
    errors = [
        refusal(f"{hook.url}/s3cret"),
        refusal("http://127.0.0.1:1/s3cret"),
        refusal("https://nowhere.invalid/s3cret"),
    ]
    assert not any("s3cret" in error for error in errors)


# How a call goes.


def test_a_call_goes_to_the_address_of_its_name_and_keeps_the_name(hook: Webhook) -> None:
    webhooks.call(
        hook.url.replace("127.0.0.1", "hook.example"),
        body=b'{"a": 1}',
        headers={"Idempotency-Key": "k"},
        look_up=leads_to("127.0.0.1"),
    )
    assert (hook.received, hook.keys) == ([{"a": 1}], ["k"])


def test_tls_asks_for_the_name_in_the_url(hook: Webhook, brief: None) -> None:
    hello: list[bytes] = []
    with answering(lambda connection: hello.append(connection.recv(4096))) as port:
        refusal(f"https://hook.example:{port}/", look_up=leads_to("127.0.0.1"))
    assert b"hook.example" in hello[0]


def test_a_server_that_sends_a_byte_now_and_then_gets_no_more_than_the_time_of_one_call(
    hook: Webhook, brief: None
) -> None:
    def drip(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)

    with answering(drip) as port:
        began = time.monotonic()
        assert "within 0.5 seconds" in refusal(f"http://127.0.0.1:{port}/")
        assert time.monotonic() - began < HANG / 3


def test_a_name_server_that_hangs_does_not_hold_the_call(hook: Webhook, brief: None) -> None:
    over = threading.Event()

    def hang(*_: Any, **__: Any) -> Any:
        over.wait(HANG)
        raise socket.gaierror("too late")

    began = time.monotonic()
    assert "within 0.5 seconds" in refusal("http://hook.example/", look_up=hang)
    assert time.monotonic() - began < HANG / 3
    over.set()


def test_an_endless_answer_is_not_read(hook: Webhook) -> None:
    sent = 0

    def pour(connection: socket.socket) -> None:
        nonlocal sent
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            sent += connection.send(b"x" * 65_536)

    with answering(pour) as port:
        webhooks.call(f"http://127.0.0.1:{port}/", body=b"{}")
    assert sent < 20_000_000  # what the buffers between the two take


def test_the_beginning_of_an_answer_is_read_and_no_more(hook: Webhook) -> None:
    hook.answer = b"\xff" + "é".encode() * 5_000
    answer = asyncio.run(webhooks.ask(hook.url, body=b"{}"))
    assert (answer.status, answer.excerpt, answer.is_success) == (200, "\ufffd" + "é" * 999, True)


def test_an_answer_whose_body_does_not_come_is_one_all_the_same(
    hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "EXCERPT_TIMEOUT", 0.2)

    def hold_back(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nlater")
        connection.recv(4096)

    with answering(hold_back) as port:
        answer = asyncio.run(webhooks.ask(f"http://127.0.0.1:{port}/", body=b"{}"))
    assert (answer.status, answer.excerpt, answer.is_success) == (503, "later", False)


def test_a_compressed_answer_is_not_unpacked(hook: Webhook) -> None:
    hook.answer, hook.encoding = gzip.compress(b"x" * 10_000_000), "gzip"
    assert asyncio.run(webhooks.ask(hook.url, body=b"{}")).excerpt.startswith("\x1f")


def test_endless_headers_are_refused(hook: Webhook) -> None:
    def pour(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X-Long: " + b"x" * 1_000 + b"\r\n")

    with answering(pour) as port:
        assert "no valid answer" in refusal(f"http://127.0.0.1:{port}/")


def test_a_url_that_no_call_can_have_is_named_by_its_host() -> None:
    assert refusal("https://host:99999/") == "the url of host cannot be called"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(hook: Webhook, status: int) -> None:
    hook.status = status
    assert "redirects are not followed" in refusal(hook.url)
    assert len(hook.received) == 1
