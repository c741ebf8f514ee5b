"""nginx in front of the web, as docs/proxy/nginx.conf sets it up."""

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPResponse
from http.cookies import SimpleCookie
from urllib.parse import urlencode
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from orders.models import AuditEntry
from tests.support.nginx import Nginx, an_nginx
from tests.support.people import person
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
BRIEF = {
    "client_header_timeout 10s;": "client_header_timeout 1s;",
    "client_body_timeout 10s;": "client_body_timeout 1s;",
    "limit_conn addresses 120;": "limit_conn addresses 3;",
}
CROWDED = "127.0.8.1"
"""An IP address that has all the connections it may have."""


@pytest.fixture(scope="module")
def nginx(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    folder = tmp_path_factory.mktemp("nginx")
    server = Server(folder / "log", database_url=database_url(), TRUSTED_PROXIES="127.0.0.1")
    try:
        until(server.answers, what="the server")
        with an_nginx(folder, port=server.port, changes=BRIEF) as process:
            yield process
    finally:
        server.end()


def ask(
    nginx: Nginx, method: str, path: str, *, source: str = "127.0.0.1", body: str = "", **headers: str
) -> tuple[HTTPResponse, bytes]:
    """Sends one request through nginx, with TLS."""
    client = HTTPConnection("localhost")
    client.sock = nginx.connect(source)
    names: Mapping[str, str] = {name.replace("_", "-"): value for name, value in headers.items()}
    client.request(method, path, body=body or None, headers=dict(names))
    response = client.getresponse()
    content = response.read()
    client.close()
    return response, content


def has_ended(connection: socket.socket) -> bool:
    """Whether the other end closes a connection, whatever it says before."""
    connection.settimeout(10)
    while connection.recv(65_536):
        pass
    return True


def test_a_page_is_served_over_https_and_plain_http_leads_there(nginx: Nginx, catalogue: None) -> None:
    response, page = ask(nginx, "GET", "/")
    assert response.status == 200
    assert b"Tidal Lines" in page
    assert response.headers["Strict-Transport-Security"].startswith("max-age=31536000")
    plain = HTTPConnection("127.0.0.1", nginx.http)
    plain.request("GET", "/basket/?a=1")
    redirect = plain.getresponse()
    assert (redirect.status, redirect.headers["Location"]) == (301, "https://shop.example.org/basket/?a=1")
    plain.close()


@pytest.mark.parametrize("path", ["/api/v1/orders", "/callbacks/x"])
def test_a_token_that_is_sent_in_clear_is_refused_and_not_led_on(path: str, nginx: Nginx) -> None:
    plain = HTTPConnection("127.0.0.1", nginx.http)
    plain.request("POST", path, headers={"Authorization": "Token sas_x"})
    assert plain.getresponse().status == 403
    plain.close()


@pytest.mark.parametrize(
    ("ciphers", "newest", "is_accepted"),
    [
        ("ECDHE+AESGCM", ssl.TLSVersion.TLSv1_2, True),
        ("ECDHE+AESGCM", ssl.TLSVersion.TLSv1_3, True),
        ("AES256-GCM-SHA384", ssl.TLSVersion.TLSv1_2, False),  # no forward secrecy
        ("ECDHE-RSA-AES256-SHA384", ssl.TLSVersion.TLSv1_2, False),  # CBC
    ],
)
def test_only_recommended_ciphers_of_tls_are_accepted(
    ciphers: str, newest: ssl.TLSVersion, is_accepted: bool, nginx: Nginx
) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers(ciphers)
    context.maximum_version = newest
    with socket.create_connection(("127.0.0.1", nginx.https), timeout=20) as plain:
        try:
            context.wrap_socket(plain).close()
        except ssl.SSLError:
            assert not is_accepted
        else:
            assert is_accepted


def test_a_form_is_sent_and_an_address_that_the_client_makes_up_is_overwritten(nginx: Nginx) -> None:
    person("operator", "olga", password=PASSWORD)
    response, page = ask(nginx, "GET", SIGN_IN)
    cookie = next(iter(SimpleCookie(response.headers["Set-Cookie"]).values()))
    token = re.search(rb'csrfmiddlewaretoken" value="(\w+)"', page)
    assert token
    form = {"username": "olga", "password": PASSWORD, "csrfmiddlewaretoken": token[1].decode()}
    response, _ = ask(
        nginx,
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


def test_a_stream_arrives_event_by_event(nginx: Nginx, ada: APIClient) -> None:
    order_id = UUID(place(ada)["id"])
    run_submission()
    stream = Stream(nginx, as_guest(order_id)).open()
    assert stream.status == 200
    stream.next_version()
    version = happen(order_id)
    assert stream.next_version(seconds=2.5).version == version
    stream.close()


@pytest.mark.parametrize("request_", [b"", HALF, HALF_A_BODY], ids=["nothing", "half a head", "half a body"])
def test_a_request_that_does_not_go_on_is_ended(nginx: Nginx, request_: bytes) -> None:
    with nginx.connect() as connection:
        connection.sendall(request_)
        assert has_ended(connection)


def test_a_request_that_does_not_go_on_is_ended_without_tls_too(nginx: Nginx) -> None:
    with socket.create_connection(("127.0.0.1", nginx.http)) as connection:
        connection.sendall(HALF)
        assert has_ended(connection)


def test_an_address_has_a_limited_number_of_requests_at_once(nginx: Nginx, ada: APIClient) -> None:
    order_id = UUID(place(ada)["id"])
    run_submission()
    with ExitStack() as streams:
        for _ in range(3):
            stream = Stream(nginx, as_guest(order_id), source=CROWDED).open()
            streams.callback(stream.close)
            assert stream.status == 200
        assert ask(nginx, "GET", "/api/v1/products", source=CROWDED)[0].status == 429
        assert ask(nginx, "GET", "/api/v1/products")[0].status == 200
