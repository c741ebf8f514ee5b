"""A second business, which tests install beside the shop."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any, ClassVar

from orders.business import (
    Attribute,
    BadOrderError,
    Compensation,
    Environment,
    Field,
    Json,
    OrderKind,
    Profile,
    Step,
    Workflow,
    registry,
)
from orders.business.reading import read_text
from orders.engine.contracts import Agent, Decision, OutsideEvent, Request

PACKAGE = "tests.support.made_up"


class Oven:
    """An agent that does nothing, and says so."""

    name = "oven"
    capacity = 10
    call_timeout = 1.0

    def __init__(self, url: str = "") -> None:
        self.url = url

    async def perform(self, request: Request) -> Json:
        return {"baked": request.data["cake"]}

    async def compensate(self, request: Request) -> Json:
        return {}

    async def close(self) -> None:
        """There is nothing to close."""


class Bakery(OrderKind):
    """Cakes: no price, no address, no email."""

    name = "bake"
    label = "cake"
    is_open_to_clients = True
    fields = (Field(name="cake", label="Cake", act="Choose another cake"),)
    attributes = (Attribute(name="icing", label="Icing"),)
    personal = ("for",)
    step: ClassVar[Step] = Step(
        name="mix",
        agent="oven",
        operation="mix",
        data=lambda data: {"cake": data["cake"]},
        compensation=Compensation.NONE,
        editable=("cake",),
        customer_editable=("cake",),
    )

    @classmethod
    def versions(cls, environment: Environment) -> Sequence[Workflow]:
        return [Workflow(name="bake", version=1, steps=(cls.step,))]

    @classmethod
    def read(cls, data: Json) -> Json:
        return {
            "cake": read_text(data.get("cake"), "cake", 40),
            "icing": read_text(data.get("icing", "none"), "icing", 40),
            "for": read_text(data.get("for", "anybody"), "for", 40),
        }

    @classmethod
    def profile(cls, data: Json, *, placed_at: datetime) -> Profile:
        return Profile(
            title=f"{data['cake']} cake",
            promised_by=placed_at + timedelta(hours=1),
            attributes={"icing": data["icing"]},
        )

    @classmethod
    def read_field(cls, name: str, value: object) -> Any:
        if name != "cake":
            raise BadOrderError(f"{name} cannot be edited.", where=name)
        return read_text(value, "cake", 40)


class TastedCakes(Bakery):
    """Cakes that somebody tastes while the flour comes, and that may have been paid for."""

    name = "bake-tasted"
    label = "tasted cake"
    workflow: ClassVar[Workflow] = Workflow(
        name="bake-tasted",
        version=1,
        steps=(
            replace(Bakery.step, takes_value=True, customer_editable=()),
            Step(
                name="taste",
                waits_for=Decision(choices=("serve", "bake again", "bin"), compensates=("bin",)),
                after=("mix",),
                compensation=Compensation.NONE,
            ),
            Step(
                name="flour",
                waits_for=OutsideEvent(within=3_600.0),
                after=("mix",),
                compensation=Compensation.NONE,
            ),
        ),
    )

    @classmethod
    def versions(cls, environment: Environment) -> Sequence[Workflow]:
        return [cls.workflow]


@contextmanager
def business(
    settings: Any,
    *,
    kinds: Sequence[type[OrderKind]],
    agents: Sequence[Agent] | Callable[[Environment], Sequence[Agent]],
) -> Iterator[None]:
    """Installs a business beside those that there are, without tables of its own, and takes it away again."""
    workflows = ModuleType(f"{PACKAGE}.workflows")
    for number, kind in enumerate(kinds):
        setattr(workflows, f"Kind{number}", kind)
    makers = ModuleType(f"{PACKAGE}.agents")
    makers.agents = agents if callable(agents) else lambda environment: agents  # type: ignore[attr-defined]
    package = ModuleType(PACKAGE)
    package.__path__ = []
    modules = {module.__name__: module for module in (package, workflows, makers)}
    sys.modules.update(modules)
    before = settings.BUSINESSES
    settings.BUSINESSES = (*before, PACKAGE)
    registry.forget()
    try:
        yield
    finally:
        settings.BUSINESSES = before
        registry.forget()
        for name in modules:
            del sys.modules[name]
