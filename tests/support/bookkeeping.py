"""An agent whose remote service keeps books, which a test writes: what it lists, and what it says when it is asked."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from orders.engine.contracts import Done, Effect, EffectPage, Finding, NotDone, Request
from tests.support.agents import ScriptedAgent
from tests.support.factories import ago


class BookkeepingAgent(ScriptedAgent):
    """Lists `effects`, two a page. When it is asked, it has done what is in `effects` and in `done`.

    `before_answer` runs in each call, with its number, before what the books say is answered; the call raises what it
    returns, if that is an exception.
    """

    def __init__(self, name: str, *effects: Effect) -> None:
        super().__init__(name)
        self.effects = list(effects)
        self.done: set[str] = set()
        self.listings: list[str] = []
        self.inquiries: list[Request] = []
        self.before_answer: Callable[[int], Exception | None] = lambda number: None
        self.finding: Callable[[Request], Any] | None = None

    async def list_effects(self, *, since: datetime, after: str) -> EffectPage:
        self.listings.append(after)
        effects = [effect for effect in self.effects if effect.at >= since]
        self._interrupt()
        start = int(after or 0)
        following = str(start + 2) if len(effects) > start + 2 else ""
        return EffectPage(effects=effects[start : start + 2], following=following)

    async def inquire(self, request: Request) -> Finding:
        self.inquiries.append(request)
        self._interrupt()
        if self.finding is not None:
            finding: Finding = self.finding(request)
            return finding
        keys = self.done | {effect.key for effect in self.effects}
        return Done(result={}) if request.key in keys else NotDone()

    def _interrupt(self) -> None:
        error = self.before_answer(len(self.listings) + len(self.inquiries))
        if error is not None:
            raise error


def effect_of(
    order_id: UUID,
    step: str,
    generation: int = 1,
    *,
    is_compensation: bool = False,
    is_reversed: bool = False,
    age: float = 60.0,
) -> Effect:
    """An effect of a step, that many seconds old."""
    key = f"{order_id}/{step}/{generation}{'/undo' if is_compensation else ''}"
    return Effect(key=key, operation=f"{step}-it", at=ago(age), is_reversed=is_reversed)
