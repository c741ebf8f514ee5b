"""Tells clients that an order still is as they know it (304), in the event loop: most of what they ask is just that.

What the requests of a moment ask is found out together, with one statement in a thread. Whatever has another answer, or
might have one, goes on to Django: an order that has changed, a token that is not valid or whose use has to be noted,
too many reads, a database that does not answer. So it is Django alone that says what is wrong. What its middleware adds
to every answer is taken from it; a test compares the answers of both.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from io import BytesIO
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import structlog
from django.core.exceptions import DisallowedHost
from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIRequest
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from orders.access import api_versions
from orders.access.api_tokens import USE_NOTED_EVERY, digest_of
from orders.access.api_versions import HEADER
from orders.access.limited_requests import limit_headers
from orders.access.limits import LimitedError
from orders.access.purses import PURSES
from orders.api.requests import etag, versions_in
from orders.selectors.known_reads import Reading, versions_seen
from sasweb.request_ids import keep_or_make

log = structlog.get_logger()

Message: TypeAlias = MutableMapping[str, Any]
Headers: TypeAlias = Sequence[tuple[bytes, bytes]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

AT_ONCE = 100
"""Requests that are answered with one statement."""
CROWD = 1_000
"""Requests that wait for a statement. More go to Django, which counts them by IP address."""

ORDER = re.compile(r"/api/v1/orders/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
NEEDED = (b"host", b"authorization", b"if-none-match")
DECISIVE = frozenset(
    {b"cookie", b"prefer", b"content-length", b"transfer-encoding", b"expect", HEADER.lower().encode()}
)
"""Headers that may lead to another answer."""
ACCEPTED = frozenset({"*/*", "application/*", "application/json"})
VIEW_HEADERS = {"Allow": "GET, HEAD, OPTIONS", "Vary": "Authorization, Cookie"}
"""What the view of an order adds, besides its version and the limits."""


class Question(NamedTuple):
    """Whether an order still has one of these versions; `*` stands for any."""

    reading: Reading
    known_versions: frozenset[str]
    scheme: str
    host: bytes


class KnownReads:
    """The questions of a process that wait for an answer. Used in the event loop alone."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Question, asyncio.Future[Headers | None]]] = []
        self._work: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "known-reads")

    async def answer(self, scope: MutableMapping[str, Any], send: Send) -> bool:
        """Answers a request if it is such a question, and the answer is yes. Returns whether it has."""
        question = question_of(scope)
        if question is None or len(self._waiting) >= CROWD:
            return False
        future: asyncio.Future[Headers | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if self._work is None:
            self._work = asyncio.create_task(self._answer_all())
        headers = await future
        if headers is None:
            return False
        sent_id = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        request_id = (b"x-request-id", keep_or_make(sent_id.decode("latin-1")).encode())
        await send({"type": "http.response.start", "status": 304, "headers": [*headers, request_id]})
        await send({"type": "http.response.body", "body": b""})
        return True

    async def _answer_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
            questions = [question for question, _ in batch]
            answers = await asyncio.get_running_loop().run_in_executor(self._thread, answers_to, questions)
            for (_, future), headers in zip(batch, answers, strict=True):
                if not future.done():  # whose client has left
                    future.set_result(headers)
        self._work = None


def question_of(scope: MutableMapping[str, Any]) -> Question | None:
    """What a request asks; None if it is anything else, or anything that makes a difference to Django."""
    order = ORDER.fullmatch(scope["path"])
    if order is None or scope["method"] != "GET" or scope["query_string"] or scope.get("root_path"):
        return None
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if len(headers) < len(scope["headers"]) or not DECISIVE.isdisjoint(headers):
        return None
    host, authorization, etags = map(headers.get, NEEDED)
    if host is None or authorization is None or etags is None or any(b"_" in name for name in headers):
        return None  # WSGI takes an underscore for a hyphen
    digest = digest_of_header(authorization)
    if digest is None or not takes_json(headers.get(b"accept", b"*/*")):
        return None
    versions = frozenset(versions_in(etags.decode("latin-1")))
    return Question(Reading(digest, UUID(order[1])), versions, scope.get("scheme", "http"), host)


def digest_of_header(authorization: bytes) -> str | None:
    """The hash of the token in `Authorization: Token <token>`; None if there is none."""
    scheme, _, secret = authorization.partition(b" ")
    return digest_of(secret.decode("latin-1")) if scheme.lower() == b"token" else None


@lru_cache(maxsize=100)
def takes_json(accept: bytes) -> bool:
    """Whether a client certainly accepts JSON."""
    return not ACCEPTED.isdisjoint(part.strip() for part in accept.decode("latin-1").split(","))


def answers_to(questions: Sequence[Question]) -> Sequence[Headers | None]:
    """The headers of each answer; None where Django has to answer. Runs in a thread, and closes its connection."""
    try:
        now = timezone.now()
        readings = [question.reading for question in questions]
        seen_versions = versions_seen(
            readings, now=now, noted_since=now - USE_NOTED_EVERY, version=api_versions.newest().name
        )
        return [
            answer_to(question, seen.version, seen.account_id) if seen else None
            for question, seen in zip(questions, seen_versions, strict=True)
        ]
    except Error:
        return [None] * len(questions)  # the view meets the same trouble, and says so
    except Exception:
        log.exception("known reads failed", action="request")
        return [None] * len(questions)
    finally:
        connection.close()


def answer_to(question: Question, version: str, account_id: int) -> Headers | None:
    """Counts the read and returns the headers of its answer; None if the client knows another version."""
    if question.known_versions.isdisjoint((version, "*")):
        return None
    fixed_headers = headers_from_django(question.scheme, question.host)
    if fixed_headers is None:
        return None
    try:
        count = PURSES.spend(("reads.account", str(account_id)))
    except LimitedError:
        return None
    counted = limit_headers([count]) if count else {}
    own = {"etag": etag(version), **counted}
    return (*fixed_headers, *((name.lower().encode(), value.encode()) for name, value in own.items()))


class Unchanged(BaseHandler):
    """Django with its middleware, and with a view that knows nothing but this answer."""

    def _get_response(self, request: HttpRequest) -> HttpResponse:
        response = HttpResponse(status=304, headers=VIEW_HEADERS)
        del response["Content-Type"]
        return response


@lru_cache(maxsize=1)
def django() -> Unchanged:
    """Loads the middleware, once."""
    handler = Unchanged()
    handler.load_middleware()
    return handler


@lru_cache(maxsize=100)
def headers_from_django(scheme: str, host: bytes) -> Headers | None:
    """What Django adds to every such answer, apart from the request's id; None if it answers otherwise, as it does if
    it does not know the host."""
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": f"/api/v1/orders/{UUID(int=0)}",
        "SERVER_NAME": "localhost",
    }
    environ |= {"SERVER_PORT": "443" if scheme == "https" else "80", "HTTP_HOST": host.decode("latin-1")}
    request = WSGIRequest({**environ, "wsgi.url_scheme": scheme, "wsgi.input": BytesIO()})
    try:
        request.get_host()
    except DisallowedHost:
        return None
    response = django().get_response(request)
    if response.status_code != 304:
        return None
    del response["X-Request-ID"]
    return tuple((name.lower().encode(), value.encode()) for name, value in response.items())
