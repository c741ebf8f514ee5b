"""Every error is a problem (RFC 9457) in the same form and reveals nothing internal."""

import json
import re
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError
from django.test import Client
from rest_framework.exceptions import Throttled
from rest_framework.test import APIClient

from orders.access import api_tokens
from orders.models import ApiToken
from orders.services import placing
from orders.shop import products
from tests.support.order_bodies import order_body
from tests.web.helpers import ORDERS, assert_problem, place, run_submission

pytestmark = pytest.mark.django_db

PRODUCTS = "/api/v1/products"
QUEUE = "/api/v1/response-queues/replies/messages"
PROBLEM = "application/problem+json"


@pytest.mark.parametrize("path", ["/api/", "/api/v1/", "/api/v2/orders", "/api/v1/orders/", "/api/v1"])
@pytest.mark.parametrize("method", ["get", "post", "delete", "put"])
def test_an_unknown_url_is_not_found(anybody: APIClient, method: str, path: str) -> None:
    assert_problem(getattr(anybody, method)(path), "not_found")


@pytest.mark.parametrize("path", ["/api", "/API/v1/orders", "/Api/"])
@pytest.mark.parametrize("debug", [False, True])
def test_a_misspelt_url_of_the_api_is_not_found(
    anybody: APIClient, settings: Any, debug: bool, path: str
) -> None:
    settings.DEBUG = debug
    for method in ("GET", "POST", "FOO"):
        assert_problem(anybody.generic(method, path), "not_found")


def test_an_unknown_url_outside_the_api_gets_an_html_page(client: Client) -> None:
    response = client.get("/nothing-here")
    assert (response.status_code, response["Content-Type"].partition(";")[0]) == (404, "text/html")


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_a_refused_method_lists_the_allowed_methods(ada: APIClient, method: str) -> None:
    response = getattr(ada, method)(ORDERS)
    assert_problem(response, "method_not_allowed")
    assert {"GET", "POST"} <= set(response["Allow"].split(", "))


def test_another_response_format_is_refused(ada: APIClient) -> None:
    assert_problem(ada.get(ORDERS, headers={"Accept": "text/csv"}), "not_acceptable")


@pytest.mark.parametrize("accept", [PROBLEM, f"text/csv, {PROBLEM}", f"{PROBLEM}; q=0.9"])
def test_whoever_accepts_problems_is_never_refused_for_it(ada: APIClient, accept: str) -> None:
    order = place(ada, reply_to="replies")
    run_submission()
    headers = {"Accept": accept}
    for path in (ORDERS, order["links"]["self"], PRODUCTS, QUEUE, "/api/schema/"):
        assert ada.get(path, headers=headers).status_code == 200, path
    (message,) = ada.get(QUEUE).json()["results"]
    assert ada.delete(f"{QUEUE}/{message['id']}", headers=headers).status_code == 204
    assert_problem(ada.delete(f"{QUEUE}/{message['id']}", headers=headers), "not_found")
    assert ada.post(ORDERS, order_body(), headers=headers)["Content-Type"] == "application/json"


@pytest.mark.parametrize("kind", ["*/*", "application/*", "*/json", "*"])
def test_a_range_of_media_types_is_none_that_a_body_has(ada: APIClient, kind: str) -> None:
    response = ada.post(ORDERS, json.dumps(order_body()), content_type=kind)
    assert_problem(response, "unsupported_media_type")


@pytest.mark.parametrize(
    "token", ["", "x", "0" * 64, "a b", "\x00" * 64, "ü" * 30, "' OR 1=1 --", "0" * 100_000], ids=ascii
)
def test_an_invalid_token_is_refused(anybody: APIClient, token: str) -> None:
    anybody.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    response = anybody.get(ORDERS)
    assert_problem(response, "invalid_token")
    assert response["WWW-Authenticate"] == "Token"


def test_an_expired_token_or_one_of_a_closed_account_is_refused(ada: APIClient, bob: APIClient) -> None:
    ada.user.is_active = False
    ada.user.save()
    ApiToken.objects.filter(user=bob.user).update(
        created_at="2019-01-01T00:00Z", expires_at="2020-01-01T00:00Z"
    )
    assert_problem(ada.get(ORDERS), "invalid_token")
    assert "expired on 2020-01-01" in assert_problem(bob.get(ORDERS), "token_expired")["detail"]


def test_only_a_hash_of_a_token_is_stored(ada: APIClient) -> None:
    row = str(ApiToken.objects.filter(user=ada.user).values().get())
    assert ada.token[: api_tokens.BEGINNING] in row
    assert ada.token not in row
    assert ada.token[api_tokens.BEGINNING + 5 :] not in row


def test_another_authentication_scheme_is_refused(ada: APIClient) -> None:
    ada.credentials(HTTP_AUTHORIZATION="Basic YTpi")
    assert_problem(ada.get(ORDERS), "not_authenticated")


@pytest.mark.parametrize("error", [OperationalError("host db-7 is down"), InterfaceError("connection db-7")])
def test_a_database_failure_asks_the_client_to_retry(
    anybody: APIClient, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(products, "products", fail)
    response = anybody.get(PRODUCTS)
    assert_problem(response, "unavailable")
    assert int(response["Retry-After"]) in range(1, 31)
    assert "db-7" not in response.text


def test_an_unexpected_error_reveals_nothing(ada: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(placing, "place_order", fail)
    response = ada.post(ORDERS, order_body())
    problem = assert_problem(response, "internal_error")
    assert problem["request_id"]
    assert "secret" not in response.text
    assert "RuntimeError" not in response.text


def test_a_rate_limit_says_when_to_retry(anybody: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise Throttled(wait=7)

    monkeypatch.setattr(products, "products", fail)
    response = anybody.get(PRODUCTS)
    assert_problem(response, "rate_limited")
    assert response["Retry-After"] == "7"


@pytest.mark.parametrize("path", [PRODUCTS, ORDERS, "/api/nothing", "/callbacks/a", "/callbacks/a/b"])
@pytest.mark.parametrize("debug", [False, True])
def test_a_wrong_host_name_is_a_problem_too(
    anybody: APIClient, settings: Any, debug: bool, path: str
) -> None:
    settings.DEBUG = debug
    problem = assert_problem(anybody.get(path, headers={"Host": "evil.example"}), "malformed_request")
    assert "`Host` does not name this server" in problem["detail"]


@pytest.mark.parametrize("path", ["/callbacks/", "/callbacks/a/b"])
@pytest.mark.parametrize("debug", [False, True])
def test_an_unknown_url_for_callbacks_is_not_found(
    anybody: APIClient, settings: Any, debug: bool, path: str
) -> None:
    settings.DEBUG = debug
    for method in ("GET", "POST", "FOO"):
        assert_problem(anybody.generic(method, path), "not_found")


@pytest.mark.parametrize(
    ("query", "name", "fault"),
    [
        ("after=%00", "after", "NUL"),
        ("after=a%00b&page_size=1", "after", "NUL"),
        ("page_size=1&after=%FF", "after", "not UTF-8"),
        ("after=%C3", "after", "not UTF-8"),
        ("after=%ed%a0%80", "after", "not UTF-8"),
        ("a+b%FF=1", "a b\ufffd", "not UTF-8"),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/changes", PRODUCTS, "/api/schema/", "/api/nothing"])
def test_a_parameter_that_is_no_text_is_named(
    ada: APIClient, path: str, query: str, name: str, fault: str
) -> None:
    problem = assert_problem(ada.generic("GET", path, QUERY_STRING=query), "malformed_request")
    (error,) = problem["errors"]
    assert error["parameter"] == name
    assert fault in error["detail"]
    assert problem["detail"] == f"The parameter `{name}`: {error['detail']}"


def test_a_parameter_may_have_any_other_text(ada: APIClient) -> None:
    for text in ("%C3%A9", "%EF%BF%BD", "%zz", "%"):
        response = ada.generic("GET", ORDERS, QUERY_STRING=f"subject={text}")
        assert response.status_code == 200, text


COOKIES = {
    "HTTP_COOKIE": "csrftoken=short; sessionid=unknown; __Host-sessionid=unknown; messages=x; device=y"
}


@pytest.mark.parametrize(
    "path", [ORDERS, PRODUCTS, "/api/schema/", "/api/docs/", "/api/problems/", "/api/x", "/callbacks/a"]
)
def test_no_answer_sets_or_deletes_a_cookie(ada: APIClient, anybody: APIClient, path: str) -> None:
    for client in (ada, anybody):
        for method in ("GET", "POST"):
            response = client.generic(method, path, **COOKIES)
            assert not response.cookies, response.cookies.output()


def test_a_valid_request_id_is_kept(anybody: APIClient) -> None:
    assert anybody.get(PRODUCTS, headers={"X-Request-ID": "abc-12345.6"})["X-Request-ID"] == "abc-12345.6"


@pytest.mark.parametrize(
    "invalid_id", ["", "short", "a" * 65, "with blanks in it", "<script>alert(1)</script>", "ünder-12345"]
)
def test_an_invalid_request_id_is_replaced(anybody: APIClient, invalid_id: str) -> None:
    request_id = anybody.get(PRODUCTS, headers={"X-Request-ID": invalid_id})["X-Request-ID"]
    assert re.fullmatch("[0-9a-f]{32}", request_id)
