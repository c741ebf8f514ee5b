"""How far an order is, in words for its customer.

The words follow from what is stored: an order on its second attempt is being retried, an order that waits for its
customer says so, and a late order is called late.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from babel import Locale
from django.utils.translation import gettext_lazy

from orders.business.editing import customer_words
from orders.business.lines import LineName
from orders.business.words import (
    GENERAL_OUTAGE,
    GENERAL_REASONS,
    GENERAL_REASONS_AFTERWARDS,
    GENERAL_WAITS,
    PAUSED,
    Charge,
    CustomerWords,
    Situation,
    Words,
)
from orders.engine.branches import declared_name
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.selectors.refusals import NO_NAMES
from orders.selectors.tracked_orders import Occurrences, TrackedOrder
from orders.vocabulary import EventKind, Goal, ProcessState, Reason, StepStatus, WaitingFor, WaitKind
from orders.wording.customers.cancellation import cancellation_stages
from orders.wording.customers.charges import charge_of, charge_words, is_returned, present_charge
from orders.wording.customers.corrections import with_correction
from orders.wording.customers.refusals import (
    refusal_sentences,
    unresolved_reason,
    with_refusal,
)
from orders.wording.customers.saying import say, say_amount
from orders.wording.customers.situations import (
    TONES,
    declined_until,
    is_held,
    may_cancel,
    retried_steps,
    situation_of,
    tried_steps,
    waiting_steps,
    was_fulfilled,
    words_for,
)
from orders.wording.customers.stages import Stage, forward_stages
from orders.wording.units import spoken_duration

ENDED = frozenset({Situation.COMPLETE, Situation.CANCELLED})
QUIET_WHEN_LATE = ENDED | {
    Situation.DECLINED,
    Situation.STOPPED,
    Situation.FULFILLED,
    Situation.CANCEL_STUCK,
    Situation.REVERSED,
}
LATE: Words = gettext_lazy(
    "This is taking longer than we promised, and we’re sorry. Your order is safe and we’re still working on it."
)
CANCELLING_IS_LATE: Words = gettext_lazy(
    "This is taking longer than it should, and we’re sorry. We’re still cancelling your order, and nothing gets lost."
)
USUAL: Words = gettext_lazy("Nine out of ten orders are done in about {usual}.")


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What a page says about an order. `declined_until` is until when the customer may change something, such as how
    she pays; None while nothing waits for her. `changes_at` is when it says something else, though nothing happens."""

    situation: Situation
    tone: str
    icon: str
    word: str
    headline: str
    sentences: Sequence[str]
    stages: Sequence[Stage]
    is_late: bool
    has_ended: bool
    may_cancel: bool
    declined_until: datetime | None
    is_in_error: bool = False
    changes_at: datetime | None = None

    @property
    def offers_help(self) -> bool:
        """Whether the page says how to reach a person."""
        return self.is_late or self.is_in_error

    @property
    def placed_at(self) -> datetime | None:
        """When the order was placed, as its first stage says."""
        return self.stages[0].at


def progress(
    tracked: TrackedOrder,
    *,
    now: datetime,
    locale: Locale,
    usual: float | None,
    names: Mapping[str, LineName] = NO_NAMES,
) -> Progress:
    """What to say about an order. `usual` is how many seconds such an order usually takes, if that is known. `names`
    are those of its lines (`names_in_refusal`), by their codes; a line without a name is called by its title."""
    order, occurrences = tracked.order, tracked.occurrences
    situation = situation_of(order, occurrences)
    words = with_refusal(words_for(situation, order), order, situation)
    words = with_correction(words, order, occurrences, situation)
    sentences = _sentences(tracked, situation, words.sentence, locale, names)
    late_at = None if situation in QUIET_WHEN_LATE else _late_at(tracked)
    is_late = late_at is not None and now > late_at
    usual_until = _begun(tracked) + timedelta(seconds=usual or 0)
    is_usual = situation in (Situation.RECEIVED, Situation.WORKING) and now < usual_until and not is_late
    turns = (usual_until if is_usual else None, late_at)
    if is_late:
        sentences.append(str(CANCELLING_IS_LATE if situation is Situation.CANCELLING else LATE))
    elif usual and is_usual:
        sentences.append(str(USUAL).format(usual=spoken_duration(usual, locale=locale)))
    cancels = order.goal == Goal.COMPENSATE
    stages = (
        cancellation_stages(order, occurrences, locale=locale)
        if cancels
        else forward_stages(order, occurrences)
    )
    return Progress(
        situation=situation,
        tone=TONES[situation],
        icon=words.icon or "",
        word=say(words.status, order),
        headline=say(words.headline, order),
        sentences=sentences,
        stages=[_not_ahead(stages[0], now), *stages[1:]],
        is_late=is_late,
        has_ended=situation in ENDED,
        may_cancel=may_cancel(order),
        declined_until=declined_until(order, situation),
        is_in_error=order.state == ProcessState.ERROR,
        changes_at=min((at for at in turns if at is not None and at >= now), default=None),
    )


def _not_ahead(placed: Stage, now: datetime) -> Stage:
    """The first stage, whose time is by the clock of the web server that took the order and may be ahead of ours."""
    return replace(placed, at=now) if placed.at and placed.at > now else placed


def _late_at(tracked: TrackedOrder) -> datetime | None:
    """When the promise has passed; None if nothing was promised. A cancellation may take as long as was promised for
    the order."""
    order = tracked.order
    return order.promised_by and _begun(tracked) + (order.promised_by - order.placed_at)


def _begun(tracked: TrackedOrder) -> datetime:
    """Since when it has been worked on. That begins anew when the customer changes something, and when the order is
    cancelled."""
    begins = (EventKind.PAID_AGAIN, EventKind.CORRECTED, EventKind.COMPENSATION_REQUESTED)
    changes = [event.at for (kind, _), event in tracked.occurrences.items() if kind in begins]
    return max([tracked.order.placed_at, *changes])


def _sentences(
    tracked: TrackedOrder,
    situation: Situation,
    sentence: Words | None,
    locale: Locale,
    names: Mapping[str, LineName],
) -> list[str]:
    order, occurrences = tracked.order, tracked.occurrences
    own = customer_words(order.workflow)
    before: list[str] = []
    after = ""
    match situation:
        case Situation.RETRYING:
            sentence = own.retries.get(declared_name(retried_steps(order, occurrences)[0]), sentence)
        case Situation.WAITING:
            before = [say(_wait_words(order, own), order)]
        case Situation.FULFILLED if order.state == ProcessState.ERROR:
            before, sentence = [say(sentence, order)], words_for(Situation.STOPPED, order).sentence
        case Situation.FULFILLED if held := _kept_from(order):
            sentence = own.outages.get(declared_name(held[0]), sentence)
        case Situation.FULFILLED if tried := tried_steps(order, occurrences):
            sentence = own.retries.get(declared_name(tried[0]), sentence)
        case Situation.COMPLETE if any(step.state != StepStatus.COMPLETED for step in order.steps):
            sentence = own.complete_in_part
        case Situation.STOPPED:
            after = present_charge(order, locale=locale)
        case Situation.DECLINED:
            before, sentence = refusal_sentences(order, occurrences, sentence, names=names), None
            if charge_of(order) is not Charge.NOTHING:  # of which the words for the refusal tell
                after = present_charge(order, locale=locale)
        case Situation.CANCELLING | Situation.CANCEL_STUCK | Situation.REVERSED | Situation.CANCELLED:
            is_over = situation in (Situation.REVERSED, Situation.CANCELLED)
            before = cancellation_sentences(tracked, locale=locale, is_over=is_over)
            if situation is Situation.REVERSED and order.state == ProcessState.ERROR:
                sentence = words_for(Situation.CANCEL_STUCK, order).sentence
    return [words for words in (*before, say(sentence, order), after) if words]


def cancellation_sentences(tracked: TrackedOrder, *, locale: Locale, is_over: bool = False) -> list[str]:
    """Why an order is cancelled, and what becomes of its money, or has if that is returned or the cancellation
    `is_over`."""
    order, occurrences = tracked.order, tracked.occurrences
    sentences = [say(_reason(order, occurrences, customer_words(order.workflow)), order)]
    if charge := charge_words(order):
        words = charge.result if is_over or is_returned(order) else charge.promise
        sentences.append(say_amount(words, order, locale=locale))
    return sentences


def _kept_from(order: CustomerOrder) -> Sequence[str]:
    """The steps that an outage keeps from being done."""
    return [step.name for step in order.steps if is_held(step) and not _is_paused(step)]


def _is_paused(step: CustomerStep) -> bool:
    return step.waiting is not None and step.waiting.kind is WaitingFor.OPERATOR


def _wait_words(order: CustomerOrder, own: CustomerWords) -> Words:
    """What an order waits for. That somebody paused it matters more than all else."""
    step = next(iter(waiting_steps(order)), None)
    if step is None or order.pause:
        return PAUSED
    if is_held(step):
        return PAUSED if _is_paused(step) else own.outages.get(declared_name(step.name), GENERAL_OUTAGE)
    return own.waits.get(declared_name(step.name), GENERAL_WAITS[step.awaits or WaitKind.ANSWER])


def _reason(order: CustomerOrder, occurrences: Occurrences, own: CustomerWords) -> Words:
    """Says why the order is cancelled."""
    request = occurrences.get((EventKind.COMPENSATION_REQUESTED, ""))
    why = request.detail.get("why") if request else None
    if why == Reason.CUSTOMER_DID_NOT_RESOLVE and (unresolved := unresolved_reason(order)):
        return unresolved
    general = GENERAL_REASONS_AFTERWARDS if was_fulfilled(order) else GENERAL_REASONS
    reasons = {**general, **own.reasons}
    return next(
        (words for reason, words in reasons.items() if reason == why), reasons[Reason.OPERATOR_REQUESTED]
    )
