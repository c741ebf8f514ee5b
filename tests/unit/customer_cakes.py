"""Cakes whose customers read what a test declares, and what they then read."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

import pytest
from babel import Locale
from django.utils.functional import lazystr
from pytest_django import Settings

from orders.business import (
    Charge,
    ChargeWords,
    Compensation,
    CustomerWords,
    Decision,
    Environment,
    OutsideEvent,
    Situation,
    SituationWords,
    StageWords,
    Step,
    Workflow,
)
from orders.fields.money import Money
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.selectors.tracked_orders import Occurrence, TrackedOrder
from orders.vocabulary import Reason, WaitKind
from orders.wording.customers.progress import Progress, progress
from tests.support.businesses import Bakery, Oven, business

PLACED = datetime(2026, 11, 20, 12, tzinfo=UTC)
MIX = replace(Bakery.step, reserves_value=True)
BAKE = replace(
    Bakery.step, name="bake", after=("mix",), needs=("mix",), takes_value=True, is_point_of_no_return=True
)
TASTE = Step(name="taste", waits_for=Decision(), after=("bake",), compensation=Compensation.NONE)
FLOUR = Step(
    name="more-flour", waits_for=OutsideEvent(within=60), after=("mix",), compensation=Compensation.NONE
)
WORDS = CustomerWords(
    stages=(
        StageWords(title=lazystr("In the oven"), steps=("mix", "bake")),
        StageWords(title="Tasted", steps=("taste",)),
    ),
    situations={
        Situation.COMPLETE: SituationWords(status="Baked", headline=lazystr("Enjoy your cake."), sentence="")
    },
    retries={"bake": "The oven was cold."},
    waits={"taste": "Our taster has it."},
    reasons={Reason.DECIDED: "It did not taste right."},
    charges={
        Charge.CHARGED: ChargeWords(stage="{amount} back", promise="Soon {amount}.", result="{amount}!")
    },
    placed="We have your recipe",
    cancelled="Eaten by us",
)


class Cakes(Bakery):
    """Cakes, whose customers read what a test declares."""

    steps: ClassVar[Sequence[Step]] = (MIX, FLOUR, BAKE, TASTE)

    @classmethod
    def versions(cls, environment: Environment) -> Sequence[Workflow]:
        return [Workflow(name="bake", version=2, steps=tuple(cls.steps))]


@pytest.fixture(autouse=True)
def bakery(settings: Settings) -> Iterator[None]:
    """The bakery of these cakes, beside the shop."""
    with business(settings, kinds=[Cakes], agents=[Oven()]):
        yield


@pytest.fixture
def own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the cakes declare `WORDS`."""
    monkeypatch.setattr(Cakes, "customer_words", WORDS)


OUTCOMES = {"running": "unknown", "failed": "refused"} | dict.fromkeys(
    ("completed", "compensating", "compensated"), "done"
)


def step(name: str, state: str = "not_started", **fields: Any) -> CustomerStep:
    """A step; one that has begun is in its first attempt, and one that has ended did so ten seconds after the start."""
    has_ended = state in ("completed", "compensated")
    values: dict[str, Any] = {
        "attempts": 0 if state in ("not_started", "skipped") else 1,
        "completed_at": PLACED + timedelta(seconds=10) if has_ended else None,
        "outcome": OUTCOMES.get(state, "none"),
        **dict.fromkeys(("complete_by", "started_at", "not_before", "error")),
    }
    return CustomerStep(**{"name": name, "state": state, **values, **fields})


def order(*steps: CustomerStep, state: str = "processing", **fields: Any) -> CustomerOrder:
    values = {"total": Money(amount=900, currency="EUR"), "goal": "complete", "workflow_version": 2}
    return CustomerOrder(
        id=UUID(int=0), workflow="bake", subject="", title="", version="1", state=state, steps=steps, lines=(),
        placed_at=PLACED, updated_at=PLACED, **{**values, **fields},
    )  # fmt: skip


def read(
    view: CustomerOrder, *, after: float = 60, usual: float | None = None, **happened: dict[str, Any]
) -> Progress:
    """What the customer reads after so many seconds. `happened` has the details of events of the order."""
    occurrences = {
        (kind, ""): Occurrence(at=PLACED, attempt=0, detail=detail) for kind, detail in happened.items()
    }
    tracked = TrackedOrder(order=view, email="", data={}, occurrences=occurrences)
    return progress(tracked, now=PLACED + timedelta(seconds=after), locale=Locale("en"), usual=usual)


def stages(view: CustomerOrder, **happened: dict[str, Any]) -> list[tuple[str, str]]:
    return [(stage.title, stage.state) for stage in read(view, **happened).stages]


AWAITED = {"awaits": WaitKind.DECISION}
ALL = [step(name, "completed") for name in ("mix", "more-flour", "bake", "taste")]
