"""What is said above the form for a field: what was refused, so that its customer is asked for it again."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from orders.business.fields import Field, FieldType
from orders.business.lines import LineName
from orders.business.words import Situation
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.selectors.refusals import is_declined
from orders.selectors.tracked_orders import Occurrences
from orders.wording.customers.refusals import (
    declined_sentences,
    explained,
    left_of_lines,
    with_own,
    words_of_step,
)
from orders.wording.customers.saying import say
from orders.wording.customers.situations import words_for


class Refusal(NamedTuple):
    """What was refused, and what the customer can do about it."""

    headline: str
    sentences: Sequence[str]
    icon: str


def refusal_of(
    order: CustomerOrder, occurrences: Occurrences, field: Field, *, names: Mapping[str, LineName]
) -> Refusal | None:
    """Why the customer is asked for a field, in words that call the order's lines by these names; None if nothing waits
    for it any more. Of lines, the form says at each how many are left."""
    step = _step_of(order, field)
    if step is None:
        return None
    general = words_for(Situation.DECLINED if is_declined(step) else Situation.STOPPED, order)
    words = with_own(general, order, words_of_step(order, step))
    if is_declined(step):
        is_said_below = field.type is FieldType.LINES and bool(left_of_lines(order))
        before = [] if is_said_below else explained(order, step, names)
        sentences = [*before, *declined_sentences(order, occurrences, words.sentence, step)]
    else:
        sentences = [say(words.sentence, order)] if words.sentence else []
    return Refusal(
        headline=say(words.headline, order),
        sentences=sentences,
        icon=words.icon or "warning",
    )


def _step_of(order: CustomerOrder, field: Field) -> CustomerStep | None:
    names = {waiting.step for waiting in order.correctable if field.name in waiting.fields}
    return next((step for step in order.steps if step.name in names), None)
