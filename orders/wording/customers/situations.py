"""The situation of an order, as its customer sees it: how it is shown, and what she can do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orders.business.editing import customer_words, is_point_of_no_return
from orders.business.words import GENERAL_SITUATIONS, CustomerWords, Situation, SituationWords, Words
from orders.selectors import order_waits
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.selectors.tracked_orders import Occurrences
from orders.vocabulary import EventKind, Goal, ProcessState, StepStatus
from orders.wording.customers.refusals import with_refusal

TONES: Mapping[Situation, str] = {
    Situation.RECEIVED: "busy",
    Situation.WORKING: "busy",
    Situation.WAITING: "busy",
    Situation.RETRYING: "warn",
    Situation.CORRECTING: "busy",
    Situation.DECLINED: "bad",
    Situation.STOPPED: "warn",
    Situation.COMPLETE: "good",
    Situation.CANCELLING: "busy",
    Situation.CANCEL_STUCK: "warn",
    Situation.CANCELLED: "idle",
}
CHANGES = (EventKind.PAID_AGAIN, EventKind.CORRECTED, EventKind.STEP_RENEWED)
FINISHED = frozenset({StepStatus.COMPLETED.value, StepStatus.SKIPPED.value})


@dataclass(frozen=True, kw_only=True)
class Status:
    """How a list shows where an order is: its word, an icon of the sprite, and one of the design system's tones."""

    word: str
    icon: str
    tone: str


def listed_status(order: CustomerOrder) -> Status:
    """How a list shows where an order is. A list does not read histories, so it says only what is certain without."""
    situation = situation_of(order, {})
    under_way = [step for step in order.steps if step.state not in FINISHED and not step.awaits]
    if situation is Situation.WORKING:
        if any(step.attempts > 1 or step.not_before or step.error for step in under_way):
            situation = Situation.RETRYING
        elif order.state == ProcessState.PENDING and not any(step.attempts for step in order.steps):
            situation = Situation.RECEIVED
    words = with_refusal(words_for(situation, customer_words(order.workflow)), order, situation)
    return Status(word=str(words.in_list or words.status), icon=words.icon or "", tone=TONES[situation])


def words_for(situation: Situation, own: CustomerWords) -> SituationWords:
    """What is said in a situation: in a kind's own words, and where it has none, in general ones."""
    general, special = GENERAL_SITUATIONS[situation], own.situations.get(situation, SituationWords())
    has_own_status = special.in_list is None and special.status is not None
    return SituationWords(
        status=_first(special.status, general.status),
        in_list=special.status if has_own_status else _first(special.in_list, general.in_list),
        headline=_first(special.headline, general.headline),
        sentence=_first(special.sentence, general.sentence),
        icon=general.icon if special.icon is None else special.icon,
    )


def _first(own: Words | None, general: Words | None) -> Words | None:
    return general if own is None else own


def situation_of(order: CustomerOrder, occurrences: Occurrences) -> Situation:
    """Where an order is, after what has happened to it."""
    in_error = order.state == ProcessState.ERROR
    if order.goal == Goal.COMPENSATE:
        if order.state == ProcessState.COMPENSATED:
            return Situation.CANCELLED
        return Situation.CANCEL_STUCK if in_error else Situation.CANCELLING
    if in_error:
        return Situation.STOPPED
    if order.state == ProcessState.PROCESSED:
        return Situation.COMPLETE
    if declined_step(order):
        return Situation.DECLINED
    if any(step.is_backward for step in order.steps):  # on the order's way forward
        return Situation.CORRECTING
    if retried_steps(order, occurrences):
        return Situation.RETRYING
    if waiting_steps(order) and not any(_is_under_way(step) for step in order.steps):
        return Situation.WAITING
    return Situation.WORKING if order.steps else Situation.RECEIVED


def declined_step(order: CustomerOrder) -> CustomerStep | None:
    """The step that was declined, and waits for the customer to change something."""
    return next((step for step in order.steps if is_declined(step)), None)


def is_declined(step: CustomerStep) -> bool:
    """Whether a step waits for the customer."""
    return step.state == StepStatus.FAILED and order_waits.is_declined(step.error)


def waiting_steps(order: CustomerOrder) -> Sequence[CustomerStep]:
    """The steps that wait for something from outside, or for a time."""
    return [step for step in order.steps if step.awaits]


def retried_steps(order: CustomerOrder, occurrences: Occurrences) -> Sequence[str]:
    """The unfinished steps that have been tried before, in an earlier attempt or an earlier call of this attempt."""
    return [step.name for step in order.steps if not step.awaits and _is_retried(step, occurrences)]


def _is_retried(step: CustomerStep, occurrences: Occurrences) -> bool:
    # Attempts before something was changed no longer count.
    changes = (occurrences.get((kind, step.name)) for kind in CHANGES)
    attempts = step.attempts - max((change.attempt for change in changes if change), default=0)
    if step.state == StepStatus.NOT_STARTED:
        return attempts > 0
    if step.state != StepStatus.RUNNING:
        return False
    failed = occurrences.get((EventKind.CALL_FAILED, step.name))
    return attempts > 1 or (failed is not None and failed.attempt == step.attempts)


def _is_under_way(step: CustomerStep) -> bool:
    return step.state == StepStatus.RUNNING and not step.awaits


def may_cancel(order: CustomerOrder) -> bool:
    """Whether the customer may still cancel. The service checks again, with the order locked."""
    if order.goal == Goal.COMPENSATE or order.state == ProcessState.PROCESSED:
        return False
    return not any(
        step.attempts and is_point_of_no_return(order.workflow, order.workflow_version, step.name)
        for step in order.steps
    )
