"""The proxies in front of the web, nginx and Caddy, as docs/proxy sets them up."""

import re
import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPResponse
from http.cookies import SimpleCookie
from typing import cast
from urllib.parse import urlencode
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from orders.models import AuditEntry
from tests.support.people import person
from tests.support.proxies import Proxy, a_caddy, an_nginx
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.following import as_guest, happen
from tests.web.helpers import place, run_submission
from tests.web.server import Server
from tests.web.sse import Stream

pytestmark = pytest.mark.django_db(transaction=True)

PASSWORD = "correct horse battery staple"
SIGN_IN = "/console/sign-in/"
HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
HALF_A_BODY = b"POST /api/v1/orders HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
BRIEF_NGINX = {
    "client_header_timeout 10s;": "client_header_timeout 1s;",
    "client_body_timeout 10s;": "client_body_timeout 1s;",
    "limit_conn addresses 120;": "limit_conn addresses 3;",
}
BRIEF_CADDY = {"read_header 10s": "read_header 1s", "read_body 35s": "read_body 2s", "idle 30s": "idle 1s"}
TOO_MUCH = 1_100_000
"""Bytes of a body that no proxy takes."""
CROWDED = "127.0.8.1"
"""An IP address that has all the connections it may have."""


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("server") / "log"
    application = "tests.web.brief_bodies:application"
    server = Server(log, database_url=database_url(), application=application, TRUSTED_PROXIES="127.0.0.1")
    try:
        until(server.answers, what="the server")
        yield server
    finally:
        server.end()


@pytest.fixture(scope="module")
def nginx(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with an_nginx(tmp_path_factory.mktemp("nginx"), port=server.port, changes=BRIEF_NGINX) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def caddy(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with a_caddy(tmp_path_factory.mktemp("caddy"), port=server.port, changes=BRIEF_CADDY) as proxy:
        yield proxy


@pytest.fixture(params=["nginx", "caddy"])
def proxy(request: pytest.FixtureRequest) -> Proxy:
    """Each proxy in turn."""
    return cast(Proxy, request.getfixturevalue(request.param))


def ask(
    proxy: Proxy,
    method: str,
    path: str,
    *,
    source: str = "127.0.0.1",
    body: str | Iterable[bytes] = "",
    **headers: str,
) -> tuple[HTTPResponse, bytes]:
    """Sends one request through a proxy, with TLS. A body in pieces is sent in chunks."""
    client = HTTPConnection("localhost")
    client.sock = proxy.connect(source)
    names: Mapping[str, str] = {name.replace("_", "-"): value for name, value in headers.items()}
    client.request(method, path, body=body or None, headers=dict(names))
    response = client.getresponse()
    content = response.read()
    client.close()
    return response, content


def ask_in_clear(proxy: Proxy, method: str, path: str, **headers: str) -> HTTPResponse:
    """Sends one request to a proxy, without TLS."""
    with socket.create_connection(("127.0.0.1", proxy.http), timeout=20) as connection:
        client = HTTPConnection("localhost")
        client.sock = connection
        client.request(method, path, headers=headers)
        return client.getresponse()


def assert_ends(connection: socket.socket) -> None:
    """The other end closes a connection, and says nothing before but that the request was too slow."""
    connection.settimeout(10)
    answer = b""
    while more := connection.recv(65_536):
        answer += more
    assert not answer or answer.startswith(b"HTTP/1.1 408 "), answer


def test_a_page_is_served_over_https_and_plain_http_leads_there(proxy: Proxy, catalogue: None) -> None:
    response, page = ask(proxy, "GET", "/")
    assert response.status == 200
    assert b"Tidal Lines" in page
    assert response.headers["Strict-Transport-Security"].startswith("max-age=31536000")
    redirect = ask_in_clear(proxy, "GET", "/basket/?a=1")
    assert (redirect.status, redirect.headers["Location"]) == (301, "https://localhost/basket/?a=1")


@pytest.mark.parametrize("path", ["/api/v1/orders", "/callbacks/x"])
def test_a_token_that_is_sent_in_clear_is_refused_and_not_led_on(path: str, proxy: Proxy) -> None:
    response = ask_in_clear(proxy, "POST", path, Authorization="Token sas_x")
    assert (response.status, response.headers["Location"]) == (403, None)


@pytest.mark.parametrize("path", ["/metrics", "//metrics", "/x/../metrics", "/%6detrics"])
def test_a_proxy_does_not_pass_on_who_asks_for_the_metrics(path: str, proxy: Proxy) -> None:
    """However the path is written, the proxy answers itself or sasweb has no such page."""
    response, text = ask(proxy, "GET", path)
    assert response.status in (301, 308, 404)
    assert b"sasweb_" not in text
    if path == "/metrics":
        assert "X-Request-ID" not in response.headers, "sasweb was asked"


@pytest.mark.parametrize(
    ("ciphers", "newest", "is_accepted"),
    [
        ("ECDHE+AESGCM", ssl.TLSVersion.TLSv1_2, True),
        ("ECDHE+AESGCM", ssl.TLSVersion.TLSv1_3, True),
        ("AES128-GCM-SHA256", ssl.TLSVersion.TLSv1_2, False),  # no forward secrecy
        ("ECDHE-RSA-AES128-SHA", ssl.TLSVersion.TLSv1_2, False),  # CBC
        ("ECDHE-RSA-AES128-SHA:@SECLEVEL=0", ssl.TLSVersion.TLSv1_1, False),
    ],
)
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1:DeprecationWarning")
def test_only_recommended_ciphers_of_tls_are_accepted(
    ciphers: str, newest: ssl.TLSVersion, is_accepted: bool, proxy: Proxy
) -> None:
    context = proxy.context()
    context.set_ciphers(ciphers)
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = newest
    with socket.create_connection(("127.0.0.1", proxy.https), timeout=20) as plain:
        try:
            context.wrap_socket(plain, server_hostname="localhost").close()
        except ssl.SSLError as error:
            assert not is_accepted, error
            assert "ALERT" in error.reason
        else:
            assert is_accepted


def test_a_form_is_sent_and_an_address_that_the_client_makes_up_is_overwritten(proxy: Proxy) -> None:
    person("operator", "olga", password=PASSWORD)
    response, page = ask(proxy, "GET", SIGN_IN)
    cookie = next(iter(SimpleCookie(response.headers["Set-Cookie"]).values()))
    token = re.search(rb'csrfmiddlewaretoken" value="(\w+)"', page)
    assert token
    form = {"username": "olga", "password": PASSWORD, "csrfmiddlewaretoken": token[1].decode()}
    response, _ = ask(
        proxy,
        "POST",
        SIGN_IN,
        source="127.0.8.9",
        body=urlencode(form),
        Cookie=f"{cookie.key}={cookie.value}",
        Content_Type="application/x-www-form-urlencoded",
        Origin="https://localhost",
        X_Forwarded_For="198.51.100.77",
        X_Forwarded_Proto="http",
    )
    assert response.status == 302
    signed_in = AuditEntry.objects.get(act="sign in")
    assert (signed_in.actor, signed_in.ip_address) == ("olga", "127.0.8.9")


def test_a_stream_arrives_event_by_event(proxy: Proxy, ada: APIClient) -> None:
    order_id = UUID(place(ada)["id"])
    run_submission()
    stream = Stream(proxy, as_guest(order_id)).open()
    assert stream.status == 200
    stream.next_version()
    version = happen(order_id)
    assert stream.next_version(seconds=10).version == version
    stream.close()


def test_a_stream_outlives_the_time_that_a_request_has_to_arrive(proxy: Proxy, ada: APIClient) -> None:
    order_id = UUID(place(ada)["id"])
    run_submission()
    stream = Stream(proxy, as_guest(order_id)).open()
    stream.next_version()
    with proxy.connect() as connection:
        connection.sendall(HALF_A_BODY)
        assert_ends(connection)
    version = happen(order_id)
    assert stream.next_version(seconds=10).version == version
    stream.close()


def test_a_stream_whose_reader_goes_is_ended(proxy: Proxy, server: Server, ada: APIClient) -> None:
    order_id = UUID(place(ada)["id"])
    run_submission()
    stream = Stream(proxy, as_guest(order_id)).open()
    stream.next_version()
    assert server.connections() > 0
    stream.close()
    until(
        lambda: server.connections() == 0, seconds=10, what="the end of the stream"
    )  # its heartbeat is 15 s


@pytest.mark.parametrize("request_", [b"", HALF, HALF_A_BODY], ids=["nothing", "half a head", "half a body"])
def test_a_request_that_does_not_go_on_is_ended_and_not_answered_as_if_it_had(
    proxy: Proxy, request_: bytes
) -> None:
    with proxy.connect() as connection:
        connection.sendall(request_)
        assert_ends(connection)


@pytest.mark.parametrize("request_", [b"", HALF], ids=["nothing", "half a head"])
def test_a_request_that_does_not_go_on_is_ended_without_tls_too(proxy: Proxy, request_: bytes) -> None:
    with socket.create_connection(("127.0.0.1", proxy.http)) as connection:
        connection.sendall(request_)
        assert_ends(connection)


def test_a_handshake_of_tls_that_does_not_go_on_is_ended(proxy: Proxy) -> None:
    with socket.create_connection(("127.0.0.1", proxy.https)) as connection:
        assert_ends(connection)


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(proxy: Proxy) -> None:
    response, _ = ask(proxy, "POST", "/api/v1/orders", Content_Length=str(TOO_MUCH))
    assert (response.status, response.headers["Server"].lower()) == (413, proxy.name)


def test_a_body_of_unknown_length_that_is_too_large_is_refused(proxy: Proxy) -> None:
    response, _ = ask(proxy, "POST", "/api/v1/orders", body=[b"x" * 100_000] * (TOO_MUCH // 100_000))
    assert (response.status, response.headers["Server"].lower()) == (413, proxy.name)


def test_nginx_lets_an_address_have_a_limited_number_of_requests_at_once(
    nginx: Proxy, ada: APIClient
) -> None:
    order_id = UUID(place(ada)["id"])
    run_submission()
    with ExitStack() as streams:
        for _ in range(3):
            stream = Stream(nginx, as_guest(order_id), source=CROWDED).open()
            streams.callback(stream.close)
            assert stream.status == 200
        assert ask(nginx, "GET", "/api/v1/products", source=CROWDED)[0].status == 429
        assert ask(nginx, "GET", "/api/v1/products")[0].status == 200
