"""Calls one agent outside of its host: bounded, tried again a few times, so many at once and no more."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar, cast

from orders.engine.contracts import (
    Agent,
    EffectPage,
    Finding,
    InquiringAgent,
    ListingAgent,
    Request,
    Unknown,
)
from orders.engine.errors import Fault, Transient, Unresolved
from orders.engine.runtime.backoff import full_jitter

AT_ONCE = 20
"""Inquiries that are made at once."""
TRIES = 3
FIRST_BACKOFF = 0.2
LONGEST_PAUSE = 5.0
"""Seconds between two tries, at most."""

Answer = TypeVar("Answer")


class Asker:
    """Asks one agent, in the event loop of `runner`. `rate` limits the inquiries to so many a second."""

    def __init__(self, agent: Agent, *, runner: asyncio.Runner, rate: float | None = None) -> None:
        self.can_list = hasattr(agent, "list_effects")
        self.can_ask = hasattr(agent, "inquire")
        self.agent = agent
        self._runner = runner
        self._rate = rate

    def list_effects(self, *, since: datetime, after: str) -> EffectPage:
        """Lists one page of effects. Raises a `Fault` if that fails."""
        agent = cast(ListingAgent, self.agent)
        return self._runner.run(self._try(lambda: agent.list_effects(since=since, after=after)))

    def inquire(self, requests: Sequence[Request]) -> list[Finding]:
        """Asks about at most `AT_ONCE` requests, at once. Raises a `Fault` if that fails for one of them.

        It is unknown what has become of a request about which the agent itself cannot ask.
        """
        return self._runner.run(self._inquire_all(requests))

    def close(self) -> None:
        """Closes the agent's connections."""
        self._runner.run(self.agent.close())

    async def _inquire_all(self, requests: Sequence[Request]) -> list[Finding]:
        began = time.monotonic()
        answers = await asyncio.gather(*map(self._inquire, requests))
        if self._rate:
            await asyncio.sleep(began + len(requests) / self._rate - time.monotonic())
        findings: list[Finding] = []
        for answer in answers:
            if isinstance(answer, Fault):
                raise answer
            findings.append(answer)
        return findings

    async def _inquire(self, request: Request) -> Finding | Fault:
        """The finding, or the fault: the other inquiries are not left alone when one of them fails."""
        agent = cast(InquiringAgent, self.agent)
        try:
            return await self._try(lambda: agent.inquire(request))
        except Fault as fault:
            return Unknown(reason=fault.message) if fault.code == "agent_failed" else fault

    async def _try(self, call: Callable[[], Awaitable[Answer]]) -> Answer:
        """Makes a call, and makes it again if it failed for now. Raises the last `Fault`."""
        for number in range(1, TRIES + 1):
            try:
                async with asyncio.timeout(self.agent.call_timeout):
                    return await call()
            except TimeoutError:
                fault = Transient("no_answer", f"no answer within {self.agent.call_timeout:g} s")
            except Transient as transient:
                fault = transient
            except Fault:
                raise
            except Exception as error:
                raise Unresolved("agent_failed", f"{type(error).__name__}: {error}") from error
            if number < TRIES:
                wait = full_jitter(number, first=FIRST_BACKOFF, cap=LONGEST_PAUSE)
                await asyncio.sleep(min(max(wait, fault.retry_after or 0.0), LONGEST_PAUSE))
        raise fault
