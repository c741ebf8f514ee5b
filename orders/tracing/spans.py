"""Records the spans of orders, once they have ended. Without an endpoint it costs a look at a variable."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from typing import Protocol
from uuid import UUID

import structlog

from orders.tracing import ids

log = structlog.get_logger()

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
PROTOCOL = "http/protobuf"


class Kind(StrEnum):
    """OpenTelemetry's kinds of spans."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    CLIENT = "client"
    INTERNAL = "internal"


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A span of an order's trace. `began` and `ended` are in seconds since 1970, by the clock of this machine.

    `parent` is the id of another span of the order, 0 for the order's first span, which is itself without one. `links`
    are ids of spans of the order, and `client` is a span of the client's. `error` says what failed, and is empty if
    nothing did.
    """

    name: str
    order_id: UUID
    began: float
    ended: float
    span_id: int = 0
    parent: int = 0
    kind: Kind = Kind.INTERNAL
    links: Sequence[int] = ()
    client: ids.Context | None = None
    attributes: Mapping[str, str | int] = field(default_factory=dict)
    error: str = ""


class Recorder(Protocol):
    """What keeps spans and exports them."""

    def record(self, span: Span) -> None:
        """Keeps a span, if the order is sampled."""

    def is_sampled(self, order_id: UUID) -> bool:
        """Whether the spans of an order are kept: in all processes, or in none."""

    def flush(self, seconds: float) -> None:
        """Exports what it has kept, for so many seconds at most."""


class _State:
    recorder: Recorder | None = None
    role = ""


def start(role: str) -> None:
    """Has this process, which plays a role, export spans if the environment names an endpoint for them.

    What exports them is made with the first span, because a thread of it would not survive a fork. Logs a line if it
    cannot be done; the product works without.
    """
    if not wants_traces() or _State.role:
        return
    if find_spec("opentelemetry") is None:
        log.warning("no traces", action="trace", why="requirements-tracing.txt is not installed")
        return
    if (protocol := _first(PROTOCOLS)) not in ("", PROTOCOL):
        log.warning(
            "no traces", action="trace", why=f"the protocol is {protocol}, and only {PROTOCOL} is here"
        )
        return
    _State.role = role


def wants_traces() -> bool:
    """Whether the environment names an endpoint, and does not switch traces off."""
    is_off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    is_off |= os.environ.get("OTEL_TRACES_EXPORTER", "otlp") != "otlp"
    return bool(_first(ENDPOINTS)) and not is_off


def use(recorder: Recorder | None) -> None:
    """Has this process record its spans there; None: nowhere."""
    _State.recorder, _State.role = recorder, ""


def is_on() -> bool:
    """Whether spans are recorded."""
    return _State.recorder is not None or _State.role != ""


def record(span: Span) -> None:
    """Records a span that has ended."""
    if is_on():
        _recorder().record(span)


def traceparent(order_id: UUID, span_id: int) -> str:
    """What a call within this span carries as `traceparent`. Call it only if `is_on`."""
    return ids.write_traceparent(ids.trace_id(order_id), span_id, is_sampled=_recorder().is_sampled(order_id))


def flush(seconds: float = 2.0) -> None:
    """Exports the spans that are still here, for so many seconds at most. For a process that is killed soon."""
    if _State.recorder is not None:
        _State.recorder.flush(seconds)


def _recorder() -> Recorder:
    if _State.recorder is None:
        from orders.tracing.exporting import make_recorder  # noqa: PLC0415 - it need not be installed

        _State.recorder = make_recorder(_State.role)
    return _State.recorder


def _first(names: Sequence[str]) -> str:
    return next((value for name in names if (value := os.environ.get(name, "").strip())), "")
