"""One call to a webhook or another url in the settings, bounded in time and size.

The host's name is looked up once, and every address is checked in the moment in which a connection to it is opened, so
no name server can show one address to the check and another to the call. Addresses that are not public need
`WEBHOOK_NETWORKS`, and so does http. Redirects are not followed, and no proxy of the environment is used. Of the answer
only the status counts: nothing else is read.
"""

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from django.conf import settings

from sasweb.mail_server import NotSentError
from sasweb.public_hosts import is_public, is_within

TIMEOUT = 5.0
"""Seconds for the whole call, from looking up the host's name to the status of the answer."""

LookUp = Callable[..., Any]
"""A function like `socket.getaddrinfo`."""


class _RefusedAddressError(OSError):
    """Raised when a host leads to an address that may not be called."""


def call(
    url: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    look_up: LookUp = socket.getaddrinfo,
) -> None:
    """Posts the body to the url or, without a body, gets the url.

    Raises `NotSentError` unless the answer is a success. Its text does not show the url, which may hold a secret.
    """
    host = urlsplit(url).hostname or ""
    try:
        status = asyncio.run(_call(url, body, headers or {}, look_up))
    except TimeoutError as error:
        raise NotSentError(f"no answer from {host} within {TIMEOUT:g} seconds") from error
    except aiohttp.ClientConnectorDNSError as error:
        raise NotSentError(f"the host {host} was not found") from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise NotSentError(f"the certificate of {host} is not valid") from error
    except aiohttp.ClientConnectorError as error:
        raise NotSentError(f"no connection to {host}: {_reason(error.os_error)}") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise NotSentError(f"no valid answer from {host} ({type(error).__name__})") from error
    if 300 <= status < 400:
        raise NotSentError(f"{host} answered {status}; redirects are not followed")
    if not 200 <= status < 300:
        raise NotSentError(f"{host} answered {status}")


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


async def _call(url: str, body: bytes | None, headers: Mapping[str, str], look_up: LookUp) -> int:
    is_plain = urlsplit(url).scheme != "https"
    connector = aiohttp.TCPConnector(
        resolver=_Resolver(look_up), socket_factory=lambda info: _open_socket(info, is_plain=is_plain)
    )
    method = "GET" if body is None else "POST"
    async with asyncio.timeout(TIMEOUT):  # of aiohttp's own time-outs none covers the closing
        async with (
            aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(method, url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            return response.status


def _open_socket(info: Any, *, is_plain: bool) -> socket.socket:
    """A socket for one address of the host. Raises `_RefusedAddressError`, also for an address in the url itself."""
    family, kind, protocol, _, (text, *_) = info
    address = ip_address(text)
    if not is_within(address, settings.CONFIG.webhook_networks):
        if not is_public(address):
            raise _RefusedAddressError(f"{address} is not a public address; WEBHOOK_NETWORKS may allow it")
        if is_plain:
            raise _RefusedAddressError(
                f"{address} is not in WEBHOOK_NETWORKS, so it is only called over https"
            )
    return socket.socket(family, kind, protocol)


class _Resolver(AbstractResolver):
    """Looks names up in a thread that nobody waits for: a slow name server would hold asyncio's own beyond any
    time-out."""

    def __init__(self, look_up: LookUp) -> None:
        self._look_up = look_up

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def settle(result: Any) -> None:
            if not answer.done():
                (answer.set_exception if isinstance(result, Exception) else answer.set_result)(result)

        def work() -> None:
            result: Any
            try:
                result = self._look_up(host, port, family=family, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError) as error:
                result = OSError(str(error))
            with contextlib.suppress(RuntimeError):  # the call has ended, and its loop with it
                loop.call_soon_threadsafe(settle, result)

        threading.Thread(target=work, name="look-up", daemon=True).start()
        return [
            ResolveResult(
                hostname=host,
                host=address[0],
                port=address[1],
                family=each_family,
                proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for each_family, _, protocol, _, address in await answer
        ]

    async def close(self) -> None:
        """There is nothing to close."""
