"""One call to a webhook, or to another url that somebody has named, bounded in time and size.

The host's name is looked up once, and every address is checked in the moment in which a connection to it is opened, so
no name server can show one address to the check and another to the call. Addresses that are not public need a setting,
and so does http: `WEBHOOK_NETWORKS` for the urls in the settings, `CLIENT_WEBHOOK_NETWORKS` for clients'. Redirects are
not followed, and no proxy of the environment is used. Of the answer the status counts, and only the beginning of its
body is read.
"""

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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

LONGEST_EXCERPT = 1_000
"""Characters of an answer's body that are read."""
EXCERPT_TIMEOUT = 1.0
"""Seconds for reading them, once the status is there."""

LookUp = Callable[..., Any]
"""A function like `socket.getaddrinfo`."""
SETTING, CLIENTS_SETTING = "WEBHOOK_NETWORKS", "CLIENT_WEBHOOK_NETWORKS"
"""What allows networks that are not public: to the urls in the settings, and to those that clients name."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a host answered: the status, the beginning of the body, and after how many seconds."""

    status: int
    excerpt: str
    seconds: float

    @property
    def is_success(self) -> bool:
        """Whether the host has taken the call. A redirect is not followed, and no success."""
        return 200 <= self.status < 300


class _RefusedAddressError(OSError):
    """Raised when a host leads to an address that may not be called. Its text does not show the address, since whoever
    named the url may not know our network."""


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
    answer = asyncio.run(ask(url, body=body, headers=headers, look_up=look_up))
    if error := refusal_of(answer, url):
        raise NotSentError(error)


def refusal_of(answer: Answer, url: str) -> str:
    """Why an answer is no success; empty if it is one."""
    host = urlsplit(url).hostname or ""
    if 300 <= answer.status < 400:
        return f"{host} answered {answer.status}; redirects are not followed"
    return "" if answer.is_success else f"{host} answered {answer.status}"


async def ask(
    url: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    look_up: LookUp = socket.getaddrinfo,
    seconds: float | None = None,
    setting: str = SETTING,
) -> Answer:
    """Does what `call` does, within so many `seconds` or `TIMEOUT`, and returns any answer. `setting` says which
    networks are allowed.

    Raises `NotSentError` if there is none. In a drill nothing is sent.
    """
    if settings.CONFIG.drill:
        raise NotSentError("this is a drill: nothing is sent")
    host = urlsplit(url).hostname or ""
    seconds = TIMEOUT if seconds is None else seconds
    try:
        return await _ask(url, body, headers or {}, look_up, seconds, setting)
    except TimeoutError as error:
        raise NotSentError(f"no answer from {host} within {seconds:g} seconds") from error
    except aiohttp.ClientConnectorDNSError as error:
        raise NotSentError(f"the host {host} was not found") from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise NotSentError(f"the certificate of {host} is not valid") from error
    except aiohttp.ClientConnectorError as error:
        raise NotSentError(f"no connection to {host}: {_reason(error.os_error)}") from error
    except aiohttp.InvalidURL as error:
        raise NotSentError(f"the url of {host} cannot be called") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise NotSentError(f"no valid answer from {host}: the connection broke, or it is not HTTP") from error


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


async def _ask(
    url: str, body: bytes | None, headers: Mapping[str, str], look_up: LookUp, seconds: float, setting: str
) -> Answer:
    is_plain = urlsplit(url).scheme != "https"
    connector = aiohttp.TCPConnector(
        resolver=_Resolver(look_up),
        socket_factory=lambda info: _open_socket(info, is_plain=is_plain, setting=setting),
    )
    method = "GET" if body is None else "POST"
    began = time.monotonic()
    async with asyncio.timeout(seconds):  # of aiohttp's own time-outs none covers the closing
        async with (
            aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
            ) as session,
            session.request(
                method,
                url,
                data=body,
                headers={"Accept-Encoding": "identity", **headers},
                allow_redirects=False,
            ) as response,
        ):
            excerpt = await _read_excerpt(response.content)
            return Answer(status=response.status, excerpt=excerpt, seconds=round(time.monotonic() - began, 3))


async def _read_excerpt(content: aiohttp.StreamReader) -> str:
    """The beginning of a body. One that is slow or breaks off is as good as it has come."""
    received = bytearray()
    longest = 4 * LONGEST_EXCERPT  # bytes, in UTF-8
    with contextlib.suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(EXCERPT_TIMEOUT):
            while len(received) < longest and (chunk := await content.read(longest - len(received))):
                received += chunk
    return received.decode("utf-8", "replace")[:LONGEST_EXCERPT]


def _open_socket(info: Any, *, is_plain: bool, setting: str) -> socket.socket:
    """A socket for one address of the host. Raises `_RefusedAddressError`, also for an address in the url itself."""
    family, kind, protocol, _, (text, *_) = info
    address = ip_address(text)
    if not is_within(address, getattr(settings.CONFIG, setting.lower())):
        if not is_public(address):
            raise _RefusedAddressError(f"its address is not public; {setting} may allow it")
        if is_plain:
            raise _RefusedAddressError(f"its address is not in {setting}, so it needs https")
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
