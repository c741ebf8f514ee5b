"""Agents whose next calls fail as a test tells them to, before or after their effect."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from orders.engine.contracts import Agent, Json, Pending, Request
from orders.engine.errors import Fault


@dataclass(frozen=True, kw_only=True)
class LostAnswer:
    """The call takes effect, and then `fault` is raised in place of its answer."""

    fault: Fault


CallFate: TypeAlias = Fault | LostAnswer | None
"""What becomes of one call: it is not made and raises a fault, its answer is lost, or it is made as usual (None)."""

Faults: TypeAlias = Mapping[str, Sequence[CallFate]]
"""What becomes of the next calls of agents, by their names. Calls after those are made as usual."""


class FailingAgent:
    """An agent, and what becomes of its next calls. Inquiries do not count as calls."""

    def __init__(self, agent: Agent, fates: Sequence[CallFate]) -> None:
        self._agent = agent
        self._fates = deque(fates)

    async def perform(self, request: Request) -> Json | Pending:
        """Performs the request, or fails."""
        return await self._call(self._agent.perform, request)

    async def compensate(self, request: Request) -> Json | Pending:
        """Compensates the request, or fails."""
        return await self._call(self._agent.compensate, request)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    async def _call(
        self, method: Callable[[Request], Awaitable[Json | Pending]], request: Request
    ) -> Json | Pending:
        fate = self._fates.popleft() if self._fates else None
        if isinstance(fate, Fault):
            raise fate
        result = await method(request)
        if isinstance(fate, LostAnswer):
            raise fate.fault
        return result


def failing(agents: Mapping[str, Agent], faults: Faults) -> list[Agent]:
    """Returns these agents, those with faults as `FailingAgent`. Raises `AssertionError` if no agent has the name."""
    strangers = set(faults) - set(agents)
    assert not strangers, f"faults name {sorted(strangers)}, which are no agents; there are {sorted(agents)}"
    return [
        cast(Agent, FailingAgent(agent, faults[name])) if name in faults else agent
        for name, agent in agents.items()
    ]
