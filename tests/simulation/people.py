"""What clients, customers and operators do during a life, through the services that the pages and the API call."""

import contextlib
import json
import math
from collections import Counter
from collections.abc import Callable
from uuid import UUID

from django.db import connection, transaction

from orders.business.order_ids import derived_order_id
from orders.engine.channels import submissions
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.runtime.sql import DATABASE_TROUBLE, fetch
from orders.models import StepState
from orders.services import customers
from orders.services.audit import Actor
from orders.services.operators import agents, editing, order_acts, pausing_orders, pausing_steps, settling
from orders.services.order_lock import NoSuchOrderError
from tests.simulation.kernel import Kernel
from tests.simulation.remotes import RemoteServices
from tests.support.order_bodies import submitted_body

OPERATOR = Actor(name="operator:ops")
CLIENT = "guest"
CARDS = {"card_ok": 92, "card_declined": 4, "card_slow": 4}


class Clients:
    """Place the orders of a life in crowds. A client that got no answer repeats the post with the same key."""

    def __init__(
        self, kernel: Kernel, *, orders: int, within: float, hangs: bool, reply_to: str = ""
    ) -> None:
        self.acknowledged: list[UUID] = []
        self._kernel = kernel
        self._orders = orders
        self._within = within
        self._reply_to = reply_to
        self._cards = {**CARDS, "card_hangs": 1} if hangs else CARDS
        self._placed = 0

    @property
    def are_done(self) -> bool:
        """Whether all orders have been acknowledged."""
        return self._placed >= self._orders

    def run(self) -> None:
        """Places the orders: crowds with pauses between them, and some at the same moment as others.

        Their sizes follow the life's, so that orders come in for as long as things go wrong.
        """
        chance = self._kernel.chance
        while not self.are_done:
            most = math.ceil(self._orders * chance.choice([0.0005, 0.002, 0.02, 0.08, 0.08, 0.16]))
            crowd = min(most, self._orders - self._placed)
            numbers = range(self._placed, self._placed + crowd)
            cards = chance.choices(list(self._cards), weights=list(self._cards.values()), k=crowd)
            priorities = chance.choices([0, 5, 9], weights=[1, 8, 1], k=crowd)
            while True:
                try:
                    placed = [
                        self._post(list(part))
                        for part in _parts(list(zip(numbers, cards, priorities, strict=True)), 100)
                    ]
                except DATABASE_TROUBLE:
                    connection.close()
                    self._kernel.pause(chance.uniform(0.1, 1.0))
                    continue
                break
            self.acknowledged += [order_id for part in placed for order_id in part]
            self._placed += crowd
            self._kernel.pause(chance.expovariate(self._orders / self._within / max(crowd, 1)))

    def _post(self, orders: list[tuple[int, str, int]]) -> list[UUID]:
        with transaction.atomic():
            records = [
                submissions.post_once(
                    order_id=derived_order_id(client=CLIENT, key=f"key-{number}"),
                    client=CLIENT,
                    body=submitted_body(payment_method=card, priority=priority, reply_to=self._reply_to),
                    key=f"key-{number}",
                    body_hash=f"{card}/{priority}",
                )
                for number, card, priority in orders
            ]
            wake(Topic.SUBMISSION)
        return [record.order_id for record in records]


class People:
    """Operators and customers, who do something every now and then until they leave."""

    def __init__(self, kernel: Kernel, clients: Clients, services: RemoteServices, *, pause: float) -> None:
        self.acts: Counter[str] = Counter()
        self.have_left = False
        self._kernel = kernel
        self._clients = clients
        self._services = services
        self._pause = pause

    def run(self) -> None:
        """Acts until they leave."""
        chance = self._kernel.chance
        acts: dict[Callable[[UUID], object], int] = {
            self._cancel: 3,
            self._pay_again: 4,
            self._resubmit: 6,
            self._compensate: 2,
            self._retry_now: 3,
            self._set_priority: 2,
            self._skip: 1,
            self._edit: 1,
            self._settle: 2,
            self._pause_an_agent: 1,
            self._pause_a_step: 1,
            self._pause_an_order: 1,
            self._force_a_circuit: 1,
        }
        while not self.have_left:
            self._kernel.pause(chance.expovariate(1 / self._pause))
            (act,) = chance.choices(list(acts), weights=list(acts.values()))
            try:
                order_id = self._any_order()
                if order_id is not None:
                    with contextlib.suppress(NoSuchOrderError):
                        result = act(order_id)
                        self.acts[f"{act.__name__.strip('_')}: {result}"] += 1
            except DATABASE_TROUBLE:
                connection.close()

    def _any_order(self) -> UUID | None:
        """An order, more likely one that needs a person."""
        if self._kernel.chance.random() < 0.6:
            rows = fetch(
                "SELECT order_id FROM orders_orderprocess WHERE process_state = 'error' ORDER BY 1 LIMIT 50"
            )
            if rows:
                order_id: UUID = self._kernel.chance.choice(rows)[0]
                return order_id
        orders = self._clients.acknowledged
        return self._kernel.chance.choice(orders[-400:]) if orders else None

    def _any_step(self, order_id: UUID) -> StepState:
        steps = list(StepState.objects.filter(process_id=order_id).order_by("position"))
        if not steps:
            raise NoSuchOrderError(str(order_id))
        failed = [step for step in steps if step.state == "failed"]
        return self._kernel.chance.choice(failed or steps)

    def _cancel(self, order_id: UUID) -> object:
        return customers.cancel(order_id=order_id, by=CLIENT).status.value

    def _pay_again(self, order_id: UUID) -> object:
        rows = fetch(
            "SELECT order_id FROM orders_stepstate WHERE state = 'failed' AND name = 'authorise-payment' ORDER BY 1"
        )
        if rows:
            order_id = self._kernel.chance.choice(rows)[0]
        return customers.resolve(
            order_id=order_id, changes={"payment_method": "card_ok"}, by=CLIENT
        ).status.value

    def _resubmit(self, order_id: UUID) -> object:
        return order_acts.resubmit(order_id=order_id, actor=OPERATOR, reason="fixed").status.value

    def _compensate(self, order_id: UUID) -> object:
        return order_acts.compensate(order_id=order_id, actor=OPERATOR, reason="asked for").status.value

    def _retry_now(self, order_id: UUID) -> object:
        return order_acts.retry_now(order_id=order_id, actor=OPERATOR).status.value

    def _set_priority(self, order_id: UUID) -> object:
        priority = self._kernel.chance.randrange(10)
        return order_acts.set_priority(order_id=order_id, priority=priority, actor=OPERATOR).status.value

    def _skip(self, order_id: UUID) -> object:
        step = self._any_step(order_id).name
        return order_acts.skip(order_id=order_id, step=step, actor=OPERATOR, reason="not needed").status.value

    def _edit(self, order_id: UUID) -> object:
        step = self._any_step(order_id)
        if step.name != "authorise-payment":
            return "not editable"
        seen = {"payment_method": step.request["payment_method"]}
        result = editing.edit_and_resubmit(
            order_id=order_id,
            step=step.name,
            changes={"payment_method": "card_ok"},
            seen=seen,
            actor=OPERATOR,
            reason="another card",
        )
        return result.status.value

    def _settle(self, order_id: UUID) -> object:
        """Settles a failed step as the service's ledger says, which no call may change any more."""
        step = self._any_step(order_id)
        calls_are_over = step.settles_at is None or step.settles_at <= fetch("SELECT clock_timestamp()")[0][0]
        if step.state != "failed" or step.agent == "mail" or not calls_are_over:
            return "nothing to settle"
        key = f"{order_id}/{step.name}/{step.generation}"
        answer = self._services.ledger.answer(step.agent, key)
        act = {"order_id": order_id, "step": step.name, "actor": OPERATOR, "reason": "the service says so"}
        if answer is not None and answer.status < 300:
            return settling.settle_done(result=json.loads(answer.body), **act).status.value  # type: ignore[arg-type]
        return settling.settle_not_done(**act).status.value  # type: ignore[arg-type]

    def _pause_an_agent(self, _: UUID) -> object:
        agent = self._kernel.chance.choice(["warehouse", "payments", "carrier", "mail"])
        result = agents.pause_agent(agent=agent, actor=OPERATOR, reason="maintenance")
        self._resume_later(lambda: agents.resume_agent(agent=agent, actor=OPERATOR))
        return result.status.value

    def _pause_a_step(self, order_id: UUID) -> object:
        of = {"workflow": "fulfil-order", "step": self._any_step(order_id).name, "actor": OPERATOR}
        result = pausing_steps.pause_step(**of, reason="it looks wrong")  # type: ignore[arg-type]
        self._resume_later(lambda: pausing_steps.resume_step(**of))  # type: ignore[arg-type]
        return result.status.value

    def _pause_an_order(self, order_id: UUID) -> object:
        result = pausing_orders.pause_order(order_id=order_id, actor=OPERATOR, reason="it looks wrong")
        self._resume_later(lambda: pausing_orders.resume_order(order_id=order_id, actor=OPERATOR))
        return result.status.value

    def _resume_later(self, resume: Callable[[], object]) -> None:
        """Resumes what was paused after a while, however often the database fails."""
        self._kernel.pause(self._kernel.chance.uniform(0.5, 5.0))
        while True:
            try:
                resume()
                return
            except DATABASE_TROUBLE:
                connection.close()
                self._kernel.pause(0.5)

    def _force_a_circuit(self, _: UUID) -> object:
        agent = self._kernel.chance.choice(["warehouse", "payments", "carrier", "mail"])
        state = self._kernel.chance.choice(["open", "closed"])
        seconds = self._kernel.chance.uniform(1.0, 10.0)
        return agents.force_circuit(
            agent=agent, state=state, seconds=seconds, actor=OPERATOR, reason="to see"
        ).status.value


def _parts(items: list[tuple[int, str, int]], size: int) -> list[list[tuple[int, str, int]]]:
    return [items[start : start + size] for start in range(0, len(items), size)] or [[]]
