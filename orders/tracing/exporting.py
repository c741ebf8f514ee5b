"""Exports spans with OpenTelemetry's SDK, as the standard variables of the environment (OTEL_…) say."""

import atexit
import os
import socket
import threading
from uuid import UUID

from django.conf import settings
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from orders.tracing import ids
from orders.tracing.spans import Span

AT_THE_END = 2.0
"""Seconds that a process which stops has to export its last spans. A collector that hangs must not hold it up."""


class ChosenIds(IdGenerator):
    """Gives the next span of a thread the ids that were chosen for it."""

    def __init__(self) -> None:
        self._next = threading.local()

    def choose(self, trace_id: int, span_id: int) -> None:
        """Chooses the ids of the next span that this thread starts."""
        self._next.trace_id, self._next.span_id = trace_id, span_id

    def generate_span_id(self) -> int:
        """The chosen id."""
        return int(self._next.span_id)

    def generate_trace_id(self) -> int:
        """The chosen id."""
        return int(self._next.trace_id)


class SdkRecorder:
    """Records spans with the SDK, which hands them to a processor."""

    def __init__(self, processor: SpanProcessor, *, role: str) -> None:
        self._ids = ChosenIds()
        self._provider = TracerProvider(
            resource=_resource(role), id_generator=self._ids, shutdown_on_exit=False
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("sasweb")
        self._sampler = self._provider.sampler

    def is_sampled(self, order_id: UUID) -> bool:
        """What the sampler says of the order's first span. It goes by the trace's id alone, so all processes agree."""
        result = self._sampler.should_sample(None, ids.trace_id(order_id), "order")
        return result.decision is not Decision.DROP

    def record(self, span: Span) -> None:
        """Keeps a span, if the order is sampled."""
        if not self.is_sampled(span.order_id):
            return
        trace_id, first = ids.trace_id(span.order_id), ids.first_span_id(span.order_id)
        self._ids.choose(trace_id, span.span_id or ids.new_span_id())
        context = Context() if span.span_id == first else _below(trace_id, span.parent or first)
        links = [Link(_context(trace_id, link)) for link in span.links]
        if span.client:
            links.append(Link(_context(*span.client[:2], is_sampled=span.client.is_sampled)))
        recorded = self._tracer.start_span(
            span.name,
            context=context,
            kind=SpanKind[span.kind.name],
            attributes={"sasweb.order_id": str(span.order_id), **span.attributes},
            links=links,
            start_time=round(span.began * 1e9),
        )
        if span.error:
            recorded.set_status(Status(StatusCode.ERROR, span.error))
        recorded.end(end_time=round(max(span.began, span.ended) * 1e9))

    def flush(self, seconds: float) -> None:
        """Exports what it has kept. The thread is abandoned if it takes longer."""
        thread = threading.Thread(target=self._provider.force_flush, daemon=True, name="last spans")
        thread.start()
        thread.join(seconds)


def make_recorder(role: str) -> SdkRecorder:
    """Makes what exports the spans of a process to the endpoint of the environment."""
    recorder = SdkRecorder(BatchSpanProcessor(OTLPSpanExporter()), role=role)
    atexit.register(recorder.flush, AT_THE_END)
    return recorder


def _resource(role: str) -> Resource:
    """What the spans come from. The environment has the last word."""
    own = {
        "service.namespace": "sasweb",
        "service.name": f"sasweb-{role}",
        "service.version": settings.CONFIG.release,
        "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
    }
    environment = OTELResourceDetector().detect().attributes
    return Resource.create({name: value for name, value in own.items() if name not in environment})


def _context(trace_id: int, span_id: int, *, is_sampled: bool = True) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if is_sampled else TraceFlags.DEFAULT)
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)


def _below(trace_id: int, parent: int) -> Context:
    return set_span_in_context(NonRecordingSpan(_context(trace_id, parent)), Context())
