"""The fields of a step's request that an operator may edit, and what a step is to the people of its order.

A step declares the names of its fields (`Step.editable`); its kind of order knows their types and reads their values,
by the same rules as a submission's, so an edit cannot ask for anything that could not have been ordered.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from orders.business import registry
from orders.business.fields import Field
from orders.business.reading import BadOrderError, read_each
from orders.business.words import CustomerWords
from orders.engine.branches import declared_name
from orders.engine.contracts import Compensation, ResultField, Step
from orders.engine.waits import Decision


def editable(workflow: str, version: int, step: str) -> tuple[Field, ...]:
    """Returns the fields of a step that may be edited; none if this release does not have the workflow."""
    kind, declaration = registry.find_kind(workflow), registry.find_step(workflow, version, step)
    if kind is None or declaration is None:
        return ()
    fields = {field.name: field for field in kind.fields}
    return tuple(fields[name] for name in declaration.editable)


def order_fields(workflow: str) -> tuple[Field, ...]:
    """Returns the fields of a workflow's orders that may be edited; none if this release does not have it."""
    kind = registry.find_kind(workflow)
    return tuple(kind.fields) if kind else ()


def customer_editable(workflow: str, version: int, step: str) -> frozenset[str]:
    """Returns the fields that a customer may change while the step waits for her."""
    declaration = registry.find_step(workflow, version, step)
    return frozenset(declaration.customer_editable) if declaration else frozenset()


def customer_resubmits(workflow: str, version: int, step: str) -> bool:
    """Whether a customer may change those fields, and have her order resubmitted, also once the step got no answer."""
    declaration = registry.find_step(workflow, version, step)
    return bool(declaration and declaration.customer_resubmits)


def result_fields(workflow: str, version: int, step: str) -> tuple[ResultField, ...]:
    """Returns what the step's result must hold; nothing if this release does not have the workflow."""
    declaration = registry.find_step(workflow, version, step)
    return declaration.result if declaration else ()


def needed_by(workflow: str, version: int, step: str) -> tuple[str, ...]:
    """Returns the steps that need the result of this step, or of the step whose item it is."""
    declaration = registry.workflows().get((workflow, version))
    if declaration is None:
        return ()
    return tuple(dependent.name for dependent in declaration.steps if declared_name(step) in dependent.needs)


def decision(workflow: str, version: int, step: str) -> Decision | None:
    """Returns the decision that a step waits for; None if this release has no such step, or it waits for none."""
    declaration = registry.find_step(workflow, version, step)
    wait = declaration.waits_for if declaration else None
    return wait if isinstance(wait, Decision) else None


def read(workflow: str, name: str, value: object) -> Any:
    """Returns the value to store. Raises `BadOrderError`, with a sentence for an operator, if it is invalid."""
    kind = registry.find_kind(workflow)
    if kind is None:
        raise BadOrderError(
            f"{name} cannot be edited: this release has no workflow {workflow!r}.", where=name
        )
    return kind.read_field(name, value)


def read_all(workflow: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values to store. Raises `BadOrderError` with everything that is wrong with them."""
    return read_each(lambda name, value: read(workflow, name, value), values)


def is_point_of_no_return(workflow: str, version: int, step: str) -> bool:
    """Whether the customer's right to cancel ends once this stored step has been dispatched."""
    return declared_name(step) in _steps(workflow, version, "is_point_of_no_return")


def charging_steps(workflow: str, version: int) -> frozenset[str]:
    """Returns the steps that take the order's value from the customer, and give it back when they are compensated."""
    return _steps(workflow, version, "takes_value")


def sends_notice(workflow: str, version: int) -> frozenset[str]:
    """Returns the steps that, when an order is cancelled, tell its customer so."""
    declaration = registry.workflows().get((workflow, version))
    steps = declaration.steps if declaration else ()
    return frozenset(step.name for step in steps if step.compensation is Compensation.NOTICE)


def charging_workflows() -> frozenset[str]:
    """Returns the names of the workflows that have such a step, in any version."""
    names = {name for name, version in registry.workflows() if charging_steps(name, version)}
    return frozenset(names)


def reserving_steps(workflow: str, version: int) -> frozenset[str]:
    """Returns the steps that reserve the order's value, and release it when they are compensated."""
    return _steps(workflow, version, "reserves_value")


def lasting_steps(workflow: str, version: int) -> frozenset[str]:
    """Returns the steps whose effect stays when the order is compensated: it has none that could be reversed."""
    return frozenset(
        step.name for step in _declared(workflow, version) if step.compensation is not Compensation.REVERSE
    )


def later_steps(workflow: str, version: int, step: str) -> frozenset[str]:
    """Returns the steps that come after this one, at once or by way of others. What they did is reversed before it."""
    later: set[str] = set()
    new = {declared_name(step)}
    while new:
        new = {s.name for s in _declared(workflow, version) if new.intersection(s.after)} - later
        later |= new
    return frozenset(later)


def customer_words(workflow: str) -> CustomerWords:
    """Returns what the customers of a workflow's orders see; the general words if this release does not have it."""
    kind = registry.find_kind(workflow)
    return kind.customer_words if kind else CustomerWords()


def newest_steps(workflow: str) -> Sequence[str]:
    """Returns the names of the steps of an order that is inserted now; none if this release lacks the workflow."""
    declaration = registry.newest_workflows().get(workflow)
    return [step.name for step in declaration.steps] if declaration else []


def _steps(workflow: str, version: int, flag: str) -> frozenset[str]:
    """The steps with a flag. Of a version that has gone, those of the newest, since steps keep their names."""
    return frozenset(step.name for step in _declared(workflow, version) if getattr(step, flag))


def _declared(workflow: str, version: int) -> Sequence[Step]:
    declaration = registry.workflows().get((workflow, version)) or registry.newest_workflows().get(workflow)
    return declaration.steps if declaration else ()
