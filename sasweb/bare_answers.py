"""What is answered without Django: a line of text, or a problem where the API was meant."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.conf import settings

from sasweb.problems import MEDIA_TYPE, SERVER_PROBLEMS, concerns_api, describe, encode
from sasweb.request_ids import keep_or_make

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

PLAIN_TEXT = b"text/plain; charset=utf-8"

SECURITY_HEADERS: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'"),
]
"""Of what Django does not answer."""


@dataclass(frozen=True, kw_only=True)
class BareAnswer:
    """A whole response, without the security headers."""

    status: int
    headers: Headers
    body: bytes


def refusal(
    code: str, *, path: str | None, headers: Iterable[tuple[bytes, bytes]], text: str, detail: str = ""
) -> BareAnswer:
    """Says what is wrong with a request, or with us: `text` in a page's place, and a problem with `detail` if the path
    concerns the API or could not be read (None). `headers` are those of the request."""
    sent = next((value.decode("latin-1") for name, value in headers if name == b"x-request-id"), "")
    request_id = keep_or_make(sent)
    problem = SERVER_PROBLEMS[code]
    if path is None or concerns_api(path):
        media_type, body = (
            MEDIA_TYPE.encode(),
            encode(describe(problem, request_id=request_id, detail=detail)),
        )
    else:
        media_type, body = PLAIN_TEXT, f"{text}\n".encode()
    own = [(b"cache-control", b"no-store"), (b"x-request-id", request_id.encode())]
    return BareAnswer(
        status=problem.status,
        headers=[(b"content-type", media_type), (b"content-length", str(len(body)).encode()), *own],
        body=body,
    )


async def answer(scope: Scope, send: Send, status: int, text: bytes) -> None:
    """Answers with one line of text."""
    headers = [(b"content-type", PLAIN_TEXT), (b"content-length", str(len(text)).encode())]
    await send_answer(scope, send, BareAnswer(status=status, headers=headers, body=text))


async def send_answer(scope: Scope, send: Send, bare: BareAnswer) -> None:
    """Sends a whole response."""
    send = with_security_headers(scope, send)
    await send({"type": "http.response.start", "status": bare.status, "headers": bare.headers})
    await send({"type": "http.response.body", "body": bare.body})


def with_security_headers(scope: Scope, send: Send) -> Send:
    """Adds what Django's middleware would add."""
    headers = [*SECURITY_HEADERS]
    if scope.get("scheme") == "https" and settings.SECURE_HSTS_SECONDS:
        headers.append((b"strict-transport-security", f"max-age={settings.SECURE_HSTS_SECONDS}".encode()))

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *headers]}
        await send(message)

    return send_with_headers
