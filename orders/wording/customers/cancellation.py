"""The stages of an order on its way back: what was done, that it was cancelled, and what was reversed."""

from collections.abc import Sequence
from datetime import datetime

from babel import Locale
from django.utils.translation import gettext_lazy as _

from orders.business.editing import customer_words, lasting_steps
from orders.business.words import CANCELLED, Words
from orders.engine.branches import declared_name
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.selectors.tracked_orders import Occurrences
from orders.vocabulary import EventKind, Outcome, ProcessState, Reason, StepStatus
from orders.wording.customers.charges import (
    charge_words,
    is_returned,
    returned_at,
    steps_with_money,
)
from orders.wording.customers.saying import say, say_amount
from orders.wording.customers.situations import is_held
from orders.wording.customers.stages import (
    Group,
    Stage,
    groups,
    in_order_of_time,
    parts_of,
    placed_stage,
    waiting_note,
)
from orders.wording.customers.times import done_at, reversed_at

CANCELLED_BY_CUSTOMER: Words = _("You cancelled it")
CANCELLED_BY_US: Words = _("Cancelled by us")
AFTER_REVERSAL: Words = _("{stage}: reversed")
UNTIL_REVERSAL: Words = _("{stage}: being reversed")


def cancellation_stages(order: CustomerOrder, occurrences: Occurrences, *, locale: Locale) -> list[Stage]:
    """The stages of an order on its way back."""
    request = occurrences.get((EventKind.COMPENSATION_REQUESTED, ""))
    by_customer = request is not None and request.detail.get("why") == Reason.CUSTOMER_CANCELLED
    cancelled = Stage(
        title=say(CANCELLED_BY_CUSTOMER if by_customer else CANCELLED_BY_US, order),
        state="done",
        at=request.at if request else None,
    )
    done = [group for each in groups(order) for group in _done(each)]
    reversals = [stage for group in done if (stage := _reversal(group, order, occurrences))]
    money = _money_stage(order, occurrences, locale=locale)
    returns = [*([money] if money else []), *reversed(reversals)]  # in the order in which they come
    return in_order_of_time(
        [
            placed_stage(order),
            *(stage for group in done for stage in _forward_stages(group, order, occurrences)),
            cancelled,
            *returns,
            _last_stage(order, occurrences, is_next=all(stage.state == "done" for stage in returns)),
        ]
    )


def _done(group: Group) -> list[Group]:
    """What was done of a stage: all of it, those of its parts of which all was done, or nothing."""
    if group.steps and all(step.outcome == Outcome.DONE for step in group.steps):
        return [group]
    return [part for each in parts_of(group) for part in _done(each)]


def _forward_stages(group: Group, order: CustomerOrder, occurrences: Occurrences) -> list[Stage]:
    """What was done, in one stage, or in those of its parts while not all of them are reversed alike."""
    parts = [_forward_stage(part, order, occurrences) for part in parts_of(group) if part.steps]
    return parts if len({part.state for part in parts}) > 1 else [_forward_stage(group, order, occurrences)]


def _forward_stage(group: Group, order: CustomerOrder, occurrences: Occurrences) -> Stage:
    reversible = [step for step in group.steps if _is_reversible(step, order)]
    is_reversed = bool(reversible) and all(step.state == StepStatus.COMPENSATED for step in reversible)
    times = [at for step in group.steps if (at := done_at(step, occurrences))]
    return Stage(
        title=say(group.words.title, order),
        state="reversed" if is_reversed else "done",
        at=max(times, default=None),
    )


def _reversal(group: Group, order: CustomerOrder, occurrences: Occurrences) -> Stage | None:
    """What is reversed of a stage; None if nothing is, or only money, of which another stage tells."""
    money = {step.name for step in steps_with_money(order)} if order.total else set()
    steps = [step for step in group.steps if step.name not in money and _is_reversible(step, order)]
    if not steps:
        return None
    words = group.words
    noun = say(words.ahead or words.title, order)  # "Payment: reversed" rather than "Paid: reversed"
    if all(step.state == StepStatus.COMPENSATED for step in steps):
        title = say(words.after_reversal, order) or say(AFTER_REVERSAL, order, stage=noun)
        return Stage(title=title, state="done", at=_last_time(steps, occurrences))
    title = say(words.until_reversal, order) or say(UNTIL_REVERSAL, order, stage=noun)
    is_begun = any(step.state == StepStatus.COMPENSATING for step in steps)
    return _open_stage(title, steps, order, state="now" if is_begun else "later")


def _money_stage(order: CustomerOrder, occurrences: Occurrences, *, locale: Locale) -> Stage | None:
    words = charge_words(order)
    if words is None:
        return None
    if order.state == ProcessState.COMPENSATED or is_returned(order):
        title = say_amount(words.stage, order, locale=locale)
        return Stage(title=title, state="done", at=returned_at(order, occurrences))
    title = say_amount(words.ahead or words.stage, order, locale=locale)
    return _open_stage(title, steps_with_money(order), order, state="now")


def _open_stage(title: str, steps: Sequence[CustomerStep], order: CustomerOrder, *, state: str) -> Stage:
    """A reversal that is not over: in this state, unless it is held up."""
    if held := next((step for step in steps if is_held(step)), None):
        return Stage(title=title, state="wait", note=waiting_note(held, order))
    is_begun = any(step.state == StepStatus.COMPENSATING for step in steps)
    return Stage(title=title, state="stop" if order.state == ProcessState.ERROR and not is_begun else state)


def _last_stage(order: CustomerOrder, occurrences: Occurrences, *, is_next: bool) -> Stage:
    own, end = customer_words(order.workflow), occurrences.get((EventKind.COMPENSATED, ""))
    if order.state == ProcessState.COMPENSATED:
        tellers = [step for step in order.steps if declared_name(step.name) in own.afterwards]
        were_told = all(step.state == StepStatus.COMPENSATED for step in tellers)
        words = own.cancelled if were_told and (tellers or not own.afterwards) else CANCELLED
        return Stage(title=say(words, order), state="done", at=end.at if end else None)
    title = say(own.cancelling, order)
    return (
        _open_stage(title, order.steps, order, state="now") if is_next else Stage(title=title, state="later")
    )


def _is_reversible(step: CustomerStep, order: CustomerOrder) -> bool:
    """Whether what a step does can be reversed. Of a step with items, theirs is."""
    has_items = any(other.name.startswith(f"{step.name}:") for other in order.steps)
    return not has_items and declared_name(step.name) not in lasting_steps(
        order.workflow, order.workflow_version
    )


def _last_time(steps: Sequence[CustomerStep], occurrences: Occurrences) -> datetime | None:
    return max([at for step in steps if (at := reversed_at(step, occurrences))], default=None)
