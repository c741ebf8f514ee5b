"""Answers that are held until something happens (`Prefer: wait=N`, streams). The event loop holds them
(`sasweb.holding`); under a server without one, nobody waits.
"""

import random
from collections.abc import Callable, Hashable, Sequence
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.views import APIView

from orders.access.addresses import read_ip_address
from orders.access.limited_requests import note_counts, noted_counts
from orders.api import requests
from orders.api.fields import Strict
from orders.api.problems import ProblemError
from sasweb.holding import HOLD, RESUMED, Outcome, Part, Stream, Wait

MOST_HEADERS = 16_384
"""Bytes that the headers of a request may have which is held: they are kept with it."""
SHORTEST_PAUSE, LONGEST_PAUSE = 5, 15
"""Seconds after which a client that found no room may try again, at random, so that not all of them come at once."""

COUNTED = "orders.counted"
"""What was left of the limits when a request that is held was counted, in its scope."""
READ_BODY = "orders.read_body"
"""What the body of a request that may be held says, in its scope: the request is passed on without its body later."""


class CrowdedError(ProblemError):
    """Raised when as many requests are held as may be; `wait` is when to try again, in seconds."""

    def __init__(self) -> None:
        super().__init__("too_many_waiting")
        self.wait = random.randint(SHORTEST_PAUSE, LONGEST_PAUSE)


class WaitingView(APIView):
    """A view whose answers may be held. A request that is passed to it once more is not counted again: the answer says
    what was left when it was."""

    def check_throttles(self, request: Request) -> None:
        """Counts the request. Raises `Throttled`."""
        if is_resumed(request):
            note_counts(request._request, _scope(request).get(COUNTED, ()))
        else:
            super().check_throttles(request)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Checks who asks for what. Raises `CrowdedError` if there was no room to hold the request."""
        super().initial(request, *args, **kwargs)
        if _scope(request).get(RESUMED) == Outcome.CROWDED:
            raise CrowdedError


def read_body(request: Request, kind: type[Strict]) -> Any:
    """What the body of a request says, also if the request has been held. Raises `ValidationError`."""
    scope = _scope(request)
    if READ_BODY not in scope:
        scope[READ_BODY] = kind.read(request.data)
    return scope[READ_BODY]


def is_resumed(request: Request) -> bool:
    """Whether the request has been held already."""
    return RESUMED in _scope(request)


def hold(request: Request, subject: Hashable, *, version: str, seconds: int) -> bool:
    """Has the answer held until the subject has another version than this one. Returns whether it was or will be.

    Raises `ProblemError` if the request is too large to be held.
    """
    if is_resumed(request):
        return True
    return _mark(request, Wait(subject=subject, version=version, clients=_clients(request), seconds=seconds))


def hold_open(request: Request, order_id: UUID, *, version: str, read: Callable[[], Part]) -> None:
    """Has the answer go on with what `read` returns after each change of an order that has this version.

    Raises `ProblemError` if the request is too large to be held.
    """
    _mark(request, Stream(subject=order_id, version=version, clients=_clients(request), read=read))


def _mark(request: Request, hold: Wait | Stream) -> bool:
    scope = request.META.get("asgi.scope")
    if scope is None:
        return False
    if sum(len(name) + len(value) for name, value in scope.get("headers", ())) > MOST_HEADERS:
        detail = f"The headers of a request that is to wait may have {MOST_HEADERS:,} bytes together."
        raise ProblemError("headers_too_large", detail)
    scope[HOLD] = hold
    scope[COUNTED] = noted_counts(request._request)
    return True


def _clients(request: Request) -> Sequence[str]:
    """Whose places a request takes: its account's, and its IP address's if it has one."""
    account, address = f"account:{requests.client_id(request)}", read_ip_address(request)
    return (account, f"address:{address}") if address else (account,)


def _scope(request: Request) -> dict[str, Any]:
    scope: dict[str, Any] = request.META.get("asgi.scope", {})
    return scope
