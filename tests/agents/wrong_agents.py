"""Agents that each break the contract in one way, under the contract's tests.

They are not collected with the other tests: `test_contract_notices.py` runs them, and says which tests must fail.
"""

import asyncio
import uuid
from dataclasses import replace
from typing import Any

from orders.agents import Finding, Json, NotDone, Refused, Rehearsal, Request, Transient
from orders.business import ResultField
from orders.engine.errors import Fault
from orders.shop.agents.warehouse import Warehouse
from tests.agents.test_contract_against_sandbox import SandboxContract


class Reserving(SandboxContract):
    """The operation that all of them offer."""

    step, operation, service_name = "reserve-stock", "reserve", "warehouse"
    result_fields = (ResultField(name="reservation", label="Reservation"),)


class TestRight(Reserving):
    agent = Warehouse


class IgnoresTheKey(Warehouse):
    async def perform(self, request: Request) -> Json:
        return await super().perform(replace(request, key=str(uuid.uuid4())))


class TestIgnoresTheKey(Reserving):
    agent = IgnoresTheKey


class SwallowsCancellation(Warehouse):
    async def perform(self, request: Request) -> Json:
        try:
            return await super().perform(request)
        except asyncio.CancelledError:
            raise Transient("cancelled", "it was cancelled") from None


class TestSwallowsCancellation(Reserving):
    agent = SwallowsCancellation


class RaisesValueError(Warehouse):
    async def perform(self, request: Request) -> Json:
        try:
            return await super().perform(request)
        except Transient as fault:
            if fault.code == "http_500":
                raise ValueError("500") from fault
            raise


class TestRaisesValueError(Reserving):
    agent = RaisesValueError


class ReversesItself(Warehouse):
    async def compensate(self, request: Request) -> Json:
        return await super().compensate(replace(request, reverses=request.key))


class TestReversesItself(Reserving):
    agent = ReversesItself


class AnswersOtherwise(Warehouse):
    async def compensate(self, request: Request) -> Json:
        answer = await super().compensate(request)
        return {**answer, "by": str(uuid.uuid4())}


class TestAnswersOtherwise(Reserving):
    agent = AnswersOtherwise


class CallsAgainWhenCancelled(Warehouse):
    tasks: set[Any] = set()

    async def perform(self, request: Request) -> Json:
        try:
            return await super().perform(request)
        except asyncio.CancelledError:
            self.tasks.add(asyncio.create_task(self._remote.post("reserve", key=request.key, body={})))
            raise


class TestCallsAgainWhenCancelled(Reserving):
    agent = CallsAgainWhenCancelled


class TakesACutForARefusal(Warehouse):
    async def compensate(self, request: Request) -> Json:
        try:
            return await super().compensate(request)
        except Transient as fault:
            if fault.code == "connection_lost":
                raise Refused(fault.code, fault.message) from fault
            raise


class TestTakesACutForARefusal(Reserving):
    agent = TakesACutForARefusal


class TakesAnOutageForARefusal(Warehouse):
    async def perform(self, request: Request) -> Json:
        try:
            return await super().perform(request)
        except Transient as fault:
            if fault.code == "unreachable":
                raise Refused(fault.code, fault.message) from fault
            raise


class TestTakesAnOutageForARefusal(Reserving):
    agent = TakesAnOutageForARefusal


class ForgetsTheWait(Warehouse):
    async def perform(self, request: Request) -> Json:
        try:
            return await super().perform(request)
        except Transient as fault:
            raise Transient(fault.code, fault.message) from fault


class TestForgetsTheWait(Reserving):
    agent = ForgetsTheWait


class RepeatsWhatItReads(Warehouse):
    async def perform(self, request: Request) -> Json:
        try:
            return await super().perform(request)
        except Fault as fault:
            fault.message += "\n" + "x" * 1_000
            raise


class TestRepeatsWhatItReads(Reserving):
    agent = RepeatsWhatItReads


class ReturnsWhatItReads(Warehouse):
    async def perform(self, request: Request) -> Json:
        try:
            return await super().perform(request)
        except Transient as fault:
            if fault.code == "bad_answer":
                return {"text": "\x00"}
            raise


class TestReturnsWhatItReads(Reserving):
    agent = ReturnsWhatItReads


class ForgetsAField(Warehouse):
    async def perform(self, request: Request) -> Json:
        await super().perform(request)
        return {"ok": True}


class TestForgetsAField(Reserving):
    agent = ForgetsAField


class ReturnsNaN(Warehouse):
    async def compensate(self, request: Request) -> Json:
        return {**await super().compensate(request), "weight": float("nan")}


class TestReturnsNaN(Reserving):
    agent = ReturnsNaN


class DoesAnyOperation(Warehouse):
    async def perform(self, request: Request) -> Json:
        return await super().perform(replace(request, operation="reserve"))


class TestDoesAnyOperation(Reserving):
    agent = DoesAnyOperation


class NeverKnows(Warehouse):
    async def inquire(self, request: Request) -> Finding:
        return NotDone()


class TestNeverKnows(Reserving):
    agent = NeverKnows


class ClosesOnce(Warehouse):
    is_closed = False

    async def close(self) -> None:
        await super().close()
        if self.is_closed:
            raise RuntimeError("closed twice")
        self.is_closed = True


class TestClosesOnce(Reserving):
    agent = ClosesOnce


class LeavesATask(Warehouse):
    async def perform(self, request: Request) -> Json:
        self.task = asyncio.create_task(asyncio.Event().wait())
        return await super().perform(request)


class TestLeavesATask(Reserving):
    agent = LeavesATask


class HasNoCapacity(Warehouse):
    def __init__(self, url: str) -> None:
        super().__init__(url, capacity=0)


class TestHasNoCapacity(Reserving):
    agent = HasNoCapacity


class SendsInARehearsal(Warehouse):
    async def rehearse(self, request: Request) -> Rehearsal:
        await self.perform(request)
        return await super().rehearse(request)


class TestSendsInARehearsal(Reserving):
    agent = SendsInARehearsal
