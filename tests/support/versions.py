"""A workflow in two versions, and the move from one to the other.

v1   mix ─▶ taste (a person) ─▶ bake ─▶ sign, candle
v2   mix ─▶ approve (a person) ─▶ bake ─▶ ice ─▶ stamp

`taste` is `approve` now, `sign` is `stamp`, `candle` is dropped, and `ice` is new.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from orders.business import (
    Compensation,
    Decision,
    Environment,
    Json,
    Move,
    OrderKind,
    OutsideEvent,
    Step,
    Workflow,
)
from orders.engine.contracts import Request
from orders.models import OrderProcess
from tests.support.factories import make_order, make_purchase
from tests.support.workflows import CAKES


def _cake(data: Json) -> Json:
    return {"cake": data["cake"]}


def _step(name: str, agent: str, *after: str, **declared: Any) -> Step:
    return Step(
        **({"name": name, "agent": agent, "operation": name, "after": after, "data": _cake} | declared)
    )


def _wait(name: str, *after: str, wait: Decision | OutsideEvent | None = None) -> Step:
    waits_for = wait or Decision(within=60.0)
    return Step(name=name, waits_for=waits_for, after=after, compensation=Compensation.NONE)


OLD = Workflow(
    name="ice-cake",
    version=1,
    steps=(
        _step("mix", "kitchen", customer_editable=("cake",)),
        _wait("taste", "mix"),
        _step("bake", "oven", "taste", needs=("mix",)),
        _step("sign", "post", "bake"),
        _step("candle", "post", "bake"),
    ),
)
NEW = Workflow(
    name="ice-cake",
    version=2,
    steps=(
        _step("mix", "kitchen", customer_editable=("cake",), data=lambda data: {**_cake(data), "size": 2}),
        _wait("approve", "mix"),
        _step("bake", "oven", "approve", needs=("mix",)),
        _step("ice", "kitchen", "bake", data=lambda data: {"icing": data["icing"]}),
        _step("stamp", "kitchen", "ice", needs=("bake",)),
    ),
)
MOVE = Move(from_version=1, to_version=2, steps={"taste": "approve", "sign": "stamp", "candle": None})
VERSIONS = {(workflow.name, workflow.version): workflow for workflow in (OLD, NEW)}
OLDER_RELEASE = {(OLD.name, 1): OLD}
EVERYTHING = {**CAKES, **VERSIONS}
DATA = {"cake": "lemon", "icing": "pink"}
UNKNOWN: Mapping[str, Any] = {"state": "not_started", "attempt": 1, "outcome": "unknown"}
"""A step that was sent and not answered."""
TASTED: Mapping[str, Any] = {"mix": "completed", "taste": "completed"}


class IcedCake(OrderKind):
    """Cakes that are iced since version 2."""

    name = OLD.name
    moves: ClassVar[Sequence[Move]] = (MOVE,)

    @classmethod
    def versions(cls, environment: Environment) -> Sequence[Workflow]:
        return [OLD, NEW]

    @classmethod
    def read(cls, data: Json) -> Json:
        return data


class Hand:
    """An agent that can do everything, and says what."""

    capacity = 10
    call_timeout = 1.0

    def __init__(self, name: str) -> None:
        self.name = name

    async def perform(self, request: Request) -> Json:
        return {"did": request.step}

    async def compensate(self, request: Request) -> Json:
        return {}

    async def close(self) -> None:
        """There is nothing to close."""


HANDS = [Hand(name) for name in ("kitchen", "oven", "post")]


def an_old_order(
    steps: Mapping[str, Any] | None = None, *, data: Json | None = DATA, **process: Any
) -> OrderProcess:
    """An order on version 1, with what it was placed with."""
    order = make_order(steps, workflow=OLD, **({"fingerprint": OLD.fingerprint} | process))
    make_purchase(order.order_id, data=data)
    return order
