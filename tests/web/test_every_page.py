"""What holds for every page of every face: methods, headers, cookies, forgeries, caches, other origins."""

import logging
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from orders.access.guest_links import make_token
from orders.models import AuditEntry
from orders.shop.storefront.information import PAGES
from sasweb import logs
from tests.support.order_bodies import EMAIL
from tests.support.people import PASSWORD, person, signed_in, token_of
from tests.web.places import UNKNOWN, every_place

pytestmark = pytest.mark.django_db

EVIL = "https://evil.example"
OWN = "__Host-"


@pytest.fixture
def root(settings: Any, catalogue: None) -> User:
    """Somebody who may do everything, so that nothing but the tested guard refuses a request."""
    settings.REQUIRE_SECOND_FACTOR = False
    user = person("admin", password=PASSWORD)
    user.is_staff = user.is_superuser = True
    user.save()
    return user


def read(client: Client, path: str, **headers: str) -> HttpResponse:
    """The answer to a request, with all of its body read."""
    answer = client.get(path, secure=True, headers=headers)
    if answer.streaming:
        b"".join(answer.streaming_content)
    return answer


def test_no_page_answers_to_a_method_that_it_does_not_know(root: User) -> None:
    client = signed_in(root)
    places = [*every_place().values(), "/", "/healthz", "/readyz", "/readyz/system", "/nothing", "/static/x"]
    for method in ("TRACE", "TRACK"):
        answers = {path: client.generic(method, path).status_code for path in places}
        assert {path: status for path, status in answers.items() if status not in (401, 404, 405)} == {}


def test_every_form_refuses_what_another_site_sends(root: User) -> None:
    client = signed_in(root, enforce_csrf_checks=True)
    users = list(User.objects.values_list())
    for name, path in every_place().items():
        if not name.startswith(("api:", "callbacks:", "set-language")):  # these take no cookie for a proof
            answer = client.post(path, headers={"Origin": EVIL})
            assert answer.status_code in (403, 404, 405), name
    assert list(User.objects.values_list()) == users
    assert not AuditEntry.objects.filter(allowed=True).exists()


def test_every_answer_has_the_headers_of_https_says_its_type_and_is_neither_shared_nor_stored(
    root: User,
) -> None:
    client = signed_in(root)
    token, foreign = {"Authorization": f"Token {token_of(root)}"}, {"Origin": EVIL}
    odd = {"nul": "/a%00", "healthz": "/healthz", "readyz": "/readyz", "nothing": "/nothing", "api": "/api/x"}
    stored = set()
    for name, path in (every_place() | odd).items():
        answer = read(client, path, **foreign, **(token if name.startswith("api:") else {}))
        check_headers(name, answer)
        if answer.status_code == 200 and "no-store" not in answer.headers.get("Cache-Control", ""):
            stored.add(name)
    assert stored == {"order:address-rules", *(f"shop:{page}" for page in ("catalogue", *PAGES))}


def check_headers(name: str, answer: HttpResponse) -> None:
    """What every answer over https must say, and that it allows no other origin."""
    assert answer["Strict-Transport-Security"] == "max-age=31536000", name
    assert answer["X-Content-Type-Options"] == "nosniff", name
    assert answer["Referrer-Policy"] == "same-origin", name
    for part in ("object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"):
        assert part in answer["Content-Security-Policy"], name
    assert [key for key in answer.headers if key.lower().startswith("access-control-")] == [], name
    kind = answer.headers.get("Content-Type", "")
    assert kind or not answer.content, name
    if kind.startswith("text/") or "xml" in kind:
        assert kind.replace('"', "").endswith("charset=utf-8"), (name, kind)


@pytest.mark.parametrize(
    "path", ["/", "/account/sign-in/", "/console/", "/api/v1/orders", "/api/v1/products"]
)
def test_no_preflight_of_another_origin_is_answered(path: str, client: Client) -> None:
    preflight = {"Origin": EVIL, "Access-Control-Request-Method": "POST"}
    answer = client.options(path, headers=preflight)
    assert [key for key in answer.headers if key.lower().startswith("access-control-")] == []


def test_every_cookie_is_for_this_host_and_https_alone_and_not_for_scripts(catalogue: None) -> None:
    User.objects.create_user(EMAIL, EMAIL, PASSWORD)
    client = Client()
    client.post("/cart/add/", {"sku": "nothing", "quantity": 1}, secure=True)
    client.get("/account/sign-in/", secure=True)
    client.post("/account/sign-in/", {"username": EMAIL, "password": PASSWORD}, secure=True)
    client.post("/cart/add/", {"sku": "nothing", "quantity": 1}, secure=True)
    names = set(client.cookies)
    assert names == {f"{OWN}{name}" for name in ("sessionid", "csrftoken", "device", "messages")}
    for cookie in client.cookies.values():
        assert cookie["secure"], cookie.key
        assert cookie["httponly"], cookie.key
        assert (cookie["samesite"], cookie["path"], cookie["domain"]) == ("Lax", "/", ""), cookie.key
        assert len(cookie.key) + len(cookie.value) < 4096


@pytest.mark.parametrize(
    "path",
    [
        *("/.git/config", "/.git/", "/.env", "/static/", "/static/css/", "/static/../sasweb/settings.py"),
        *(
            "/static/%2e%2e/manage.py",
            "/static//etc/passwd",
            "/var/secret-key",
            "/manage.py",
            "/server-status",
        ),
    ],
)
def test_no_file_but_a_static_one_is_served_and_no_folder_is_listed(path: str, client: Client) -> None:
    assert client.get(path).status_code == 404


def test_text_of_clients_cannot_begin_a_line_of_the_log() -> None:
    text = "ada\nlevel=info event=forged\r\n\x1b[2K"
    record = logging.LogRecord("orders", logging.WARNING, "", 1, "no account %s", (text,), None)
    line = logs.formatter().format(record)
    assert "forged" in line
    assert len(line.splitlines()) == 1


def test_no_password_token_or_cookie_is_logged(root: User, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token, wrong = token_of(root), "seven wrong words in a row"
    client = Client()
    for path in ("/account/sign-in/", "/console/sign-in/", "/admin/login/"):
        client.post(path, {"username": root.username, "password": wrong})
        client.post(path, {"username": root.username, "password": PASSWORD})
    session = client.session.session_key
    client.get("/api/v1/orders", headers={"Authorization": f"Token {token}"})
    client.get("/api/v1/orders", headers={"Authorization": f"Token {token[:-1]}"})
    client.post("/console/agents/mix/pause/")
    for secret in (wrong, PASSWORD, token[:-1], session):
        assert secret
        assert secret not in caplog.text


@pytest.mark.parametrize("form", ["/o/{}/cancel/", "/account/sign-up/{}/", "/account/reset/MQ/{}/"])
def test_the_secret_of_a_link_is_not_logged_and_its_path_is(
    form: str, caplog: pytest.LogCaptureFixture
) -> None:
    secret = make_token(UUID(UNKNOWN))
    assert Client(enforce_csrf_checks=True).post(form.format(secret)).status_code == 403
    lines = [logs.formatter().format(record) for record in caplog.records]
    assert any(form.format("…") in line for line in lines)
    assert not any(secret in line for line in lines)
