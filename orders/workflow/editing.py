"""Which fields of a step's request an operator may edit, of which type, and whether a value will do. Pure.

A step's declaration names its fields (`Step.editable`); here each name has its type. Values are read by the same rules
as a submission's, so nothing can be edited in that could not have been ordered.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orders.engine.contracts import Workflow
from orders.workflow.description import SHIP_TO, read_field
from orders.workflow.versions import declared


class FieldType(StrEnum):
    """What a form asks for."""

    TEXT = "text"
    TOKEN = "token"
    EMAIL = "email"
    ADDRESS = "address"
    COUNTRY = "country"


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a step's request. An address has `parts`, each a field of its own."""

    name: str
    type: FieldType
    parts: tuple["Field", ...] = ()


FIELDS: Mapping[str, Field] = {
    "payment_method": Field(name="payment_method", type=FieldType.TOKEN),
    "email": Field(name="email", type=FieldType.EMAIL),
    "ship_to": Field(
        name="ship_to",
        type=FieldType.ADDRESS,
        parts=tuple(
            Field(name=part, type=FieldType.COUNTRY if part == "country" else FieldType.TEXT)
            for part in SHIP_TO
        ),
    ),
}


@dataclass(frozen=True, kw_only=True)
class _AnyLimits:
    """Some time limits: an installation's own, which the wiring gives, change no field of any step."""

    order_complete_by: float = 1.0
    step_complete_by: float = 1.0
    customer_wait: float = 1.0
    patience: float = 1.0


WORKFLOWS: Mapping[tuple[str, int], Workflow] = {
    (workflow.name, workflow.version): workflow for workflow in declared(_AnyLimits())
}


def editable(workflow: str, version: int, step: str) -> tuple[Field, ...]:
    """The fields of a step that may be edited; none of a workflow that this release does not know."""
    known = WORKFLOWS.get((workflow, version))
    found = known.by_name.get(step) if known else None
    return tuple(FIELDS[name] for name in found.editable) if found else ()


def needed_by(workflow: str, version: int, step: str) -> tuple[str, ...]:
    """The steps that are given this step's result, and cannot do without it."""
    known = WORKFLOWS.get((workflow, version))
    return tuple(one.name for one in known.steps if step in one.needs) if known else ()


def read(field: Field, value: object) -> Any:
    """The value as it is to be kept. Raises `BadDescriptionError` with a sentence when it will not do."""
    return read_field(field.name, value)
