"""Tells clients that an order still is as they know it (304), in the event loop: most of what they ask is just that.

What the requests of a moment ask is found out together, with one statement in a thread. Whatever has another answer, or
might have one, goes on to Django: an order that has changed, a token that is not valid or whose use has to be noted,
too many reads, a database that does not answer. So it is Django alone that says what is wrong. What its middleware adds
to every answer is taken from it; a test compares the answers of both.
"""

import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from django.utils import timezone

from orders.access.api_tokens import usable_at_once
from orders.access.limited_requests import limit_headers
from orders.access.limits import LimitedError
from orders.access.purses import PURSES
from orders.api.django_headers import (
    Headers,
    Shortcut,
    digest_of_header,
    encoded,
    headers_from_django,
    plain_headers,
)
from orders.api.requests import etag, versions_in
from orders.api.together import Together
from orders.selectors.known_reads import Reading, Seen, versions_seen
from sasweb.request_ids import keep_or_make

Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

AT_ONCE = 100
"""Requests that are answered with one statement."""

ORDER = re.compile(r"/api/v1/orders/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
UNCHANGED = Shortcut(
    "GET",
    f"/api/v1/orders/{UUID(int=0)}",
    304,
    "",
    (("Allow", "GET, HEAD, OPTIONS"), ("Vary", "Authorization, Cookie")),
)
"""The answer, without the order's version and the limits."""


class Question(NamedTuple):
    """Whether an order still has one of these versions; `*` stands for any."""

    reading: Reading
    known_versions: frozenset[str]
    scheme: str
    host: bytes


class KnownReads:
    """The questions of a process. Used in the event loop alone."""

    def __init__(self) -> None:
        self._questions = Together(answers_to, at_once=AT_ONCE)

    async def answer(self, scope: MutableMapping[str, Any], send: Send) -> bool:
        """Answers a request if it is such a question, and the answer is yes. Returns whether it has."""
        question = question_of(scope)
        headers = await self._questions.ask(question) if question else None
        if headers is None:
            return False
        sent_id = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        request_id = (b"x-request-id", keep_or_make(sent_id.decode("latin-1")).encode())
        await send({"type": "http.response.start", "status": 304, "headers": [*headers, request_id]})
        await send({"type": "http.response.body", "body": b""})
        return True


def question_of(scope: MutableMapping[str, Any]) -> Question | None:
    """What a request asks; None if it is anything else, or anything that makes a difference to Django."""
    order = ORDER.fullmatch(scope["path"])
    if order is None or scope["method"] != "GET" or scope["query_string"] or scope.get("root_path"):
        return None
    headers = plain_headers(scope)
    if headers is None or b"content-length" in headers:
        return None
    host, authorization, etags = map(headers.get, (b"host", b"authorization", b"if-none-match"))
    if host is None or authorization is None or etags is None:
        return None
    digest = digest_of_header(authorization)
    if digest is None:
        return None
    versions = frozenset(versions_in(etags.decode("latin-1")))
    return Question(Reading(digest, UUID(order[1])), versions, scope.get("scheme", "http"), host)


def answers_to(questions: Sequence[Question]) -> Sequence[Headers | None]:
    """The headers of each answer; None where Django has to answer. Raises what the database raises."""
    usable = usable_at_once(now=timezone.now())
    seen_versions = versions_seen([question.reading for question in questions], usable=usable)
    return [
        answer_to(question, seen) if seen else None
        for question, seen in zip(questions, seen_versions, strict=True)
    ]


def answer_to(question: Question, seen: Seen) -> Headers | None:
    """Counts the read and returns the headers of its answer; None if the client knows another version."""
    if question.known_versions.isdisjoint((seen.version, "*")):
        return None
    fixed_headers = headers_from_django(UNCHANGED, question.scheme, question.host, seen.api_version)
    if fixed_headers is None:
        return None
    try:
        count = PURSES.spend(("reads.account", str(seen.account_id)))
    except LimitedError:
        return None
    counted = limit_headers([count]) if count else {}
    return (*fixed_headers, *encoded({"ETag": etag(seen.version), **counted}))
