"""The span of each call of an agent, kept in memory by OpenTelemetry's SDK, and the header that the service gets."""

import asyncio
from collections.abc import Iterator
from uuid import UUID

import pytest
from aiohttp import web
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from uuid_utils.compat import uuid7

from orders.agents.transport import Remote
from orders.engine.errors import Fault
from orders.tracing import ids, spans
from orders.tracing.calls import calls_of
from orders.tracing.exporting import SdkRecorder
from tests.support.remote import BOUND, serving

SPAN = 0xB7AD6B7169203331


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    spans.use(SdkRecorder(SimpleSpanProcessor(exporter), role="agents"))
    yield exporter
    spans.use(None)


def call(order_id: UUID | None, status: int = 200) -> str | None:
    """Makes a call for this order, at a service that answers with this status. Returns the `traceparent` it got."""
    headers: list[str | None] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        headers.append(request.headers.get("traceparent"))
        return web.json_response({}, status=status)

    async def run() -> None:
        async with serving(answer) as url:
            remote = Remote(url.replace("http://", "http://shop:secret@"))
            try:
                await remote.post("operation", key="order/step/1", body={})
            except Fault:
                assert status >= 400
            finally:
                await remote.close()

    async def run_for(order: UUID) -> None:
        with calls_of(order, SPAN):
            await run()

    asyncio.run(asyncio.wait_for(run_for(order_id) if order_id else run(), BOUND))
    return headers[0]


@pytest.mark.parametrize(("status", "is_well"), [(200, True), (503, False)])
def test_a_call_has_a_span_below_its_request_and_the_service_is_told_its_id(
    exported: InMemorySpanExporter, status: int, is_well: bool
) -> None:
    order_id = uuid7()
    header = call(order_id, status)
    (span,) = exported.get_finished_spans()
    assert header == f"00-{ids.trace_id(order_id):032x}-{span.context.span_id:016x}-01"
    assert (span.parent.trace_id, span.parent.span_id) == (ids.trace_id(order_id), SPAN)
    facts = dict(span.attributes)
    port = facts.pop("server.port")
    assert facts == {
        "sasweb.order_id": str(order_id),
        "http.request.method": "POST",
        "url.full": f"http://127.0.0.1:{port}/operation",
        "server.address": "127.0.0.1",
        "http.response.status_code": status,
        **({} if is_well else {"error.type": "503"}),
    }
    assert span.kind.name == "CLIENT" and span.status.is_ok == is_well


def test_a_call_outside_of_an_order_tells_the_service_nothing(exported: InMemorySpanExporter) -> None:
    assert call(None) is None
    assert exported.get_finished_spans() == ()


def test_without_an_endpoint_nothing_is_sent_or_recorded() -> None:
    assert not spans.is_on()
    assert call(uuid7()) is None


def test_a_sampler_of_the_environment_keeps_the_same_orders_in_all_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.25")
    orders = [uuid7() for _ in range(1_000)]
    samples = []
    for role in ("scheduler", "agents"):
        exporter = InMemorySpanExporter()
        recorder = SdkRecorder(SimpleSpanProcessor(exporter), role=role)
        for order_id in orders:
            recorder.record(spans.Span(name="mix", order_id=order_id, began=1.0, ended=2.0))
        samples.append({span.attributes["sasweb.order_id"] for span in exporter.get_finished_spans()})
    assert samples[0] == samples[1]
    assert 170 < len(samples[0]) < 330
    other = next(order_id for order_id in orders if str(order_id) not in samples[0])
    spans.use(recorder)
    try:
        assert (call(other) or "").endswith("-00")
    finally:
        spans.use(None)


def test_the_environment_names_what_the_spans_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging,service.namespace=ours"
    )
    exporter = InMemorySpanExporter()
    recorder = SdkRecorder(SimpleSpanProcessor(exporter), role="agents")
    recorder.record(spans.Span(name="mix", order_id=uuid7(), began=1.0, ended=2.0))
    facts = exporter.get_finished_spans()[0].resource.attributes
    assert facts["service.name"] == "sasweb-agents"
    assert facts["service.namespace"] == "ours"
    assert facts["deployment.environment.name"] == "staging"
