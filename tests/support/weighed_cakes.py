"""A kind of order whose steps say what their results must hold, for tests that install it beside the shop."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from orders.business import (
    Compensation,
    Environment,
    OutsideEvent,
    ResultField,
    ResultType,
    Step,
    Workflow,
)
from orders.models import OrderProcess
from tests.support.businesses import Bakery
from tests.support.factories import ahead, make_order

TIN = ResultField(name="tin", label="Number on the tin")
GRAMS = ResultField(name="grams", label="Weight in grams", type=ResultType.NUMBER)
LAYERS = ResultField(name="layers", label="Layers", type=ResultType.JSON)


class WeighedCakes(Bakery):
    """Cakes that come in a numbered tin, and are weighed by somebody."""

    name = "bake-weighed"
    label = "weighed cake"
    workflow: ClassVar[Workflow] = Workflow(
        name="bake-weighed",
        version=1,
        steps=(
            replace(Bakery.step, result=(TIN, GRAMS, LAYERS), compensation=Compensation.REVERSE),
            Step(
                name="weigh",
                waits_for=OutsideEvent(within=3_600.0),
                after=("mix",),
                compensation=Compensation.NONE,
                result=(GRAMS,),
            ),
        ),
    )

    @classmethod
    def versions(cls, environment: Environment) -> Sequence[Workflow]:
        return [cls.workflow]


FLOW = WeighedCakes.workflow
WEIGHED = {(FLOW.name, FLOW.version): FLOW}
WHOLE = {"tin": "T7", "grams": 900, "layers": ["sponge", "cream"]}


def cake(steps: dict[str, Any], **process: Any) -> OrderProcess:
    """An order for a weighed cake."""
    return make_order(steps, workflow=FLOW, **process)


def parked_cake(**process: Any) -> OrderProcess:
    """One whose oven has taken the call, and answers later."""
    awaits = {"awaits": {"kind": "answer", "reference": "job-7"}, "awaits_until": ahead(3_600)}
    step = {"state": "awaiting", "outcome": "unknown", "sent_at": ahead(-9)} | awaits
    return cake({"mix": step}, **{"not_before": ahead(9_000)} | process)


def baked_cake() -> OrderProcess:
    """One that waits to be weighed."""
    weigh = {"state": "awaiting", "awaits": {"kind": "event"}}
    return cake({"mix": "completed", "weigh": weigh}, not_before=ahead(9_000))


def doubtful_cake(**step: Any) -> OrderProcess:
    """One in Error, since nobody knows whether it was mixed."""
    failed = {"state": "failed", "outcome": "unknown", "attempt": 1}
    return cake({"mix": failed | step}, process_state="error", started_at=ahead(-60))
