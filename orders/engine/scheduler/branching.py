"""How steps branch on an order's way forward: conditions, and steps that run for each item of a list. Pure decisions.

A step that runs for each item is a joint of its items: it is parked, waiting for them, from when they are added until
they are all completed or skipped. It has no effect of its own, so there is nothing in it to compensate.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from orders.engine import parking
from orders.engine.branches import BranchError, Facts, NewItem, declared_name, is_item, item_name
from orders.engine.contracts import Json, Step, Workflow
from orders.engine.rows import StepRow
from orders.engine.runtime.text import keepable
from orders.vocabulary import StepStatus, WaitKind

LONGEST_ERROR = 2_000
"""Characters of what is kept of an error in a business's own code."""


def is_joint(step: StepRow, declared: Step) -> bool:
    """Whether this step only joins those of its items."""
    return declared.each is not None and not is_item(step.name)


def asks(step: StepRow, declared: Step) -> bool:
    """Whether a step whose turn has come depends on the order's data or results. It is asked once: what has been
    dispatched or skipped stays so."""
    return is_joint(step, declared) or asks_condition(step, declared)


def asks_condition(step: StepRow, declared: Step) -> bool:
    """Whether the step's condition has yet to be asked."""
    return declared.when is not None and step.attempt == 0 and not is_item(step.name)


def items_of(joint: StepRow, steps: Mapping[str, StepRow]) -> list[StepRow]:
    """The steps of a joint's items, in the order of the list."""
    own = [step for name, step in steps.items() if is_item(name) and declared_name(name) == joint.name]
    return sorted(own, key=lambda step: step.id)


def are_added(joint: StepRow, items: Sequence[StepRow]) -> bool:
    """Whether these are all the items that a joint waits for. They are not yet in the pass that adds them."""
    return len(items) == (joint.awaits or {}).get("items")


def known_before(workflow: Workflow, step: str, facts: Facts) -> Facts:
    """What a step may be decided on: the results of the steps that it comes after, None for those without."""
    earlier = workflow.predecessors[step]
    return Facts(facts.data, {name: facts.results.get(name) for name in sorted(earlier)})


def skip(step: StepRow) -> StepRow:
    """A step whose condition does not hold."""
    return step._replace(state=StepStatus.SKIPPED, not_before=None, waiting_since=None)


def fail(step: StepRow, error: BranchError) -> StepRow:
    """A step whose condition or whose list fails. Nothing of it has been sent, so whoever resubmits it has it asked
    again."""
    message = keepable(str(error))[:LONGEST_ERROR]
    return skip(step)._replace(
        state=StepStatus.FAILED, wanted_since=None, error={"code": "branch_failed", "message": message}
    )


def add_items(joint: StepRow, agent: str, items: Sequence[Json]) -> tuple[StepRow, list[NewItem]]:
    """The joint as it begins to wait for its items, and their steps."""
    awaits = {"kind": WaitKind.ITEMS.value, "items": len(items)}
    parked = joint._replace(
        state=StepStatus.AWAITING, attempt=joint.attempt + 1, awaits=awaits, not_before=None, error=None
    )
    added = [
        NewItem(joint.id, item_name(joint.name, number), agent, item) for number, item in enumerate(items, 1)
    ]
    return parked, added


def join(joint: StepRow, items: Sequence[StepRow], facts: Facts) -> tuple[StepRow, list[Any]]:
    """The completed joint, and the results of its items, None for those that were skipped."""
    return parking.complete_wait(joint), [facts.results.get(item.name) for item in items]
