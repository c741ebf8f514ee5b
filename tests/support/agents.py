"""Agents whose behaviour a test scripts."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from orders.engine.contracts import Json, Request

Behaviour = Callable[[Request], Awaitable[Json]]


class ScriptedAgent:
    """Answers from its script, one entry per call, then repeats the last entry; keeps the requests it gets.

    An entry is a result to return, an exception to raise, or an async function that takes the request.
    """

    def __init__(self, name: str, *script: Any, capacity: int = 10, call_timeout: float = 5.0) -> None:
        self.name = name
        self.capacity = capacity
        self.call_timeout = call_timeout
        self.requests: list[Request] = []
        self.closed = False
        self._script = list(script) or [{"ok": True}]

    async def perform(self, request: Request) -> Json:
        return await self._answer(request)

    async def compensate(self, request: Request) -> Json:
        return await self._answer(request)

    async def close(self) -> None:
        self.closed = True

    async def _answer(self, request: Request) -> Json:
        self.requests.append(request)
        entry = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(entry, Exception):
            raise entry
        if callable(entry):
            return await entry(request)
        return entry


class AskableAgent(ScriptedAgent):
    """A scripted agent that can be asked what has become of a call; its findings are a script of their own."""

    def __init__(self, name: str, *script: Any, findings: Sequence[Any], call_timeout: float = 5.0) -> None:
        super().__init__(name, *script, call_timeout=call_timeout)
        self.inquiries: list[Request] = []
        self._findings = list(findings)

    async def inquire(self, request: Request) -> Any:
        self.inquiries.append(request)
        entry = self._findings.pop(0) if len(self._findings) > 1 else self._findings[0]
        if isinstance(entry, Exception):
            raise entry
        return await entry(request) if callable(entry) else entry
