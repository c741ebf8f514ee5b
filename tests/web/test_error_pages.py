"""What people see when a request fails: a page with the id under which it is in the log, never a trace."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from rest_framework.test import APIClient

from orders.shop import catalogue as catalogue_selectors
from sasweb import logs
from tests.support.people import signed_in
from tests.web.helpers import assert_problem

REQUEST_ID = "customer-quotes-this-1"


@pytest.mark.parametrize(
    "path",
    [
        *("/admin/orders/order/?email__icontains=%00", "/admin/orders/order/?q=a%00b", "/admin/?%00=1"),
        *("/console/orders/?q=%00", "/console/audit/?who=%00", "/console/outbox/?view=%00"),
        *("/?q=%00", "/?family=%00", "/posters/a%00b/", "/account/sign-in/?next=%00"),
        *(
            "/api/v1/orders?placed_after=%00",
            "/api/v1/products?cursor=%00",
            "/api/v1/products/%00",
            "/api/x%00",
        ),
    ],
)
def test_a_nul_in_a_url_is_a_bad_request_on_every_page(path: str, ada: APIClient) -> None:
    if path.startswith("/api/"):
        assert_problem(ada.get(path), "malformed_request")
        return
    root = signed_in(User.objects.create_superuser("root", "root@example.com"))
    page = root.get(path, headers={"X-Request-ID": REQUEST_ID})
    assert page.status_code == 400
    assert REQUEST_ID in page.content.decode()


@pytest.mark.parametrize("path", ["/?q=%2500", "/console/orders/?q=%2500"])
def test_the_text_percent_00_is_no_nul(path: str, ada: APIClient) -> None:
    root = signed_in(User.objects.create_superuser("root", "root@example.com"))
    assert root.get(path).status_code == 200


@pytest.mark.parametrize(
    ("error", "status"),
    [(ZeroDivisionError("secret"), 500), (OperationalError("secret"), 503)],
    ids=["500", "503"],
)
def test_an_error_page_and_its_log_line_have_the_requests_id(
    error: Exception, status: int, catalogue: None, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    log_ids: list[str] = []

    def fail(*_: Any, **__: Any) -> None:
        log_ids.append(structlog.contextvars.get_contextvars()["request_id"])
        raise error

    monkeypatch.setattr(catalogue_selectors, "shelf", fail)
    page = Client(raise_request_exception=False).get("/", headers={"X-Request-ID": REQUEST_ID})
    text = page.content.decode()
    assert (page.status_code, log_ids) == (status, [REQUEST_ID])
    assert f"<code>{REQUEST_ID}</code>" in text
    assert "secret" not in text


def test_a_page_that_does_not_exist_shows_the_requests_id(client: Client, db: None) -> None:
    page = client.get("/nowhere/")
    assert page.status_code == 404
    assert f"<code>{page['X-Request-ID']}</code>" in page.content.decode()


@pytest.fixture
def lines() -> Iterator[list[logging.LogRecord]]:
    """What Django logs that is of interest."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    handler.addFilter(logs.is_of_interest)
    logging.getLogger("django").addHandler(handler)
    yield records
    logging.getLogger("django").removeHandler(handler)


def test_a_mistake_of_a_client_is_one_line_or_none(
    lines: list[logging.LogRecord], db: None, django_user_model: type[User]
) -> None:
    client = signed_in(django_user_model.objects.create_user("ada"))
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400
    form = b"&".join([b"a=1"] * 1_001)
    page = client.generic("POST", "/orders/find/", form, "application/x-www-form-urlencoded")
    assert page.status_code == 400
    assert client.get("/console/").status_code == 403
    assert client.get("/nowhere/").status_code == 404
    assert [(record.levelname, record.exc_info, record.name) for record in lines] == [
        ("WARNING", None, "django.security.DisallowedHost"),
        ("WARNING", None, "django.security.TooManyFieldsSent"),
    ]


def test_an_exception_of_ours_is_logged_with_its_traceback(
    lines: list[logging.LogRecord], catalogue: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_selectors, "shelf", None)
    assert Client(raise_request_exception=False).get("/").status_code == 500
    (record,) = lines
    assert (record.levelname, bool(record.exc_info)) == ("ERROR", True)
