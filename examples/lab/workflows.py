"""What the laboratory does with a sample.

book-spectrometer ──┐
                    ├─▶ report
book-microscope ────┘
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from orders.business import (
    Attribute,
    BadOrderError,
    Environment,
    Field,
    Json,
    OrderKind,
    Profile,
    ResultField,
    Step,
    Workflow,
)
from orders.business.reading import read_text

LONGEST = 40
"""Characters of a code, a method or a batch."""
REFERENCE = ResultField(name="reference", label="Reference of the booking")
"""What the report names."""
PROMISE = timedelta(days=2)
"""How soon after its registration a sample's report is promised."""


class AnalyseSample(OrderKind):
    """The analysis of a sample: two instruments are booked, and then its report is published."""

    name = "analyse-sample"
    label = "analysis"
    is_open_to_clients = True
    fields = (Field(name="method", label="Method"),)
    attributes = (Attribute(name="method", label="Method"), Attribute(name="batch", label="Batch"))

    @classmethod
    def versions(cls, environment: Environment) -> Sequence[Workflow]:
        complete_by = environment.number("LAB_STEP_COMPLETE_BY", 30.0, lowest=1, highest=3_600)
        return [Workflow(name=cls.name, version=1, steps=steps(complete_by), complete_by=3_600.0)]

    @classmethod
    def read(cls, data: Json) -> Json:
        return {name: read_text(data.get(name), name, LONGEST) for name in ("sample", "method", "batch")}

    @classmethod
    def profile(cls, data: Json, *, placed_at: datetime) -> Profile:
        return Profile(
            title=f"{data['sample']}, {data['method']}",
            promised_by=placed_at + PROMISE,
            attributes={"method": data["method"], "batch": data["batch"]},
        )

    @classmethod
    def read_field(cls, name: str, value: object) -> Any:
        if name != "method":
            raise BadOrderError(f"{name} cannot be edited.", where=name)
        return read_text(value, name, LONGEST)


def booking(instrument: str) -> Callable[[Json], Json]:
    """Returns the function that says what to book for an order."""

    def data(order: Json) -> Json:
        return {"instrument": instrument, "sample": order["sample"], "method": order["method"]}

    return data


def report(order: Json) -> Json:
    """Returns what the report is about."""
    return {"sample": order["sample"], "batch": order["batch"]}


def steps(complete_by: float) -> tuple[Step, ...]:
    """The steps of version 1. An attempt at one may take `complete_by` seconds."""
    names = ("book-spectrometer", "book-microscope")
    bookings = [
        Step(
            name=name,
            agent="instruments",
            operation="book",
            data=booking(name.removeprefix("book-")),
            complete_by=complete_by,
            editable=("method",),
            result=(REFERENCE,),
        )
        for name in names
    ]
    publication = Step(
        name="report",
        agent="reports",
        operation="publish",
        data=report,
        after=names,
        needs=names,
        complete_by=complete_by,
    )
    return (*bookings, publication)
