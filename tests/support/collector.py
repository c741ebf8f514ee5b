"""A receiver of traces: OTLP over HTTP, in a thread of the test."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue


class Received(NamedTuple):
    """A span as it came, its ids in hexadecimal. `links` are pairs of trace and span."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    links: tuple[tuple[str, str], ...]
    attributes: dict[str, Any]
    is_error: bool


class Collector:
    """The spans that have been exported to `url`."""

    def __init__(self) -> None:
        self._spans: list[Received] = []
        self._lock = threading.Lock()
        self.url = ""

    @property
    def spans(self) -> list[Received]:
        """Every span so far."""
        with self._lock:
            return list(self._spans)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that exports here, ten times a second."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}

    def take(self, body: bytes) -> None:
        """Takes a request of an exporter."""
        message = ExportTraceServiceRequest.FromString(body)
        with self._lock:
            for resource in message.resource_spans:
                service = _facts(resource.resource.attributes)["service.name"]
                for scope in resource.scope_spans:
                    self._spans += [_received(service, span) for span in scope.spans]


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on loopback, until the block ends."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == "/v1/traces"
            collector.take(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield collector
        server.shutdown()


def _received(service: str, span: Any) -> Received:
    links = tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links)
    is_error = span.status.code == 2
    own, parent = span.span_id.hex(), span.parent_span_id.hex()
    return Received(
        service, span.name, span.trace_id.hex(), own, parent, links, _facts(span.attributes), is_error
    )


def _facts(attributes: list[KeyValue]) -> dict[str, Any]:
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value") or "string_value") for each in attributes
    }
