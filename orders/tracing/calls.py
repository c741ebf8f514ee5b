"""The spans of the HTTP calls that an agent makes for a request, and the header that names them to the service."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import urlsplit
from uuid import UUID

from orders.tracing import ids, spans

_request: ContextVar[tuple[UUID, int] | None] = ContextVar("request", default=None)


@contextmanager
def calls_of(order_id: UUID, span_id: int) -> Iterator[None]:
    """Makes the calls of this task, until the block ends, part of this span of the order."""
    token = _request.set((order_id, span_id))
    try:
        yield
    finally:
        _request.reset(token)


class HttpCall:
    """One HTTP call: its span, if it is for an order whose trace is recorded, and the `headers` that it sends."""

    def __init__(self, method: str, url: str) -> None:
        self._method, self._url = method, url
        self._request = _request.get() if spans.is_on() else None
        self._span_id, self._began = ids.new_span_id() if self._request else 0, time.time()

    @property
    def headers(self) -> Mapping[str, str]:
        """The `traceparent` of the call; nothing if there is no trace."""
        if self._request is None:
            return {}
        return {"traceparent": spans.traceparent(self._request[0], self._span_id)}

    def end(self, *, status: int = 0, error: str = "") -> None:
        """Records the span, with the status of the answer, or with why there is none."""
        if self._request is None:
            return
        if status >= 400:
            error = str(status)
        order_id, parent = self._request
        spans.record(
            spans.Span(
                name=self._method,
                order_id=order_id,
                began=self._began,
                ended=time.time(),
                span_id=self._span_id,
                parent=parent,
                kind=spans.Kind.CLIENT,
                attributes=_attributes(self._method, self._url, status, error),
                error=error,
            )
        )


def _attributes(method: str, url: str, status: int, error: str) -> Mapping[str, str | int]:
    """OpenTelemetry's names for HTTP clients. Neither the url's credentials nor its query are in them."""
    parts = urlsplit(url)
    host, scheme = parts.hostname or "", parts.scheme.lower()
    port = parts.port or (443 if scheme == "https" else 80)
    netloc = parts.netloc.rpartition("@")[2]
    facts: dict[str, str | int] = {
        "http.request.method": method,
        "url.full": f"{scheme}://{netloc}{parts.path}",
        "server.address": host,
        "server.port": port,
    }
    if status:
        facts["http.response.status_code"] = status
    if error:
        facts["error.type"] = error
    return facts
