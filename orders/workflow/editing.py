"""The fields of a step's request that an operator may edit, with their types and rules. Pure.

A step declares the names of its fields (`Step.editable`); this module knows their types. Values are read by the same
rules as a submission's, so an edit cannot ask for anything that could not have been ordered.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orders.engine.contracts import Workflow
from orders.workflow.description import SHIP_TO, read_field
from orders.workflow.versions import declared


class FieldType(StrEnum):
    """The kind of input that a form shows for a field."""

    TEXT = "text"
    TOKEN = "token"
    EMAIL = "email"
    ADDRESS = "address"
    COUNTRY = "country"


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a step's request. An address has `parts`, each of which is a field."""

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
    """Placeholder time limits. An installation's own, which the wiring passes in, do not change a step's fields."""

    order_complete_by: float = 1.0
    step_complete_by: float = 1.0
    customer_wait: float = 1.0
    patience: float = 1.0
    key_retention: float = 1.0


WORKFLOWS: Mapping[tuple[str, int], Workflow] = {
    (workflow.name, workflow.version): workflow for workflow in declared(_AnyLimits())
}


def editable(workflow: str, version: int, step: str) -> tuple[Field, ...]:
    """Returns the fields of a step that may be edited; none if this release does not have the workflow."""
    declared_workflow = WORKFLOWS.get((workflow, version))
    declaration = declared_workflow.by_name.get(step) if declared_workflow else None
    return tuple(FIELDS[name] for name in declaration.editable) if declaration else ()


def needed_by(workflow: str, version: int, step: str) -> tuple[str, ...]:
    """Returns the steps that need this step's result."""
    declaration = WORKFLOWS.get((workflow, version))
    if declaration is None:
        return ()
    return tuple(dependent.name for dependent in declaration.steps if step in dependent.needs)


def read(field: Field, value: object) -> Any:
    """Returns the value to store. Raises `BadDescriptionError`, with a sentence for an operator, if it is invalid."""
    return read_field(field.name, value)
