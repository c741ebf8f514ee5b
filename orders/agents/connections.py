"""The connections of a `transport.Remote`. Only what makes calls imports this: aiohttp takes long to import."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from orders.agents.answers import classify
from orders.agents.rehearsing import Held, is_rehearsal

MOST_CONNECTIONS = 2_000
"""Connections to one remote service at most: more than any agent's capacity, so that capacity is the limit."""

_TELLING = (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, aiohttp.ClientResponseError)
"""The errors that hold a url or headers with their credentials, so they must not be in a traceback."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the remote service answered. `body` is None if it is larger than was wanted."""

    status: int
    headers: Mapping[str, str]
    body: bytes | None


class Connections:
    """Connections to one remote service. `timeout` is for one call and `idle` for a connection, in seconds.

    `headers` go with every call. `largest` is the most bytes that are read of an answer.
    """

    def __init__(
        self,
        *,
        timeout: float,
        idle: float,
        largest: int,
        headers: Mapping[str, str],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._largest = largest
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=MOST_CONNECTIONS, keepalive_timeout=idle, ssl=tls or True),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=timeout),
            # A compressed answer may be small on the wire and a gigabyte in memory, so we neither ask for one nor
            # unpack one.
            auto_decompress=False,
            headers=headers,
            middlewares=[_hold_back, _send_once],
        )

    async def call(self, method: str, url: str, **options: Any) -> Answer:
        """Makes one call. Raises a `Fault` if there is no answer (see `answers.classify`)."""
        try:
            async with self._session.request(method, url, allow_redirects=False, **options) as response:
                body = await self._read(response)
        except _TELLING as error:
            raise classify(error) from None
        except _LostConnection as lost:
            raise classify(lost.error) from lost.error
        except (aiohttp.ClientError, OSError) as error:
            raise classify(error) from error
        return Answer(status=response.status, headers=response.headers, body=body)

    async def close(self) -> None:
        """Closes them."""
        await self._session.close()

    async def _read(self, response: aiohttp.ClientResponse) -> bytes | None:
        """Reads the body. Returns None if it is too large, and closes the connection."""
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > self._largest:
                response.close()
                return None
        return bytes(body)


class _LostConnection(aiohttp.ClientError):
    """Raised when a connection is lost once something may have been sent."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


async def _hold_back(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """In a rehearsal, keeps a request in place of connecting and sending it. It is complete here, with every header."""
    if not is_rehearsal():
        return await send(request)
    body = request.body
    raw = body if isinstance(body, bytes) else await body.as_bytes()
    raise Held(method=request.method, url=str(request.url), headers=dict(request.headers), body=raw)


async def _send_once(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keeps aiohttp from sending a GET or PUT again by itself when its connection is lost."""
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _LostConnection(error) from error
