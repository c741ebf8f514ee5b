"""Which fault each HTTP status, error and body is (F15)."""

import json
import ssl
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import aiohttp
import pytest

from orders.agents.answers import (
    LONGEST_RETRY_AFTER,
    RemoteError,
    classify,
    read_error,
    read_object,
    retry_after_seconds,
)
from orders.agents.transport import Remote
from orders.engine.errors import Declined, Fault, Refused, Transient, Unresolved

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)


def connector_error(kind: type[aiohttp.ClientConnectorError]) -> Exception:
    key = aiohttp.client_reqrep.ConnectionKey("remote.invalid", 443, True, True, None, None, None)
    return kind(key, OSError(111, "refused"))


def certificate_error() -> Exception:
    key = aiohttp.client_reqrep.ConnectionKey("remote.invalid", 443, True, True, None, None, None)
    return aiohttp.ClientConnectorCertificateError(key, ssl.SSLCertVerificationError("expired"))


@pytest.mark.pattern("A2", "A6")
@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        *((status, Transient, f"http_{status}") for status in (408, 409, 425, 429, 500, 502, 503, 504)),
        (402, Declined, "http_402"),
        *((status, Unresolved, "misconfigured") for status in (401, 403, 404, 405, 407)),
        *((status, Refused, f"http_{status}") for status in (400, 406, 410, 412, 413, 422, 451)),
        *((status, Unresolved, "redirected") for status in (300, 301, 302, 303, 304, 307, 308)),
        *((status, Unresolved, f"http_{status}") for status in (501, 505, 507, 511, 100, 600)),
    ],
)
def test_each_status_maps_to_one_kind_of_fault(status: int, kind: type[Fault], code: str) -> None:
    fault = classify(status)
    assert type(fault) is kind
    assert fault.code == code


@pytest.mark.pattern("A3", "F35")
@pytest.mark.parametrize("status", [400, 409, 422])
def test_a_key_that_was_used_with_another_body_is_no_definite_no(status: int) -> None:
    """What was done with it stands. After a definite no a resubmission has a new key, and would do it again."""
    fault = classify(status, details=RemoteError(code="idempotency_key_reused", message="used before"))
    assert (type(fault), fault.code) == (Transient if status == 409 else Unresolved, "idempotency_key_reused")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (connector_error(aiohttp.ClientConnectorError), "unreachable"),
        (connector_error(aiohttp.ClientConnectorDNSError), "dns"),
        (connector_error(aiohttp.ClientConnectorSSLError), "tls"),
        (certificate_error(), "certificate"),
        (TimeoutError(), "timeout"),
        (aiohttp.ConnectionTimeoutError(), "timeout"),
        (aiohttp.SocketTimeoutError(), "timeout"),
        (aiohttp.ServerDisconnectedError(), "connection_lost"),
        (aiohttp.ClientConnectionResetError(), "connection_lost"),
        (aiohttp.ClientPayloadError(), "connection_lost"),
        (ConnectionResetError(), "connection_lost"),
        (aiohttp.ClientResponseError(None, (), status=400), "bad_answer"),  # type: ignore[arg-type]
    ],
)
def test_every_connection_error_is_transient(error: Exception, code: str) -> None:
    fault = classify(error)
    assert type(fault) is Transient
    assert fault.code == code


@pytest.mark.pattern("A7")
@pytest.mark.parametrize(
    ("cause", "is_over"),
    [
        *((status, True) for status in (425, 429, 500, 503)),
        *((status, False) for status in (408, 409, 502, 504)),
        (connector_error(aiohttp.ClientConnectorError), True),
        (connector_error(aiohttp.ClientConnectorDNSError), True),
        (connector_error(aiohttp.ClientConnectorSSLError), True),
        (certificate_error(), True),
        (TimeoutError(), False),
        (aiohttp.ServerDisconnectedError(), False),
        (aiohttp.ClientPayloadError(), False),
        (aiohttp.ClientResponseError(None, (), status=400), False),  # type: ignore[arg-type]
    ],
)
def test_a_call_is_over_if_it_never_arrived_or_was_answered(cause: int | Exception, is_over: bool) -> None:
    """What a gateway answers says nothing of the service behind it."""
    fault = classify(cause)
    assert isinstance(fault, Transient)
    assert fault.is_over is is_over


def test_an_invalid_url_is_for_an_operator() -> None:
    assert type(classify(aiohttp.InvalidURL("nonsense"))) is Refused


def test_a_refusal_keeps_the_remotes_message() -> None:
    details = RemoteError(code="out_of_stock", message="No more of it")
    for status, kind in ((422, Refused), (402, Declined), (503, Transient), (501, Unresolved)):
        fault = classify(status, details=details)
        assert (type(fault), fault.code, fault.message) == (kind, "out_of_stock", "No more of it")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("99999", LONGEST_RETRY_AFTER),
        ("9" * 5_000, LONGEST_RETRY_AFTER),
        (format_datetime(NOW.replace(second=20), usegmt=True), 20.0),
        (format_datetime(NOW.replace(year=2031), usegmt=True), LONGEST_RETRY_AFTER),
        (format_datetime(NOW.replace(year=2029), usegmt=True), 0.0),
        ("-5", None),
        ("1.5", None),
        ("²", None),
        ("soon", None),
        ("Fri, 99 Foo 2030 99:99:99 GMT", None),
        ("", None),
    ],
)
def test_retry_after_is_honoured_within_bounds(value: str, seconds: float | None) -> None:
    assert retry_after_seconds({"Retry-After": value}, now=NOW) == seconds


def test_a_retry_after_date_is_measured_by_the_remotes_own_clock() -> None:
    its_now = NOW.replace(hour=3)
    headers = {
        "Date": format_datetime(its_now, usegmt=True),
        "Retry-After": format_datetime(its_now.replace(second=9), usegmt=True),
    }
    assert retry_after_seconds(headers, now=NOW) == 9.0


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"nonsense",
        b"[1]",
        b'"text"',
        b"null",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": "\\u0000"}',
        b'{"\\u0000": 1}',
        b'{"a": "\\\\\\u0000"}',
        b'{"a": "\\ud800"}',
        b'{"a": "\xff"}',
        b"[" * 60_000,
        b'{"a": ' + b"9" * 5_000 + b"}",
    ],
)
def test_an_answer_that_cannot_be_stored_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError):
        read_object(raw)


def test_an_answer_that_only_looks_unstorable_is_accepted() -> None:
    assert read_object(b'{"a": "\\\\u0000 \xc3\xa9"}') == {"a": "\\u0000 é"}


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"error": {"code": "no_stock", "message": "None left"}}, "no_stock", "None left"),
        ({"error": {"code": "No Stock!<b>", "message": "a\n\tb\x07c"}}, "no_stock_b_", "a b c"),
        ({"error": {"code": "x" * 500, "message": "y" * 5_000}}, "x" * 60, "y" * 300),
        ({"error": {"code": 5, "message": ["no"]}}, "", ""),
        ({"error": "no stock"}, "", "no stock"),
        ({"error": {}, "code": "no_stock", "message": "None left"}, "no_stock", "None left"),
        ({"code": "NO_STOCK", "title": "Sold out"}, "no_stock", "Sold out"),
        ({"type": "https://api.example/problems/no-stock", "title": "Sold out"}, "no-stock", "Sold out"),
        ({"type": "urn:problem:no-stock/", "title": "Sold out", "detail": "of B7"}, "no-stock", "of B7"),
        ({"type": "about:blank", "title": "Unprocessable", "status": 422}, "", "Unprocessable"),
        ({"type": "error", "code": 7}, "", ""),
        ({"error": "invalid_grant", "error_description": "expired"}, "invalid_grant", "expired"),
        ({}, "", ""),
    ],
)
def test_the_code_and_the_message_of_an_error_are_found_and_shortened(
    body: Any, code: str, message: str
) -> None:
    assert read_error(json.dumps(body).encode()) == RemoteError(code=code, message=message)


def test_an_unusable_timeout_is_refused() -> None:
    for timeout in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="timeout"):
            Remote("http://127.0.0.1", timeout=timeout)
