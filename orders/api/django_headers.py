"""What an answer that Django does not give has of it: the headers that its middleware adds."""

from collections.abc import Mapping, MutableMapping, Sequence
from functools import cache, lru_cache
from io import BytesIO
from typing import Any, NamedTuple, TypeAlias

from django.core.exceptions import DisallowedHost
from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse

from orders.access.api_tokens import digest_of
from orders.access.api_versions import HEADER, find_version

Scope: TypeAlias = MutableMapping[str, Any]
Headers: TypeAlias = Sequence[tuple[bytes, bytes]]

DECISIVE = frozenset(
    {b"cookie", b"prefer", b"transfer-encoding", b"content-encoding", b"expect", HEADER.lower().encode()}
)
"""Headers that may lead to another answer."""
ACCEPTED = frozenset({"*/*", "application/*", "application/json"})


class Shortcut(NamedTuple):
    """An answer that is given without Django, as its view would give it. Without a `content_type` it has no content."""

    method: str
    path: str
    status: int
    content_type: str
    headers: tuple[tuple[str, str], ...]
    """Those of the view that are the same each time."""


class OneAnswer(BaseHandler):
    """Django with its middleware, and with a view that knows nothing but one answer."""

    def __init__(self, shortcut: Shortcut) -> None:
        super().__init__()
        self._shortcut = shortcut
        self.load_middleware()

    def _get_response(self, request: HttpRequest) -> HttpResponse:
        _, _, status, content_type, headers = self._shortcut
        response = HttpResponse(status=status, headers=dict(headers), content_type=content_type or None)
        if not content_type:
            del response["Content-Type"]
        return response


@cache
def django_of(shortcut: Shortcut) -> OneAnswer:
    """Loads the middleware, once."""
    return OneAnswer(shortcut)


@lru_cache(maxsize=100)
def headers_from_django(shortcut: Shortcut, scheme: str, host: bytes, api_version: str) -> Headers | None:
    """What every such answer of this version of the API has, apart from the request's id and its own length; None if
    Django answers otherwise, as it does if it does not know the host."""
    environ = {
        "REQUEST_METHOD": shortcut.method,
        "PATH_INFO": shortcut.path,
        "SERVER_NAME": "localhost",
    }
    environ |= {"SERVER_PORT": "443" if scheme == "https" else "80", "HTTP_HOST": host.decode("latin-1")}
    request = WSGIRequest({**environ, "wsgi.url_scheme": scheme, "wsgi.input": BytesIO()})
    request.api_version = find_version(api_version)  # type: ignore[attr-defined]
    try:
        request.get_host()
    except DisallowedHost:
        return None
    response = django_of(shortcut).get_response(request)
    if response.status_code != shortcut.status:
        return None
    for name in ("X-Request-ID", "Content-Length"):
        del response[name]
    return encoded(dict(response.items()))


def encoded(headers: Mapping[str, str]) -> Headers:
    """Headers as the server sends them."""
    return tuple((name.lower().encode(), value.encode()) for name, value in headers.items())


def plain_headers(scope: Scope) -> Mapping[bytes, bytes] | None:
    """The headers of a request; None if there are any that may make a difference to Django."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if len(headers) < len(scope["headers"]) or not DECISIVE.isdisjoint(headers):
        return None
    if any(b"_" in name for name in headers):  # WSGI takes an underscore for a hyphen
        return None
    return headers if takes_json(headers.get(b"accept", b"*/*")) else None


@lru_cache(maxsize=100)
def takes_json(accept: bytes) -> bool:
    """Whether a client certainly accepts JSON."""
    return not ACCEPTED.isdisjoint(part.strip() for part in accept.decode("latin-1").split(","))


def digest_of_header(authorization: bytes) -> str | None:
    """The hash of the token in `Authorization: Token <token>`; None if there is none."""
    scheme, _, secret = authorization.partition(b" ")
    return digest_of(secret.decode("latin-1")) if scheme.lower() == b"token" else None
