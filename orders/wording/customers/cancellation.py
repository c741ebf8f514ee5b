"""The stages of an order on its way back: what was done, that it was cancelled, and what was reversed."""

from collections.abc import Collection, Sequence
from datetime import datetime

from babel import Locale
from django.utils.translation import gettext_lazy as _

from orders.business.editing import customer_words, later_steps
from orders.business.words import CANCELLED, StageWords, Words
from orders.engine.branches import declared_name
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.selectors.tracked_orders import Occurrences
from orders.vocabulary import EventKind, Outcome, ProcessState, Reason, StepStatus, WaitingFor
from orders.wording.customers.charges import (
    MAY_HAVE_BEGUN,
    charge_words,
    is_returned,
    returned_at,
    steps_to_return,
    steps_with_money,
)
from orders.wording.customers.reversals import is_reversible, lacks_only_notice
from orders.wording.customers.saying import say, say_amount
from orders.wording.customers.situations import has_failed_call, is_held
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
AFTER_REVERSAL_PERHAPS: Words = _("{stage}: reversed if it was done")
UNTIL_REVERSAL_PERHAPS: Words = _("{stage}: being reversed if it was done")
FAILED_REVERSALS = (EventKind.COMPENSATION_FAILED, EventKind.COMPENSATION_TIMED_OUT)


def cancellation_stages(order: CustomerOrder, occurrences: Occurrences, *, locale: Locale) -> list[Stage]:
    """The stages of an order on its way back."""
    request = occurrences.get((EventKind.COMPENSATION_REQUESTED, ""))
    by_customer = request is not None and request.detail.get("why") == Reason.CUSTOMER_CANCELLED
    cancelled = Stage(
        title=say(CANCELLED_BY_CUSTOMER if by_customer else CANCELLED_BY_US, order),
        state="done",
        at=request.at if request else None,
    )
    done = [group for each in groups(order) for group in _parts_with(each, {Outcome.DONE.value})]
    begun = [group for each in groups(order) for group in _parts_with(each, MAY_HAVE_BEGUN)]
    reversals = [(_place(group.steps, order), _reversal(group, order, occurrences)) for group in begun]
    to_return = steps_to_return(order)
    money_place = _place(to_return, order) if to_return else len(order.steps)
    money = (money_place, _money_stage(order, occurrences, locale=locale))
    by_place = sorted([money, *reversed(reversals)], key=lambda placed: placed[0], reverse=True)
    returns = [stage for _, stage in by_place if stage]  # in the order in which they come
    return in_order_of_time(
        [
            placed_stage(order),
            *(stage for group in done for stage in _forward_stages(group, order, occurrences)),
            cancelled,
            *returns,
            _last_stage(order, occurrences, is_next=all(stage.state == "done" for stage in returns)),
        ]
    )


def _parts_with(group: Group, outcomes: Collection[str]) -> list[Group]:
    """What has one of these outcomes of a stage: all of it, those of its parts of which all has, or nothing."""
    if group.steps and all(step.outcome in outcomes for step in group.steps):
        return [group]
    return [part for each in parts_of(group) for part in _parts_with(each, outcomes)]


def _place(steps: Sequence[CustomerStep], order: CustomerOrder) -> int:
    """The place of the last of these steps among the order's. The last one is reversed first."""
    return max(order.steps.index(step) for step in steps)


def _forward_stages(group: Group, order: CustomerOrder, occurrences: Occurrences) -> list[Stage]:
    """What was done, in one stage, or in those of its parts while not all of them are reversed alike."""
    parts = [_forward_stage(part, order, occurrences) for part in parts_of(group) if part.steps]
    return parts if len({part.state for part in parts}) > 1 else [_forward_stage(group, order, occurrences)]


def _forward_stage(group: Group, order: CustomerOrder, occurrences: Occurrences) -> Stage:
    reversible = [step for step in group.steps if is_reversible(step, order)]
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
    steps = [step for step in group.steps if step.name not in money and is_reversible(step, order)]
    if not steps:
        return None
    is_over = all(step.state == StepStatus.COMPENSATED for step in steps)
    own, general = _words_of_reversal(group.words, steps, is_over=is_over)
    noun = say(group.words.ahead or group.words.title, order)  # "Payment: reversed", not "Paid: reversed"
    title = say(own, order) or say(general, order, stage=noun)
    if is_over:
        return Stage(title=title, state="done", at=_last_time(steps, occurrences))
    return _open_stage(title, steps, order, occurrences)


def _words_of_reversal(
    words: StageWords, steps: Sequence[CustomerStep], *, is_over: bool
) -> tuple[Words | None, Words]:
    """A stage's own words for what is reversed of it, and the general ones. While nobody knows whether any of it was
    done, they do not say that there was something."""
    if any(step.outcome == Outcome.DONE for step in steps):
        return (words.after_reversal, AFTER_REVERSAL) if is_over else (words.until_reversal, UNTIL_REVERSAL)
    if is_over:
        return words.after_reversal_perhaps, AFTER_REVERSAL_PERHAPS
    return words.until_reversal_perhaps, UNTIL_REVERSAL_PERHAPS


def _money_stage(order: CustomerOrder, occurrences: Occurrences, *, locale: Locale) -> Stage | None:
    words = charge_words(order)
    if words is None:
        return None
    if order.state == ProcessState.COMPENSATED or is_returned(order):
        title = say_amount(words.stage, order, locale=locale)
        return Stage(title=title, state="done", at=returned_at(order, occurrences))
    title = say_amount(words.ahead or words.stage, order, locale=locale)
    return _open_stage(title, steps_to_return(order), order, occurrences)


def _open_stage(
    title: str, steps: Sequence[CustomerStep], order: CustomerOrder, occurrences: Occurrences
) -> Stage:
    """A reversal that is not over.

    What may have been begun and got no answer is reversed once it can no longer take effect. Until then the reversal
    waits, also for the service that has not answered.
    """
    steps = [step for step in steps if step.state != StepStatus.COMPENSATED]
    begun = [step for step in steps if step.is_backward]
    unanswered = [step for step in steps if step.outcome == Outcome.UNKNOWN and not step.is_backward]
    failing = [step for step in unanswered if has_failed_call(step, occurrences)]
    if held := next((step for step in steps if is_held(step)), None):
        return Stage(title=title, state="wait", note=waiting_note(held, order))
    if order.state == ProcessState.ERROR and not begun:
        return Stage(title=title, state="stop")
    if steps and all(_comes_later(step, order) for step in steps):
        return Stage(title=title, state="later")
    if begun:
        is_repeated = any(_is_reversed_again(step, occurrences) for step in begun)
        return Stage(title=title, state="retry" if is_repeated else "now")
    if failing:
        return Stage(title=title, state="wait", note=waiting_note(failing[0], order))
    return Stage(title=title, state="wait" if unanswered else "now")


def _comes_later(step: CustomerStep, order: CustomerOrder) -> bool:
    """Whether something else is to be reversed before what this step did."""
    later = later_steps(order.workflow, order.workflow_version, step.name)
    return any(
        declared_name(other.name) in later
        and other.outcome in MAY_HAVE_BEGUN
        and other.state != StepStatus.COMPENSATED
        and is_reversible(other, order)
        for other in order.steps
    )


def _is_reversed_again(step: CustomerStep, occurrences: Occurrences) -> bool:
    """Whether a call that was to reverse what this step did has failed, and is made again."""
    request = occurrences.get((EventKind.COMPENSATION_REQUESTED, ""))
    failures = (occurrences.get((kind, step.name)) for kind in FAILED_REVERSALS)
    has_failed = any(failure and request and failure.at > request.at for failure in failures)
    waits = step.waiting is not None and step.waiting.kind is WaitingFor.RETRY
    return has_failed or waits or has_failed_call(step, occurrences)


def _last_stage(order: CustomerOrder, occurrences: Occurrences, *, is_next: bool) -> Stage:
    own, end = customer_words(order.workflow), occurrences.get((EventKind.COMPENSATED, ""))
    if order.state == ProcessState.COMPENSATED:
        tellers = [step for step in order.steps if declared_name(step.name) in own.afterwards]
        were_told = all(step.state == StepStatus.COMPENSATED for step in tellers)
        words = own.cancelled if were_told and (tellers or not own.afterwards) else CANCELLED
        return Stage(title=say(words, order), state="done", at=end.at if end else None)
    title = say(own.telling if lacks_only_notice(order) else own.cancelling, order)
    if not is_next:
        return Stage(title=title, state="later")
    if held := next((step for step in order.steps if is_held(step)), None):
        return Stage(title=title, state="wait", note=waiting_note(held, order))
    is_begun = any(step.is_backward for step in order.steps)
    return Stage(title=title, state="stop" if order.state == ProcessState.ERROR and not is_begun else "now")


def _last_time(steps: Sequence[CustomerStep], occurrences: Occurrences) -> datetime | None:
    return max([at for step in steps if (at := reversed_at(step, occurrences))], default=None)
