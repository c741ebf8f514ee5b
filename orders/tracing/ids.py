"""The ids of an order's trace and of its spans, which follow from the order and its steps. Pure."""

import re
import secrets
from hashlib import blake2b
from typing import NamedTuple
from uuid import UUID

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
_SAMPLED = 1


class Context(NamedTuple):
    """A span of another system: the client's, which placed the order."""

    trace_id: int
    span_id: int
    is_sampled: bool


def trace_id(order_id: UUID) -> int:
    """The id of an order's trace. A hash, because samplers go by its last digits, and those of our order ids are not
    evenly spread."""
    return _hash(order_id, "trace", size=16)


def first_span_id(order_id: UUID) -> int:
    """The id of the span of placing an order, the parent of all others."""
    return _hash(order_id, "placed", size=8)


def request_span_id(order_id: UUID, step: str, attempt: int) -> int:
    """The id of the span of the scheduler that has sent the request of a step's attempt."""
    return _hash(order_id, f"request\0{step}\0{attempt}", size=8)


def call_span_id(order_id: UUID, step: str, attempt: int, instance: str) -> int:
    """The id of the span of the agent host that has answered, or had, the request of a step's attempt."""
    return _hash(order_id, f"call\0{step}\0{attempt}\0{instance}", size=8)


def new_span_id() -> int:
    """The id of a span to which no other process links."""
    return secrets.randbits(64) or 1


def write_traceparent(trace: int, span: int, *, is_sampled: bool) -> str:
    """What a call carries as `traceparent`."""
    return f"00-{trace:032x}-{span:016x}-{int(is_sampled):02x}"


def read_traceparent(header: str) -> Context | None:
    """Reads a client's `traceparent`; None if it is not one."""
    match = _TRACEPARENT.fullmatch(header.strip())
    if match is None or (header.startswith("00") and match[4]):
        return None
    context = Context(int(match[1], 16), int(match[2], 16), bool(int(match[3], 16) & _SAMPLED))
    return context if context.trace_id and context.span_id else None


def _hash(order_id: UUID, what: str, *, size: int) -> int:
    number = int.from_bytes(blake2b(order_id.bytes + what.encode(), digest_size=size).digest())
    return number or 1  # 0 is no id
