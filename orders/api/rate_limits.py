"""What the API says about its limits: the headers of every answer that was counted, and the document's words for them.

`RateLimit-Policy` and `RateLimit` are those of draft-ietf-httpapi-ratelimit-headers-11. Each policy has the name of its
limit (`sasweb.limits`).
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from django.db import InterfaceError, OperationalError
from rest_framework.exceptions import ErrorDetail, Throttled
from rest_framework.request import Request

from orders.access.addresses import read_ip_address
from orders.access.limited_requests import note_counts, noted_counts
from orders.access.limits import Count, LimitedError, Subject, take
from orders.access.purses import PURSES
from orders.wording.units import counted

POLICIES = {
    "reads.account": "what an account reads",
    "orders.account": "orders that an account places",
    "orders.token": "orders that a token places",
    "posts.account": "whatever else an account posts, changes or deletes",
    "webhook_tests.account": "tests of an account's webhooks",
    "waits.account": "requests of an account that may wait for a change",
    "search.account": "searches of an account",
    "anonymous.address": "what an IP address reads without a token, and its requests with a wrong one",
    "callbacks.address": "calls that an IP address answers later",
    "search.address": "searches of an IP address",
    "posts.address": "whatever else an IP address posts without a token",
}
"""What each limit of the API counts."""

RETRY_AFTER, RATE_LIMIT, RATE_LIMIT_POLICY = "Retry-After", "RateLimit", "RateLimit-Policy"
HEADERS = {
    RETRY_AFTER: {
        "description": "How many seconds to wait before you send the request again.",
        "schema": {"type": "integer", "minimum": 1},
    },
    RATE_LIMIT: {
        "description": (
            "For each limit that the request counted for: `r`, how many requests are left, and `t`, in how many "
            "seconds there is one more. Other requests of yours count as well, so take `r` as an estimate."
        ),
        "schema": {"type": "string"},
        "example": '"orders.token";r=299;t=1, "orders.account";r=599;t=1',
    },
    RATE_LIMIT_POLICY: {
        "description": (
            "The limits that the request counted for: `q` requests at once, and as many again every `w` seconds, "
            "spread evenly. The top of this document says what each counts."
        ),
        "schema": {"type": "string"},
        "example": '"orders.token";q=300;w=60, "orders.account";q=600;w=60',
    },
}
"""The headers, as OpenAPI describes them."""


class RateLimitedError(Throttled):
    """Raised when a client must wait; the detail says for which limit, and how long."""

    def __init__(self, refused: Count) -> None:
        super().__init__(wait=refused.wait)
        limit = refused.limit
        self.detail = ErrorDetail(
            f"The limit {refused.name} is used up, which allows {limit.most:,} in "
            f"{counted(limit.seconds, 'second')}. Try again in {counted(refused.wait, 'second')}."
        )


def count(
    request: Request, *, often: Sequence[Subject] = (), each: Iterable[Subject] = (), number: int = 1
) -> None:
    """Counts a request and notes what is left for its answer. What happens `often` costs no statement each. It counts
    `number` times for the others.

    Raises `RateLimitedError`, and what the database raises.
    """
    counts = list(noted_counts(request._request))
    try:
        counts += [spent for subject in often if (spent := PURSES.spend(subject))]
        counts += take(each, number)
    except LimitedError as error:
        counts += error.counts
        raise RateLimitedError(error.refused) from error
    finally:
        note_counts(request._request, counts)


def count_stranger(request: Request) -> None:
    """Counts a request with a token that is not valid. Raises `RateLimitedError`."""
    with suppress(OperationalError, InterfaceError):  # the token is not valid all the same
        count(request, often=list(stranger(request)))


def stranger(request: Request) -> Iterator[Subject]:
    """Who is counted for what comes without a valid token."""
    if address := read_ip_address(request):
        yield "anonymous.address", address


def describe_limits(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Adds the headers to the answers of the OpenAPI document that have them."""
    result.setdefault("components", {}).setdefault("headers", {}).update(HEADERS)
    for operations in result["paths"].values():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                names = _headers_of(status)
                if names:
                    here = response.setdefault("headers", {})
                    here.update({name: {"$ref": f"#/components/headers/{name}"} for name in names})
    return result


def _headers_of(status: str) -> tuple[str, ...]:
    if status == "503":
        return (RETRY_AFTER,)
    if status == "429":
        return (RETRY_AFTER, RATE_LIMIT, RATE_LIMIT_POLICY)
    return (RATE_LIMIT, RATE_LIMIT_POLICY) if status[0] in "23" else ()
