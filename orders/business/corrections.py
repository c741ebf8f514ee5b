"""What the customer of an order may correct of it now, and how her history says it. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from orders.business import registry
from orders.business.editing import customer_editable, customer_resubmits
from orders.business.fields import Field, FieldType
from orders.business.kinds import OrderKind
from orders.business.reading import (
    BadOrderError,
    read_each,
    read_object,
    read_text,
    read_whole,
    refuse_all,
    shown,
)
from orders.engine.contracts import Json
from orders.vocabulary import FINISHED_STATES, Goal, ProcessState, StepStatus, WaitingFor

MOST_QUANTITY = 2**31 - 1
LONGEST_SKU = 200
SHOWN_OF_A_TOKEN = 4
"""Letters at the end of a token that the history shows."""
HIDDEN = "…"
ITEM = re.compile(r"(?P<name>\w+)\[(?P<index>\d+)\]")
"""Where a mistake in an item of a list is."""
NO_ANSWER = frozenset({"timeout", "timed_out", "no_answer", "connection_lost"})
"""The codes of a step that failed because its service did not answer."""


class StepFacts(Protocol):
    """A step, as far as it says what its customer may do."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def state(self) -> str:
        """Its state."""

    @property
    def error(self) -> Mapping[str, Any] | None:
        """What it failed with."""


class Correctable(NamedTuple):
    """A step whose failure the customer can resolve, and the fields of the order that she may change for it."""

    step: str
    error: Mapping[str, Any]
    fields: Sequence[str]
    until: datetime | None


def open_steps(
    workflow: str, version: int, *, goal: str, state: str, steps: Iterable[StepFacts]
) -> dict[str, frozenset[str]]:
    """The steps that wait for the customer, and the fields of the order that she may change for each.

    Those of an order in Error that she may have resubmitted are among them, unless another step has failed, too. The
    steps that have failed are enough.
    """
    if goal != Goal.COMPLETE or state in FINISHED_STATES:
        return {}
    failed = [step for step in steps if step.state == StepStatus.FAILED]
    declined = [step for step in failed if is_declined(step.error)]
    others = [step for step in failed if not is_declined(step.error)]
    is_hers = state == ProcessState.ERROR and all(is_resubmitted(workflow, version, step) for step in others)
    return {
        step.name: customer_editable(workflow, version, step.name)
        for step in (*declined, *(others if is_hers else ()))
    }


def is_resubmitted(workflow: str, version: int, step: StepFacts) -> bool:
    """Whether the customer may have a failed step tried again, because its service did not answer."""
    code = (step.error or {}).get("code")
    return code in NO_ANSWER and customer_resubmits(workflow, version, step.name)


def is_declined(error: object) -> bool:
    """Whether the customer can resolve what a step failed with."""
    return isinstance(error, Mapping) and error.get("waits_for") == WaitingFor.CUSTOMER


def customer_fields(workflow: str, names: Iterable[str]) -> list[Field]:
    """The fields with these names, in the order in which the kind declares them."""
    kind = registry.find_kind(workflow)
    names = {*names}
    return [field for field in (*kind.fields, *kind.customer_fields) if field.name in names] if kind else []


def masked(kind: type[OrderKind], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of fields as an order's history says them: without what names a person, or could be paid with."""
    fields = {field.name: field for field in (*kind.fields, *kind.customer_fields)}
    personal = {*kind.personal, *kind.names}
    return {name: _masked(value, name, fields.get(name), personal) for name, value in values.items()}


def _masked(value: Any, path: str, field: Field | None, personal: set[str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _masked(part, f"{path}.{name}", None, personal) for name, part in value.items()}
    if path in personal:
        return HIDDEN
    if field is not None and field.type is FieldType.TOKEN and isinstance(value, str):
        return f"{HIDDEN}{value[-SHOWN_OF_A_TOKEN:]}"
    if field is not None and field.type is FieldType.EMAIL and isinstance(value, str):
        return f"{HIDDEN}@{value.rpartition('@')[2]}"
    return value


def read_quantities(value: object, where: str = "lines") -> list[dict[str, Any]]:
    """Reads how many are wanted of some lines of an order: `[{"sku": …, "quantity": 2}]`, and 0 of one that is left
    out. Raises `BadOrderError`."""
    if not isinstance(value, list) or not value:
        raise BadOrderError(f"{where} must be a list of at least one line.", where=where)
    places = {f"{where}[{index}]": line for index, line in enumerate(value)}
    quantities = [*read_each(lambda place, line: _quantity(line, place), places).values()]
    if len({line["sku"] for line in quantities}) < len(quantities):
        raise BadOrderError(f"{where} must name each product once.", where=where)
    return quantities


def _quantity(value: object, where: str) -> dict[str, Any]:
    line = read_object(value, where)
    return {
        "sku": read_text(line.get("sku"), f"{where}.sku", LONGEST_SKU),
        "quantity": read_whole(line.get("quantity"), f"{where}.quantity", 0, MOST_QUANTITY),
    }


def fewer_lines(lines: Sequence[Json], quantities: Sequence[Json], where: str = "lines") -> list[Json]:
    """The lines of an order with these quantities, which `read_quantities` has read; the other lines stay as they are.

    Raises `BadOrderError` if more is wanted than was ordered, something else, or nothing, with each line that is wrong.
    """
    ordered = {line["sku"]: line["quantity"] for line in lines}
    new = {line["sku"]: line["quantity"] for line in quantities}
    refuse_all(list(_not_fewer(ordered, new, where)))
    changed = [{**line, "quantity": new.get(line["sku"], line["quantity"])} for line in lines]
    remaining: list[Json] = [line for line in changed if line["quantity"]]
    if not remaining:
        raise BadOrderError(f"{where} must leave something. Otherwise, cancel the order.", where=where)
    return remaining


def _not_fewer(ordered: Mapping[str, int], new: Mapping[str, int], where: str) -> Iterator[BadOrderError]:
    """What is wrong with new quantities of products, by their codes."""
    for index, (sku, quantity) in enumerate(new.items()):
        if sku not in ordered:
            place = f"{where}[{index}].sku"
            yield BadOrderError(f"{place} must be one of the order, which has no {shown(sku)}.", where=place)
        elif quantity > ordered[sku]:
            place = f"{where}[{index}].quantity"
            yield BadOrderError(
                f"{place} must be at most {ordered[sku]}, as many as were ordered.", where=place
            )


def without(changes: Mapping[str, Any], mistakes: Iterable[BadOrderError]) -> dict[str, Any]:
    """The changes that have none of these mistakes: of a list those of its items, otherwise whole fields."""
    rest = dict(changes)
    wrong: dict[str, set[int]] = {}
    for mistake in mistakes:
        item = ITEM.match(mistake.where)
        name = item["name"] if item else mistake.where.partition(".")[0]
        if item and isinstance(changes.get(name), list):
            wrong.setdefault(name, set()).add(int(item["index"]))
        else:
            rest.pop(name, None)
    for name in wrong.keys() & rest.keys():
        rest[name] = [value for index, value in enumerate(rest[name]) if index not in wrong[name]]
    return {name: value for name, value in rest.items() if value != []}
