"""The web application, which also says at /held how many requests it holds, so that a test knows when one waits."""

from typing import Any

from sasweb import asgi

HELD = "/held"


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answers as the product does, or with the numbers of waits and of streams."""
    if scope["type"] != "http" or scope["path"] != HELD:
        await asgi.application(scope, receive, send)
        return
    held = asgi.streams._held
    numbers = f"{held._waits._held} {held._streams._held}".encode()
    headers = [(b"content-length", str(len(numbers)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": numbers})
