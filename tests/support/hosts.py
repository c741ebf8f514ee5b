"""Requests for an agent host, and agents that keep it waiting."""

import asyncio
import threading
from typing import Any

from orders.engine.contracts import Json, Request
from orders.engine.errors import Transient
from orders.models import AgentReply, AgentRequest
from tests.support.agents import ScriptedAgent
from tests.support.factories import ahead, make_order, make_request, step_of

BUSY = Transient("busy", "come back later")
QUICK = {"poll": 0.02, "heartbeat": 0.2, "grace": 0.1}
"""A host that polls often. Each test chooses the lease; the host renews it four times before it would lapse."""


def a_request(step: str = "mix", **fields: Any) -> AgentRequest:
    """A request for an order of its own; `left` is the number of seconds to its complete-by."""
    seconds = fields.pop("left", 30)
    order = make_order(
        {step: {"state": "running", "complete_by": ahead(seconds)}}, process_state="processing"
    )
    return make_request(step_of(order, step), **fields)


def a_reply() -> AgentReply:
    return AgentReply.objects.get()


def keys(agent: ScriptedAgent) -> list[str]:
    return [request.key for request in agent.requests]


class Gate:
    """A script entry that waits until the test opens it or the call is cancelled."""

    def __init__(self, result: Json | None = None) -> None:
        self.began = 0
        self.cancelled = 0
        self._result = result or {"ok": True}
        self._open = threading.Event()

    def open(self) -> None:
        self._open.set()

    async def __call__(self, request: Request) -> Json:
        self.began += 1
        try:
            while not self._open.is_set():  # noqa: ASYNC110 - opened from another thread
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self._result


async def hang(request: Request) -> Json:
    await asyncio.sleep(60)
    raise AssertionError("nobody stopped this call")
