"""The step of an order that was declined, what its kind says of that, and what the order's lines are called there."""

from collections.abc import Mapping

from orders.business.editing import customer_words
from orders.business.kinds import OrderKind
from orders.business.lines import LineName
from orders.business.refusals import RefusalWords
from orders.business.registry import find_kind
from orders.engine.branches import declared_name
from orders.selectors import order_waits
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.vocabulary import Goal, StepStatus

NO_WORDS = RefusalWords()
NO_NAMES: Mapping[str, LineName] = {}


def declined_step(order: CustomerOrder) -> CustomerStep | None:
    """The step that was declined, and waits for the customer to change something."""
    return next((step for step in order.steps if is_declined(step)), None)


def is_declined(step: CustomerStep) -> bool:
    """Whether a step waits for the customer."""
    return step.state == StepStatus.FAILED and order_waits.is_declined(step.error)


def words_of_refusal(order: CustomerOrder, step: CustomerStep) -> RefusalWords:
    """What the kind says of a declined step, by the code of its error or by its name; nothing if it has no words."""
    refusals = customer_words(order.workflow).refusals
    code = (step.error or {}).get("code", "")
    return refusals.get(code) or refusals.get(declared_name(step.name)) or NO_WORDS


def names_in_refusal(order: CustomerOrder) -> Mapping[str, LineName]:
    """The names of an order's lines, if what its customer reads of a declined step has them; nothing is looked up
    otherwise."""
    step = declined_step(order) if order.goal == Goal.COMPLETE else None
    if step is None or not (step.error or {}).get("detail"):
        return NO_NAMES
    own = words_of_refusal(order, step)
    return line_names(order) if own.explain and own.names_lines else NO_NAMES


def line_names(order: CustomerOrder) -> Mapping[str, LineName]:
    """What the lines of an order are called in the active language, by their codes. Its kind may look it up."""
    kind = find_kind(order.workflow) or OrderKind
    return kind.line_names([line.sku for line in order.lines])
