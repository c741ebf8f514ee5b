"""A host without network beside a healthy one: it hands its requests over and costs no step a failure (A8, A9)."""

import asyncio

import pytest

from orders.engine.contracts import Json, Request
from orders.engine.errors import Transient
from orders.models import AgentInstance, AgentReply, AgentRequest, Alert, Circuit
from tests.support.agents import ScriptedAgent
from tests.support.hosts import QUICK, a_request
from tests.support.roles import a_host, running
from tests.support.wait import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("A8", "A9", "O1")]


class Network:
    """A host's network, which a test can take away."""

    def __init__(self, *, is_down: bool) -> None:
        self.is_down = is_down
        self.seconds = 0.0
        self.calls = 0

    async def __call__(self, request: Request) -> Json:
        self.calls += 1
        await asyncio.sleep(self.seconds)
        if self.is_down:
            raise Transient("no_answer", "no route to host")
        return {"mixed": True}


def kitchen(network: Network) -> ScriptedAgent:
    return ScriptedAgent("kitchen", network, capacity=10)


def in_quarantine() -> list[str]:
    rows = AgentInstance.objects.filter(quarantined_at__isnull=False)
    return list(rows.values_list("instance", flat=True))


def open_alerts() -> list[str]:
    return list(Alert.objects.filter(closed_at__isnull=True).values_list("code", flat=True))


def answered() -> int:
    return AgentReply.objects.count()


def test_a_host_without_network_hands_its_requests_over_until_a_call_succeeds() -> None:
    broken, sound = Network(is_down=False), Network(is_down=False)
    with (
        running(a_host(kitchen(broken), instance="agents:broken", **QUICK)),
        running(a_host(kitchen(sound), instance="agents:sound", **QUICK)),
    ):
        until(lambda: AgentInstance.objects.count() == 2, what="both hosts")
        total = 0

        def place(number: int) -> None:
            nonlocal total
            total += number
            for _ in range(number):
                a_request()

        until(
            lambda: (place(2), sound.calls >= 3)[1],
            what="a call of the sound host",
            seconds=30,
        )
        reported = AgentInstance.objects.filter(instance="agents:sound", window_calls__gt=0)
        until(reported.exists, what="a report of the sound host", seconds=30)
        broken.is_down = True
        until(lambda: (place(2), in_quarantine() == ["agents:broken"])[1], what="the quarantine", seconds=30)
        calls_before = broken.calls
        place(30)
        until(lambda: answered() == total, what="all answers", seconds=60)
        assert not AgentRequest.objects.exists()
        assert set(AgentReply.objects.values_list("outcome", flat=True)) == {"done"}
        assert broken.calls - calls_before < 20
        assert Circuit.objects.get(agent="kitchen").state == "closed"
        until(
            lambda: Alert.objects.filter(code="quarantined", closed_at__isnull=True).count() == 1,
            what="an alert",
        )
        broken.is_down = False
        sound.seconds = 0.5  # it is busy, so some requests are left for the other one to try itself with

        def keep_busy() -> None:
            if AgentRequest.objects.count() < 50:  # a slow machine would never get through a crowd
                place(2)

        until(lambda: (keep_busy(), in_quarantine() == [])[1], what="the end of the quarantine", seconds=60)
        until(lambda: (keep_busy(), open_alerts() == [])[1], what="no alert", seconds=60)
