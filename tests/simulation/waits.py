"""Steps that wait, in the lives that have them: a decision, an outside event, a delay, and answers that come later.

The shop's own workflow waits for nothing, so these lives add steps to it, and a carrier that answers some calls later:
by callback, which may be late, lost or doubled, or when it is asked again.
"""

import heapq
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from django.db import connection

from orders import wiring
from orders.engine.contracts import (
    Compensation,
    Decision,
    Delay,
    Json,
    OutsideEvent,
    Pending,
    Remedy,
    Request,
    Step,
    Workflow,
    Workflows,
)
from orders.engine.runtime.sql import DATABASE_TROUBLE, fetch
from orders.services.answers import AnswerError, answer_callback, answer_event, decide
from orders.services.order_lock import NoSuchOrderError
from tests.simulation.kernel import Kernel, Process

REVIEW, CUSTOMS, REST = "review", "customs", "rest"
WAITS = (
    (REVIEW, Decision(within=6.0, default="accept"), ("reserve-stock",)),
    (CUSTOMS, OutsideEvent(within=20.0), ("authorise-payment",)),
    (REST, Delay(seconds=1.5), ("reserve-stock", "authorise-payment")),
)
AWAITED = """
    SELECT order_id, name FROM orders_stepstate
     WHERE state = 'awaiting' AND name = ANY(%s) ORDER BY complete_by, order_id LIMIT 40
"""


def waiting(workflow: Workflow) -> Workflow:
    """The shop's workflow with steps that wait before the shipment."""
    added = tuple(
        Step(
            name=name,
            waits_for=wait,
            after=after,
            compensation=Compensation.NONE,
            remedy=Remedy(then="compensate"),
        )
        for name, wait, after in WAITS
    )
    steps: list[Step] = []
    for step in workflow.steps:
        if step.name == "create-shipment":
            steps += added
            step = replace(step, after=(*step.after, *(each.name for each in added)))
        steps.append(step)
    return replace(workflow, steps=tuple(steps))


class Answers:
    """The people and services outside, who answer what is waited for, now and then."""

    def __init__(self, kernel: Kernel) -> None:
        self.acts: Counter[str] = Counter()
        self._kernel = kernel
        self._callbacks: list[tuple[float, int, str, Json]] = []
        self._number = 0

    def join(self) -> None:
        """Has the roles run the workflow that waits, and gives them the carrier that answers later."""
        workflows, agents = wiring.workflows, wiring.make_agents

        def with_waits() -> Workflows:
            return {key: waiting(workflow) for key, workflow in workflows().items()}

        def with_later_answers() -> dict[str, Any]:
            all_agents: dict[str, Any] = dict(agents())
            return {**all_agents, "carrier": LaterAgent(all_agents["carrier"], self)}

        wiring.workflows = with_waits
        wiring.make_agents = with_later_answers
        self._kernel.spawn(Process("outside"), "answer", self._run)

    def put_off(self, token: str, result: Json) -> Pending | None:
        """What the carrier says of a call that it answers later; None if it answers now."""
        chance = self._kernel.chance
        if chance.random() < 0.4:
            return None
        for _ in range(chance.choice([0, 1, 1, 1, 2])):
            self._number += 1
            at = self._kernel.now + chance.choice([0.0, chance.uniform(0.0, 9.0)])
            heapq.heappush(self._callbacks, (at, self._number, token, result))
        poll = chance.choice([None, None, 1.0, 3.0])
        return Pending(reference=f"job-{self._number}", within=chance.uniform(3.0, 8.0), poll_after=poll)

    def _run(self) -> None:
        chance = self._kernel.chance
        while True:
            self._kernel.pause(chance.uniform(0.05, 0.4))
            try:
                self._call_back()
                for order_id, name in fetch(AWAITED, [[REVIEW, CUSTOMS]]):
                    if chance.random() < 0.6:
                        self._answer(order_id, name)
            except DATABASE_TROUBLE:
                connection.close()

    def _call_back(self) -> None:
        while self._callbacks and self._callbacks[0][0] <= self._kernel.now:
            _, _, token, result = self._callbacks[0]
            self._note("callback", partial(answer_callback, token=token, result=result))
            heapq.heappop(self._callbacks)

    def _answer(self, order_id: Any, name: str) -> None:
        if name == REVIEW:
            (choice,) = self._kernel.chance.choices(["accept", "reject"], weights=[9, 1])
            self._note(name, lambda: decide(order_id=order_id, step=name, choice=choice, by="ada"))
        else:
            self._note(
                name, lambda: answer_event(order_id=order_id, step=name, result={"ok": True}, by="port")
            )

    def _note(self, what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except (AnswerError, NoSuchOrderError) as refusal:
            self.acts[f"{what}: {type(refusal).__name__}"] += 1
        else:
            self.acts[f"{what}: taken"] += 1


class LaterAgent:
    """An agent whose remote service does the work at once, and says so later."""

    def __init__(self, agent: Any, answers: Answers) -> None:
        self._agent = agent
        self._answers = answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    async def perform(self, request: Request) -> Json | Pending:
        """The agent's own, answered later now and then."""
        return await self._later(request, self._agent.perform)

    async def compensate(self, request: Request) -> Json | Pending:
        """The agent's own, answered later now and then."""
        return await self._later(request, self._agent.compensate)

    async def _later(self, request: Request, method: Callable[[Request], Awaitable[Json]]) -> Json | Pending:
        result = await method(request)
        return self._answers.put_off(request.callback_token, result) or result
