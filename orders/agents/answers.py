"""Reads the answers of remote services: which fault each failure is, and what they say about it. Pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from orders.engine.errors import Declined, Fault, Refused, Transient, Unresolved

LONGEST_RETRY_AFTER = 3_600.0
"""The longest, in seconds, that a remote service can make us wait, whatever its `Retry-After` says."""

TRANSIENT_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
OVER_STATUSES = frozenset({425, 429, 500, 503})
"""Answers after which the service is no longer working on the call. Those of a gateway (502, 504) say nothing of the
service behind it."""
SETUP_STATUSES = frozenset({401, 403, 404, 405, 407})
KEY_REUSED = "idempotency_key_reused"
"""The code of a service that has seen the key with another body."""

_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_CODE = re.compile(r"[^a-z0-9_.-]+")
_IN_URI = re.compile(r"[/:#]")


@dataclass(frozen=True, kw_only=True)
class RemoteError:
    """A remote service's own account of a failure. `code` has at most 60 characters, `message` at most 300. `detail` is
    an object, of which it may have one."""

    code: str = ""
    message: str = ""
    detail: Mapping[str, Any] | None = None


NO_DETAILS = RemoteError()


def classify(
    cause: int | Exception, *, details: RemoteError = NO_DETAILS, retry_after: float | None = None
) -> Fault:
    """Returns the fault that an HTTP status or a call's exception stands for.

    | cause                                           | fault      | because                                      |
    |-------------------------------------------------|------------|----------------------------------------------|
    | no connection, DNS, TLS handshake, certificate  | Transient  | nothing was sent, and outages end            |
    | connection cut, timeout                         | Transient  | a retry with the same key finds out          |
    | broken HTTP                                     | Transient  | a retry with the same key finds out          |
    | 408, 425, 429, 500, 502, 503, 504               | Transient  | the service says so; Retry-After is honoured |
    | 409                                             | Transient  | the first call with this key is still going  |
    | 402                                             | Declined   | the customer can fix it                      |
    | 401, 403, 404, 405, 407                         | Unresolved | our set-up is wrong: code `misconfigured`    |
    | 4xx with the code `idempotency_key_reused`      | Unresolved | the key's first call may have had its effect |
    | invalid url                                     | Refused    | our set-up is wrong, and nothing was sent    |
    | other 4xx                                       | Refused    | a definite no; the service's code is kept    |
    | 3xx, 501, 505, any other                        | Unresolved | nobody knows whether it was done             |

    A certificate that does not verify is an outage like any other: the call was never sent, so a retry is safe. It
    reveals nothing about earlier tries, which may have taken effect.
    """
    if isinstance(cause, Exception):
        return _classify_exception(cause)
    message = details.message or f"the remote service answered {cause}"
    if cause in TRANSIENT_STATUSES:
        code = details.code or f"http_{cause}"
        return Transient(code, message, retry_after=retry_after, is_over=cause in OVER_STATUSES)
    if cause == 402:
        return Declined(details.code or "http_402", message, detail=details.detail)
    if cause in SETUP_STATUSES:
        # Not `Refused`: the service answered before it looked at the key, and an earlier try may have taken effect.
        return Unresolved(
            "misconfigured", f"answer {cause}: check the url and the credentials. {details.message}".strip()
        )
    if details.code == KEY_REUSED:
        # Not `Refused`: a next generation would do again what was done with this key.
        return Unresolved(KEY_REUSED, message)
    if 400 <= cause < 500:
        return Refused(details.code or f"http_{cause}", message, detail=details.detail)
    if 300 <= cause < 400:
        return Unresolved("redirected", f"the remote service answered {cause}; redirects are not followed")
    return Unresolved(details.code or f"http_{cause}", message)


def decline_if(refusal: Refused, *codes: str) -> Refused:
    """Returns a refusal as one that the customer can resolve if it has one of these codes, and as it is otherwise."""
    if refusal.code not in codes or isinstance(refusal, Declined):
        return refusal
    declined = Declined(refusal.code, refusal.message, detail=refusal.detail)
    declined.exchange = refusal.exchange
    return declined


def _classify_exception(error: Exception) -> Fault:
    import aiohttp  # noqa: PLC0415 - the roles that call nobody start sooner

    kind = type(error).__name__
    match error:
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return Refused("misconfigured", "the remote service's url is not valid")
        case TimeoutError():
            return Transient("timeout", "no answer in time")
        case aiohttp.ClientConnectorCertificateError():
            return _unsent("certificate", "the remote service's certificate does not verify")
        case aiohttp.ClientConnectorDNSError():
            return _unsent("dns", "the remote service's host name was not found")
        case aiohttp.ClientSSLError():
            return _unsent("tls", "no TLS connection to the remote service")
        case aiohttp.ClientConnectorError():
            return _unsent("unreachable", "no connection to the remote service")
        case aiohttp.ClientResponseError():
            return Transient("bad_answer", f"the answer is not valid HTTP ({kind})")
    return Transient("connection_lost", f"the connection was lost before the answer was complete ({kind})")


def _unsent(code: str, message: str) -> Transient:
    return Transient(code, message, is_over=True)


def retry_after_seconds(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Returns the wait that `Retry-After` asks for, 0 to `LONGEST_RETRY_AFTER` seconds; None if it asks for none.

    A date is measured from the service's own `Date` header if it has one, so the two clocks need not agree.
    """
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), LONGEST_RETRY_AFTER) if len(value) < 10 else LONGEST_RETRY_AFTER
    until = _http_date(value)
    if until is None:
        return None
    wait = (until - (_http_date(headers.get("Date", "")) or now)).total_seconds()
    return min(max(wait, 0.0), LONGEST_RETRY_AFTER)


def _http_date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def read_object(raw: bytes) -> dict[str, Any]:
    """Reads an answer's JSON object. Raises `ValueError` if it is not one, or if the state store cannot keep it.

    PostgreSQL's `jsonb` takes no NUL character, no lone surrogate, and no infinite number or NaN.
    """
    try:
        answer = json.loads(raw)
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
        text.encode()
    except RecursionError as error:
        raise ValueError("the answer is nested too deeply") from error
    if not isinstance(answer, dict):
        raise ValueError("the answer is not a JSON object")
    if _ESCAPED_NUL.search(text):
        raise ValueError("the answer contains a NUL character")
    return answer


def read_error(raw: bytes) -> RemoteError:
    """Reads an error's code and message, trimmed and without control characters; empty where there is none.

    | answer                                         | code                         | message             |
    |------------------------------------------------|------------------------------|---------------------|
    | `{"error": {"code", "message"}}`               | `code`                       | `message`           |
    | `{"code", "message"}`                          | `code`                       | `message`           |
    | problem details (RFC 9457), perhaps with a code | `code`, or the end of `type` | `detail` or `title` |
    | `{"error": "invalid_grant", "error_description"}` | `error`                   | `error_description` |
    | `{"error": "no stock"}`                        |                              | `error`             |

    Its `detail` is the object in `error.detail`, `error.details`, `detail` or `details`.
    """
    try:
        body = read_object(raw)
    except ValueError:
        return NO_DETAILS
    error = body.get("error")
    inner = error if isinstance(error, dict) else {}
    described = error if "error_description" in body else None
    code = _first_text(inner.get("code"), body.get("code"), _end_of(body.get("type")), described)
    message = _first_text(
        *(inner.get("message"), body.get("message")),
        *(body.get("detail"), body.get("title"), body.get("error_description"), error),
    )
    details = (inner.get("detail"), inner.get("details"), body.get("detail"), body.get("details"))
    return RemoteError(
        code=_CODE.sub("_", code[:60].lower()),
        message=_one_line(message),
        detail=next((detail for detail in details if isinstance(detail, dict) and detail), None),
    )


def _first_text(*values: object) -> str:
    return next((value for value in values if isinstance(value, str) and value.strip()), "")


def _end_of(uri: object) -> str:
    """The last part of a problem's type: "out-of-stock" of "https://example.com/problems/out-of-stock"; nothing of a
    word that is no URI."""
    if not isinstance(uri, str) or uri.strip().lower() == "about:blank" or not _IN_URI.search(uri):
        return ""
    return _IN_URI.split(uri.strip().rstrip("/#"))[-1]


def _one_line(text: str) -> str:
    printable = "".join(letter if letter.isprintable() else " " for letter in text[:1_000])
    return " ".join(printable.split())[:300]
