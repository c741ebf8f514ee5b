"""The trace of an order, as a collector gets it from real processes, one of which is killed."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from orders.tracing import ids
from orders.vocabulary import TokenScope
from tests.failures.web_shop import Shop
from tests.support.collector import Collector, Received, collecting
from tests.support.people import token_of
from tests.support.system import System
from tests.support.wait import until

CLIENTS = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture
def system(transactional_db: None, tmp_path: Path, collector: Collector) -> Iterator[System]:
    running = System(tmp_path, **collector.environment)
    yield running
    running.end()


def trace_of(collector: Collector, order_id: str) -> list[Received]:
    return [span for span in collector.spans if span.attributes["sasweb.order_id"] == order_id]


def answers_in(spans: list[Received]) -> list[Received]:
    return [span for span in spans if span.attributes.get("sasweb.agent") and not span.is_error]


def steps_of(spans: list[Received]) -> set[str]:
    return {span.attributes["sasweb.step"] for span in spans}


def test_an_order_whose_agents_are_killed_has_one_trace_that_links_every_hand_over(
    system: System, shop: Shop, collector: Collector
) -> None:
    system.faults("carrier", hang_rate=1.0)
    roles = system.start_all()
    server = shop.serve(**collector.environment)
    order_id: str = shop.post(server, "key-1", traceparent=CLIENTS).json["id"]
    system.acknowledged.append(UUID(order_id))

    def has(name: str) -> bool:
        return any(span.name == name for span in trace_of(collector, order_id))

    until(lambda: len(system.effects(UUID(order_id))) == 2, what="the call that hangs")
    until(lambda: has("payments authorise"), what="the spans before the kill")
    roles["agents"].kill()
    system.start("agents")
    until(lambda: has("supervisor step_timed_out"), what="the sweep that finds the step")
    system.no_faults()
    assert system.wait_until_ended([UUID(order_id)]) == ["processed"]

    def is_whole() -> bool:
        """Whether the last spans have come: the scheduler and the agents export independently of each other."""
        spans = trace_of(collector, order_id)
        decided = steps_of([span for span in spans if span.name == "scheduler step_completed"])
        return has("scheduler processed") and decided == steps_of(answers_in(spans))

    until(is_whole, what="the last spans")

    spans = trace_of(collector, order_id)
    assert {span.trace for span in collector.spans} == {f"{ids.trace_id(UUID(order_id)):032x}"}
    own = {span.id for span in spans}
    assert len(own) == len(spans)
    (first,) = [span for span in spans if not span.parent]
    assert (first.service, first.name) == ("sasweb-web", "place order")
    assert first.links == ((CLIENTS[3:35], CLIENTS[36:52]),)  # linked, and not part of the client's trace
    assert [span for span in spans if span.parent and span.parent not in own] == []
    assert {span.service for span in spans} == {
        f"sasweb-{role}" for role in ("web", "submission", "scheduler", "agents", "supervisor")
    }
    calls = [span for span in spans if span.attributes.get("sasweb.agent")]
    requests = {span.id: span for span in spans if span.name == "scheduler step_started"}
    for call in calls:
        ((_, request),) = call.links
        assert requests[request].attributes["sasweb.step"] == call.attributes["sasweb.step"]
        assert requests[request].attributes["sasweb.attempt"] == call.attributes["sasweb.attempt"]
    answers = {span.attributes["sasweb.step"]: span for span in answers_in(spans)}
    for decision in [span for span in spans if span.name == "scheduler step_completed"]:
        assert [link for _, link in decision.links] == [answers[decision.attributes["sasweb.step"]].id]
    posts = [span for span in spans if span.parent == answers["create-shipment"].id]
    # The new host asks first what has become of the call of the one that was killed.
    assert [(span.name, span.attributes["http.response.status_code"]) for span in posts] == [
        ("GET", 200),
        ("POST", 200),
    ]


def test_an_order_that_is_placed_alone_and_what_an_operator_does_are_in_its_trace(
    system: System, shop: Shop, collector: Collector
) -> None:
    server = shop.serve(**collector.environment)
    order_id: str = shop.post(server, "key-2", is_alone=True, traceparent=CLIENTS).json["id"]
    until(lambda: trace_of(collector, order_id) != [], what="the first span")
    (first,) = trace_of(collector, order_id)
    assert first.links == ((CLIENTS[3:35], CLIENTS[36:52]),)

    system.start_all("submission")
    until(lambda: system.states([UUID(order_id)]) == ["pending"], what="the order")
    token = token_of(User.objects.get(username="operator"), TokenScope.OPERATE)
    headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
    path = f"/api/v1/orders/{order_id}/priority"
    answer = server.request("POST", path, body=b'{"priority": 8, "reason": "a gift"}', headers=headers)
    assert answer.status == 200, answer.body
    until(lambda: len(trace_of(collector, order_id)) == 3, what="the operator's act")
    (act,) = [span for span in trace_of(collector, order_id) if span.name == "operator priority_set"]
    assert act.parent == first.id
    assert act.attributes == {"sasweb.order_id": order_id, "sasweb.actor": "operator"}  # no name
