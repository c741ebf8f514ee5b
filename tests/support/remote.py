"""A test's own remote service, and one call to it."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from orders.agents.transport import (
    Remote,
)
from orders.engine.errors import Fault

BOUND = 10.0
"""Seconds; far longer than any call of a test here takes."""


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextlib.asynccontextmanager
async def serving(handler: Handler, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A real server on loopback that answers every call with `handler`, over TLS if it has settings for that."""
    app = web.Application()
    app.router.add_route("*", "/{anything:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"{'https' if tls else 'http'}://{host}:{port}"
    finally:
        await runner.cleanup()


def call(handler: Handler, *, timeout: float = BOUND) -> dict[str, Any]:
    """One call to a server with `handler`."""

    async def run() -> dict[str, Any]:
        async with serving(handler) as url:
            remote = Remote(url, timeout=timeout)
            try:
                return await remote.post("operation", key="order/step/1", body={"order_id": "1"})
            finally:
                await remote.close()

    return asyncio.run(asyncio.wait_for(run(), BOUND))


def fault_of(handler: Handler, *, timeout: float = BOUND) -> Fault:
    with pytest.raises(Fault) as caught:
        call(handler, timeout=timeout)
    return caught.value


def answering(status: int, body: str = "{}", **headers: str) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, text=body, headers=sent)

    return handler
