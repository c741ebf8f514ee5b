"""Problems (RFC 9457): the API's unsuccessful responses, in one form for Django and for the server below it.

Those that the server itself answers with are here, the others in `orders.api.problems`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

MEDIA_TYPE = "application/problem+json"

MOST_ERRORS = 100
"""The most mistakes that one response lists."""

API = re.compile(r"(?:https?://[^/]*)?/+(?:api|callbacks)(?![\w.~-])", re.IGNORECASE)
"""The beginning of a path that is meant for the API, or for what remote services call, although it may be misspelt."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A kind of error. If it is `retryable`, the same request may succeed later."""

    code: str
    status: int
    title: str
    meaning: str
    retryable: bool = False


def problems(*rows: tuple[str, int, str, str]) -> Mapping[str, Problem]:
    """Problems by their codes. Each row is a code, a status, a title and what it means."""
    return {
        code: Problem(
            code=code, status=status, title=title, meaning=meaning, retryable=status in (408, 429, 503)
        )
        for code, status, title, meaning in rows
    }


SERVER_PROBLEMS = problems(
    ("malformed_request", 400, "The request cannot be read", "It is malformed, or its body is not JSON in UTF-8."),
    ("request_timeout", 408, "The request did not arrive in time",
     "A body must arrive within 30 seconds. Send it again, and send it faster."),
    ("url_too_long", 414, "The URL is too long", "The first line of a request may have up to 4,094 bytes."),
    ("headers_too_large", 431, "The headers are too large",
     "A request may have up to 100 headers of up to 8,190 bytes each, and of 16 KiB together if it is to wait."),
    ("internal_error", 500, "Something went wrong on our side",
     "The error is logged under `request_id`, and may come again. What has an Idempotency-Key can safely be repeated."),
    ("transfer_coding_unknown", 501, "The transfer coding is not supported",
     "Send the body with `Content-Length` or with `Transfer-Encoding: chunked`."),
    ("unavailable", 503, "Temporarily unavailable",
     "Try again after `Retry-After` seconds. With an Idempotency-Key you can safely place an order again."),
)  # fmt: skip
"""What the server answers without Django."""


def concerns_api(path: str) -> bool:
    """Whether a request with this path expects problems instead of pages, also as its answer to a mistake in it."""
    return API.match(path) is not None


def type_url(code: str) -> str:
    """A problem's `type`: the absolute url of the page that explains it."""
    return f"{settings.CONFIG.public_url}/api/problems/{code}"


def describe(
    problem: Problem, *, request_id: str, detail: str = "", errors: Sequence[Mapping[str, str]] = ()
) -> dict[str, Any]:
    """A problem as a JSON object."""
    body: dict[str, Any] = {
        "type": type_url(problem.code),
        "title": problem.title,
        "status": problem.status,
        "detail": detail or problem.meaning,
        "code": problem.code,
        "request_id": request_id,
        "retryable": problem.retryable,
    }
    if errors:
        body["errors"] = list(errors)[:MOST_ERRORS]
    return body


def encode(body: Mapping[str, Any]) -> bytes:
    """A JSON object as it is sent."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
