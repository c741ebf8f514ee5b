"""The situation of an order, as its customer sees it: how it is shown, and what she can do."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from orders.business.editing import customer_words, is_point_of_no_return
from orders.business.words import GENERAL_SITUATIONS, CustomerWords, Situation, SituationWords, Words
from orders.engine.branches import declared_name
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.selectors.refusals import declined_step
from orders.selectors.tracked_orders import Occurrences
from orders.vocabulary import EventKind, Goal, Outcome, ProcessState, StepStatus, WaitingFor
from orders.wording.customers.refusals import with_refusal
from orders.wording.customers.reversals import lacks_only_notice
from orders.wording.customers.saying import say

TONES: Mapping[Situation, str] = {
    Situation.RECEIVED: "busy",
    Situation.WORKING: "busy",
    Situation.WAITING: "busy",
    Situation.RETRYING: "warn",
    Situation.CORRECTING: "busy",
    Situation.DECLINED: "bad",
    Situation.STOPPED: "warn",
    Situation.FULFILLED: "good",
    Situation.COMPLETE: "good",
    Situation.CANCELLING: "busy",
    Situation.CANCEL_STUCK: "warn",
    Situation.REVERSED: "idle",
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
    words = with_refusal(words_for(situation, order), order, situation)
    return Status(
        word=say(words.in_list or words.status, order), icon=words.icon or "", tone=TONES[situation]
    )


def words_for(situation: Situation, order: CustomerOrder) -> SituationWords:
    """What is said of an order in a situation: in its kind's own words, and where it has none, or these claim more than
    was done, in general ones."""
    own = customer_words(order.workflow)
    claims_too_much = situation is Situation.COMPLETE and not _are_done(order, own.claims)
    special = SituationWords() if claims_too_much else _own_words(own, situation)
    general = GENERAL_SITUATIONS[situation]
    has_own_status = special.in_list is None and special.status is not None
    return SituationWords(
        status=_first(special.status, general.status),
        in_list=special.status if has_own_status else _first(special.in_list, general.in_list),
        headline=_first(special.headline, general.headline),
        sentence=_first(special.sentence, general.sentence),
        icon=general.icon if special.icon is None else special.icon,
    )


def _own_words(own: CustomerWords, situation: Situation) -> SituationWords:
    """A kind's own words for a situation. An order of which all is reversed is called what a cancelled one is."""
    special = own.situations.get(situation, SituationWords())
    if situation is not Situation.REVERSED:
        return special
    cancelled = own.situations.get(Situation.CANCELLED, SituationWords())
    named = {name: text for name, text in vars(special).items() if text is not None}
    return replace(cancelled, **{"sentence": None, **named})


def _first(own: Words | None, general: Words | None) -> Words | None:
    return general if own is None else own


def situation_of(order: CustomerOrder, occurrences: Occurrences) -> Situation:
    """Where an order is, after what has happened to it."""
    in_error = order.state == ProcessState.ERROR
    if order.goal == Goal.COMPENSATE:
        if order.state == ProcessState.COMPENSATED:
            return Situation.CANCELLED
        if lacks_only_notice(order):
            return Situation.REVERSED
        return Situation.CANCEL_STUCK if in_error else Situation.CANCELLING
    if order.state == ProcessState.PROCESSED:
        return Situation.COMPLETE
    if is_fulfilled(order):
        return Situation.FULFILLED
    return Situation.STOPPED if in_error else _forward_situation(order, occurrences)


def _forward_situation(order: CustomerOrder, occurrences: Occurrences) -> Situation:
    has_step_under_way = any(map(is_under_way, order.steps))
    if declined_step(order):
        return Situation.DECLINED
    if any(step.is_backward for step in order.steps):  # on the order's way forward
        return Situation.CORRECTING
    if order.pause and not has_step_under_way:
        return Situation.WAITING
    if retried_steps(order, occurrences):
        return Situation.RETRYING
    if waiting_steps(order) and not has_step_under_way:
        return Situation.WAITING
    return Situation.WORKING if order.steps else Situation.RECEIVED


def is_fulfilled(order: CustomerOrder) -> bool:
    """Whether all that was ordered is done, and something comes afterwards."""
    own = customer_words(order.workflow)
    later = [step for step in order.steps if declared_name(step.name) in own.afterwards]
    ordered = [step for step in order.steps if declared_name(step.name) not in own.afterwards]
    is_done = bool(ordered) and all(step.state in FINISHED for step in ordered)
    return is_done and any(step.state not in FINISHED for step in later) and _are_done(order, own.claims)


def was_fulfilled(order: CustomerOrder) -> bool:
    """Whether all that was ordered was done once, whether or not it was reversed since."""
    own = customer_words(order.workflow)
    ordered = [step for step in order.steps if declared_name(step.name) not in own.afterwards]
    done = {declared_name(step.name) for step in ordered if step.outcome == Outcome.DONE}
    missing = [step for step in ordered if step.outcome != Outcome.DONE and step.state != StepStatus.SKIPPED]
    return bool(done) and not missing and done >= set(own.claims)


def _are_done(order: CustomerOrder, names: Collection[str]) -> bool:
    """Whether all the order's steps of these names were done."""
    return all(
        step.state == StepStatus.COMPLETED for step in order.steps if declared_name(step.name) in names
    )


def waiting_steps(order: CustomerOrder) -> Sequence[CustomerStep]:
    """The steps that wait for something from outside, for a time, or because nothing can do them at present."""
    return [step for step in order.steps if step.awaits or is_held(step)]


def is_held(step: CustomerStep) -> bool:
    """Whether a step's turn has come, and nothing can do it: an outage, too much to do, or an operator's pause. A call
    that may show that an outage is over is no news before it is answered."""
    held = (WaitingFor.AGENT, WaitingFor.OPERATOR)
    is_waiting = step.waiting is not None and step.waiting.kind in held
    return (is_waiting or step.is_probing) and not step.awaits


def retried_steps(order: CustomerOrder, occurrences: Occurrences) -> Sequence[str]:
    """The unfinished steps that have been tried before, in an earlier attempt or an earlier call of this attempt. What
    waits for the end of an outage is not being tried."""
    tried = tried_steps(order, occurrences)
    return [step.name for step in order.steps if step.name in tried and not is_held(step)]


def tried_steps(order: CustomerOrder, occurrences: Occurrences) -> Sequence[str]:
    """The same, with those that wait for the end of an outage."""
    return [step.name for step in order.steps if not step.awaits and _is_retried(step, occurrences)]


def _is_retried(step: CustomerStep, occurrences: Occurrences) -> bool:
    # Attempts before something was changed no longer count.
    changes = (occurrences.get((kind, step.name)) for kind in CHANGES)
    attempts = step.attempts - max((change.attempt for change in changes if change), default=0)
    if step.state == StepStatus.NOT_STARTED:
        return attempts > 0
    if step.state != StepStatus.RUNNING:
        return False
    return attempts > 1 or has_failed_call(step, occurrences)


def has_failed_call(step: CustomerStep, occurrences: Occurrences) -> bool:
    """Whether a call of the step's last attempt failed in a way after which it is made again."""
    failed = occurrences.get((EventKind.CALL_FAILED, step.name))
    # A call that was refused is not made again: what it was refused for is known in a moment.
    return failed is not None and failed.attempt == step.attempts and not failed.detail.get("is_final")


def is_under_way(step: CustomerStep) -> bool:
    """Whether a step is being done, as far as is known."""
    return step.state == StepStatus.RUNNING and not step.awaits and not is_held(step)


def declined_until(order: CustomerOrder, situation: Situation) -> datetime | None:
    """Until when its customer may change what was declined; None if nothing waits for that."""
    step = declined_step(order) if situation is Situation.DECLINED else None
    return step.not_before if step else None


def may_cancel(order: CustomerOrder) -> bool:
    """Whether the customer may still cancel. The service checks again, with the order locked."""
    if order.goal == Goal.COMPENSATE or order.state == ProcessState.PROCESSED:
        return False
    return not any(
        step.attempts and is_point_of_no_return(order.workflow, order.workflow_version, step.name)
        for step in order.steps
    )
