"""HTTP for agents: one try of one call, bounded in time and size, whose every failure has a documented class.

Nothing here tries again: the agents' host does, inside the complete-by time, because each call carries a key (A3).
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from orders.engine.contracts import Json, Request
from orders.engine.errors import Declined, Fault, Refused, Transient, Unresolved

CALL_TIMEOUT = 5.0
"""Seconds that one call may take, from waiting for a connection to the last byte of the answer."""

MOST_CONNECTIONS = 2_000
"""Calls that may be under way at once to one remote service."""

IDLE_CONNECTION = 4.0
"""Seconds that an idle connection is kept: less than the shortest common limit of servers (5 s), which close it."""

LARGEST_ANSWER = 64 * 1024
"""Bytes of an answer that are read at most."""

LONGEST_RETRY_AFTER = 60.0
"""Seconds for which a remote service can put us off at most."""

TRANSIENT_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
SETUP_STATUSES = frozenset({401, 403, 404, 405, 407})

_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_CODE = re.compile(r"[^a-z0-9_.-]+")


@dataclass(frozen=True, kw_only=True)
class RemoteError:
    """What a remote service said about a failure, trimmed: `code` at most 60 characters, `message` at most 300."""

    code: str = ""
    message: str = ""


NOTHING_SAID = RemoteError()


def classify(
    cause: int | Exception, *, said: RemoteError = NOTHING_SAID, retry_after: float | None = None
) -> Fault:
    """The fault that an HTTP status, or the exception of a call, stands for.

    | cause                                           | fault      | because                                      |
    |-------------------------------------------------|------------|----------------------------------------------|
    | no connection, DNS, TLS handshake, certificate  | Transient  | nothing was sent, and an outage ends         |
    | connection cut, time-out                        | Transient  | the same key will answer what happened       |
    | broken HTTP                                     | Transient  | the same                                     |
    | 408, 425, 429, 500, 502, 503, 504               | Transient  | the remote says so; its Retry-After is kept  |
    | 409                                             | Transient  | the first call with this key still runs      |
    | 402                                             | Declined   | the customer can fix it                      |
    | 401, 403, 404, 405, 407                         | Unresolved | our set-up is wrong: code `misconfigured`    |
    | an address that is none                         | Refused    | the same; nothing was sent                   |
    | other 4xx                                       | Refused    | a definite no; the remote's own code is kept |
    | 3xx, 501, 505, any other                        | Unresolved | nobody knows whether it was done             |

    A certificate that does not verify is an outage like any other: the call was never sent, so that trying again is
    safe, and it does not tell what became of an earlier try.
    """
    if isinstance(cause, Exception):
        return _classify_exception(cause)
    message = said.message or f"the remote service answered {cause}"
    if cause in TRANSIENT_STATUSES:
        return Transient(said.code or f"http_{cause}", message, retry_after=retry_after)
    if cause == 402:
        return Declined(said.code or "http_402", message)
    if cause in SETUP_STATUSES:
        # Answered before anybody looked at the key, so it says nothing of an earlier try that may have had its effect.
        return Unresolved(
            "misconfigured", f"answer {cause}: check the address and the credentials. {said.message}".strip()
        )
    if 400 <= cause < 500:
        return Refused(said.code or f"http_{cause}", message)
    if 300 <= cause < 400:
        return Unresolved("redirected", f"the remote service answered {cause}; redirects are not followed")
    return Unresolved(said.code or f"http_{cause}", message)


def _classify_exception(error: Exception) -> Fault:
    kind = type(error).__name__
    match error:
        case aiohttp.InvalidURL():
            return Refused("misconfigured", "the address of the remote service is not one")
        case TimeoutError():
            return Transient("timeout", "no answer in time")
        case aiohttp.ClientConnectorCertificateError():
            return Transient("certificate", "the remote service's certificate does not verify")
        case aiohttp.ClientConnectorDNSError():
            return Transient("dns", "the remote service's name is not found")
        case aiohttp.ClientSSLError():
            return Transient("tls", "no TLS connection with the remote service")
        case aiohttp.ClientConnectorError():
            return Transient("unreachable", "no connection to the remote service")
        case aiohttp.ClientResponseError():
            return Transient("bad_answer", f"the answer is not HTTP ({kind})")
    return Transient("connection_lost", f"the connection was lost before the whole answer came ({kind})")


def retry_after_seconds(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """The wait that `Retry-After` asks for, 0 to `LONGEST_RETRY_AFTER` seconds; None when it asks for none.

    A date is measured from the remote's own `Date` where there is one, so that two clocks need not agree.
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
    """The JSON object of an answer. Raises `ValueError` when it is none, or one that the state store cannot keep.

    PostgreSQL keeps no NUL, no lone surrogate, and no number that is not finite.
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
        raise ValueError("the answer has a NUL character in it")
    return answer


def read_error(raw: bytes) -> RemoteError:
    """The remote's own `{"error": {"code", "message"}}`, trimmed and stripped of control characters, if it is there."""
    try:
        error = read_object(raw).get("error")
    except ValueError:
        return NOTHING_SAID
    if not isinstance(error, dict):
        return NOTHING_SAID
    code, message = error.get("code"), error.get("message")
    return RemoteError(
        code=_CODE.sub("_", code[:60].lower()) if isinstance(code, str) else "",
        message=_one_line(message) if isinstance(message, str) else "",
    )


def _one_line(text: str) -> str:
    shown = "".join(letter if letter.isprintable() else " " for letter in text[:1_000])
    return " ".join(shown.split())[:300]


def unknown_operation(request: Request) -> Refused:
    """The refusal of an operation that this release's agent does not have."""
    return Refused("unknown_operation", f"{request.step}: there is no operation {request.operation!r}")


class Remote:
    """One remote service over HTTP, for one event loop.

    `base_url` has the service's address and, if any, its credentials (http://user:password@host). Connections are made
    on first use and shared; `close` ends them.
    """

    def __init__(self, base_url: str, *, timeout: float = CALL_TIMEOUT) -> None:
        if not timeout > 0 or not math.isfinite(timeout):
            raise ValueError(f"timeout={timeout!r}: allowed is a number of seconds above 0")
        self._base_url = base_url.rstrip("/")
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._session: aiohttp.ClientSession | None = None

    async def post(self, path: str, *, key: str, body: Json) -> dict[str, Any]:
        """Makes one call and returns the answer's JSON object. Raises a `Fault` for anything else (see `classify`)."""
        try:
            async with self._connections().post(
                f"{self._base_url}/{path}",
                json=dict(body),
                headers={"Idempotency-Key": key},
                allow_redirects=False,
            ) as response:
                raw = await _read_capped(response)
        except (aiohttp.ClientError, OSError) as error:
            raise classify(error) from error
        if not 200 <= response.status < 300:
            raise classify(
                response.status,
                said=read_error(raw or b""),
                retry_after=retry_after_seconds(response.headers, now=datetime.now(UTC)),
            )
        if raw is None:
            raise Unresolved("answer_too_large", f"the answer is larger than {LARGEST_ANSWER} bytes")
        try:
            return read_object(raw)
        except ValueError as error:
            raise Transient("bad_answer", "the answer is not a JSON object that can be kept") from error

    async def close(self) -> None:
        """Ends the connections. A later call makes new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _connections(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=MOST_CONNECTIONS, keepalive_timeout=IDLE_CONNECTION),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=self._timeout,
                # A compressed answer, small on the wire, may be a gigabyte in memory: none is asked for or unpacked.
                auto_decompress=False,
                headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "sasweb"},
            )
        return self._session


async def _read_capped(response: aiohttp.ClientResponse) -> bytes | None:
    """The body, or None when it is larger than we read; its connection is then closed."""
    read = bytearray()
    async for chunk in response.content.iter_any():
        read += chunk
        if len(read) > LARGEST_ANSWER:
            response.close()
            return None
    return bytes(read)
