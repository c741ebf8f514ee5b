"""What the laboratory does with a sample.

book-spectrometer ──▶ spectrometry ──┐
                                     ├──▶ review ──▶ report
book-microscope ────▶ microscopy ────┘

Both instruments work at the same time. The spectrometer takes hours, and calls back (`examples.lab.agents`). A person
reviews what they have found; a rejected order is compensated, so its analyses are voided and its bookings cancelled.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from examples.lab.runbooks import RUNBOOKS
from examples.lab.words import WORDS
from orders.business import (
    Attribute,
    BadOrderError,
    Compensation,
    Decision,
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
FINDING = ResultField(name="finding", label="Finding")
"""What the report names."""
PROMISE = timedelta(days=2)
"""How soon after its registration a sample's report is promised."""
REVIEW_WITHIN = 86_400.0
"""Seconds that a reviewer has. After that an operator is told."""
INSTRUMENTS = {"spectrometry": "spectrometer", "microscopy": "microscope"}
"""The analyses of a sample, and the instrument that each one needs."""


class AnalyseSample(OrderKind):
    """The analysis of a sample: by two instruments, reviewed by a person, and published as a report."""

    name = "analyse-sample"
    label = "analysis"
    is_open_to_clients = True
    fields = (Field(name="method", label="Method"), Field(name="batch", label="Batch"))
    attributes = (Attribute(name="method", label="Method"), Attribute(name="batch", label="Batch"))
    customer_words = WORDS
    runbooks = RUNBOOKS

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
        if name not in ("method", "batch"):
            raise BadOrderError(f"{name} cannot be edited.", where=name)
        return read_text(value, name, LONGEST)


def booking(instrument: str, order: Json) -> Json:
    """Returns what is booked for an order."""
    return {"instrument": instrument, "sample": order["sample"]}


def analysis(instrument: str, order: Json) -> Json:
    """Returns what an instrument is to do for an order."""
    return {"instrument": instrument, "sample": order["sample"], "method": order["method"]}


def report(order: Json) -> Json:
    """Returns what the report is about."""
    return {"sample": order["sample"], "batch": order["batch"]}


def steps(complete_by: float) -> tuple[Step, ...]:
    """The steps of version 1. A call of a service may take `complete_by` seconds, with all its tries."""
    bookings = [
        Step(
            name=f"book-{instrument}",
            agent="instruments",
            operation="book",
            data=partial(booking, instrument),
            complete_by=complete_by,
            result=(REFERENCE,),
        )
        for instrument in INSTRUMENTS.values()
    ]
    analyses = [
        Step(
            name=name,
            agent="analyses",
            operation="analyse",
            data=partial(analysis, instrument),
            after=(f"book-{instrument}",),
            needs=(f"book-{instrument}",),
            complete_by=complete_by,
            editable=("method",),
            result=(FINDING,),
        )
        for name, instrument in INSTRUMENTS.items()
    ]
    review = Step(
        name="review",
        waits_for=Decision(choices=("accept", "reject"), compensates=("reject",), within=REVIEW_WITHIN),
        after=tuple(INSTRUMENTS),
        compensation=Compensation.NONE,
    )
    publication = Step(
        name="report",
        agent="reports",
        operation="publish",
        data=report,
        after=("review",),
        needs=(*INSTRUMENTS, "review"),
        complete_by=complete_by,
        editable=("batch",),
    )
    return (*bookings, *analyses, review, publication)
