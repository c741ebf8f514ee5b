"""The agent host tries a call again until it succeeds or its complete-by has passed (A2, A5)."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from orders.engine.contracts import Json, Request
from orders.engine.errors import Refused, Transient
from orders.models import AgentRequest, Event, OrderProcess
from tests.support.agents import ScriptedAgent
from tests.support.factories import ago, step_of
from tests.support.hosts import BUSY, a_reply, a_request, hang, keys
from tests.support.roles import a_host, in_thread, no_replies

pytestmark = pytest.mark.django_db(transaction=True)


# --- retries


@pytest.mark.pattern("A2", "A3")
def test_a_transient_fault_is_tried_again_with_the_same_key_until_it_succeeds() -> None:
    request = a_request()
    kitchen = ScriptedAgent("kitchen", BUSY, BUSY, {"dough": 1})
    a_host(kitchen).run_once()
    assert keys(kitchen) == [request.key] * 3
    assert (a_reply().outcome, a_reply().body, a_reply().calls) == ("done", {"dough": 1}, 3)
    failures = Event.objects.filter(kind="call_failed").order_by("id")
    assert [(event.detail["try"], event.detail["code"], event.attempt) for event in failures] == [
        (1, "busy", 1),
        (2, "busy", 1),
    ]
    assert {(event.order_id, event.step, event.actor_name) for event in failures} == {
        (request.order_id, "mix", "agents:a")
    }


@pytest.mark.pattern("A2")
def test_a_call_without_an_answer_is_cut_off_and_tried_again() -> None:
    a_request()
    kitchen = ScriptedAgent("kitchen", hang, {"dough": 1}, call_timeout=0.1)
    a_host(kitchen).run_once()
    assert (a_reply().outcome, a_reply().calls) == ("done", 2)
    assert Event.objects.get().detail["code"] == "no_answer"


@pytest.mark.pattern("A2")
def test_a_wait_that_the_remote_asks_for_is_honoured_before_the_next_try() -> None:
    at: list[float] = []

    def noting(answer: Any) -> Callable[[Request], Awaitable[Json]]:
        async def script(request: Request) -> Json:
            at.append(time.monotonic())
            if isinstance(answer, Exception):
                raise answer
            return answer

        return script

    a_request()
    soon = Transient("busy", "in a moment", retry_after=0.6)
    kitchen = ScriptedAgent("kitchen", noting(soon), noting({"ok": True}))
    a_host(kitchen).run_once()
    assert at[1] - at[0] >= 0.6
    assert (a_reply().outcome, a_reply().calls) == ("done", 2)


@pytest.mark.pattern("A2")
@pytest.mark.parametrize(("seconds_left", "wait"), [(20, 3_600), (60, 6), (3, 4)])
def test_a_long_wait_is_the_steps_and_not_the_calls(seconds_left: float, wait: float) -> None:
    a_request(left=seconds_left)
    kitchen = ScriptedAgent("kitchen", Transient("busy", "later", retry_after=wait))
    a_host(kitchen).run_once()
    assert len(kitchen.requests) == 1
    assert (a_reply().outcome, a_reply().calls) == ("deferred", 1)
    assert a_reply().body == {"code": "busy", "message": "later", "retry_after": wait}
    assert Event.objects.get().detail["code"] == "busy"


# --- complete-by


@pytest.mark.pattern("A5")
@pytest.mark.parametrize("script", [hang, BUSY], ids=["no answer", "one fault after the other"])
def test_past_its_complete_by_a_call_is_stopped_and_posts_nothing(script: Any) -> None:
    request = a_request(left=1.2)
    kitchen = ScriptedAgent("kitchen", script)
    assert a_host(kitchen).run_once().done == {"claimed": 1, "ended": 1}
    assert no_replies()
    assert not AgentRequest.objects.exists()
    assert len(kitchen.requests) >= 1
    failures = Event.objects.filter(order_id=request.order_id, kind="call_failed")
    assert {event.detail["code"] for event in failures} == {"no_answer" if script is hang else "busy"}
    # The order itself is for the supervisor to find.
    assert step_of(request.order_id, "mix").state == "running"
    assert OrderProcess.objects.get().process_state == "processing"


@pytest.mark.pattern("A5")
@pytest.mark.parametrize("answer", [{"dough": 1}, Refused("no", "no")], ids=["success", "refusal"])
def test_an_answer_that_comes_after_complete_by_is_not_posted_whatever_the_hosts_clock_says(
    answer: Any,
) -> None:
    request = a_request()

    async def slow(_: Request) -> Json:
        def pass_the_complete_by() -> None:
            AgentRequest.objects.filter(pk=request.pk).update(complete_by=ago(0.1))

        moved = in_thread(pass_the_complete_by)
        await asyncio.to_thread(moved.result)
        if isinstance(answer, Exception):
            raise answer
        return answer

    a_host(ScriptedAgent("kitchen", slow)).run_once()
    assert (no_replies(), AgentRequest.objects.exists()) == (True, False)
