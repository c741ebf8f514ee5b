"""How far an order is, in words for its customer.

The words follow from what is stored: an order on its second attempt is being retried, an order that waits for its
customer says so, and a late order is called late.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from babel import Locale
from django.utils.translation import gettext_lazy

from orders.business.editing import customer_words
from orders.business.words import (
    GENERAL_REASONS,
    GENERAL_WAITS,
    CustomerWords,
    Situation,
    Words,
)
from orders.engine.branches import declared_name
from orders.selectors.customer_order import CustomerOrder
from orders.selectors.tracked_orders import Occurrences, TrackedOrder
from orders.vocabulary import EventKind, Goal, Reason, StepStatus, WaitKind
from orders.wording.customers.charges import charge_words
from orders.wording.customers.refusals import refusal_sentences, unresolved_reason, with_refusal
from orders.wording.customers.situations import (
    TONES,
    declined_step,
    may_cancel,
    retried_steps,
    situation_of,
    waiting_steps,
    words_for,
)
from orders.wording.customers.stages import Stage, cancellation_stages, forward_stages
from orders.wording.units import money, spoken_duration

ENDED = frozenset({Situation.COMPLETE, Situation.CANCELLED})
QUIET_WHEN_LATE = ENDED | {Situation.DECLINED, Situation.STOPPED, Situation.CANCEL_STUCK}
LATE: Words = gettext_lazy(
    "This is taking longer than we promised, and we’re sorry. Your order is safe and we’re still working on it."
)
USUAL: Words = gettext_lazy("This usually takes about {usual}.")


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What a page says about an order. `declined_until` is until when the customer may change something, such as how
    she pays; None while nothing waits for her."""

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

    @property
    def offers_help(self) -> bool:
        """Whether the page says how to reach a person."""
        return self.is_late or self.situation in (Situation.STOPPED, Situation.CANCEL_STUCK)


def progress(tracked: TrackedOrder, *, now: datetime, locale: Locale, usual: float | None) -> Progress:
    """What to say about an order. `usual` is how many seconds such an order usually takes, if that is known."""
    order, occurrences = tracked.order, tracked.occurrences
    situation = situation_of(order, occurrences)
    words = with_refusal(words_for(situation, customer_words(order.workflow)), order, situation)
    amount = money(order.total, locale=locale) if order.total else ""
    sentences = _sentences(tracked, situation, amount)
    is_late = situation not in QUIET_WHEN_LATE and _is_late(tracked, now)
    if is_late:
        sentences.append(LATE)
    elif usual and situation in (Situation.RECEIVED, Situation.WORKING):
        sentences.append(str(USUAL).format(usual=spoken_duration(usual, locale=locale)))
    declined = declined_step(order) if situation is Situation.DECLINED else None
    return Progress(
        situation=situation,
        tone=TONES[situation],
        icon=words.icon or "",
        word=str(words.status),
        headline=str(words.headline),
        sentences=[str(sentence) for sentence in sentences],
        stages=cancellation_stages(order, occurrences, amount=amount)
        if order.goal == Goal.COMPENSATE
        else forward_stages(order, occurrences),
        is_late=is_late,
        has_ended=situation in ENDED,
        may_cancel=may_cancel(order),
        declined_until=declined.not_before if declined else None,
    )


def _is_late(tracked: TrackedOrder, now: datetime) -> bool:
    """Whether the promise has passed. Its time begins anew when the customer changes something."""
    order = tracked.order
    occurrences = tracked.occurrences.items()
    changes = [
        event.at for (kind, _), event in occurrences if kind in (EventKind.PAID_AGAIN, EventKind.CORRECTED)
    ]
    begun = max([order.placed_at, *changes])
    return order.promised_by is not None and now > begun + (order.promised_by - order.placed_at)


def _sentences(tracked: TrackedOrder, situation: Situation, amount: str) -> list[Words]:
    order, occurrences = tracked.order, tracked.occurrences
    own = customer_words(order.workflow)
    sentence = with_refusal(words_for(situation, own), order, situation).sentence or ""
    sentences: list[Words] = []
    match situation:
        case Situation.RETRYING:
            step = retried_steps(order, occurrences)[0]
            sentence = own.retries.get(declared_name(step), sentence)
        case Situation.WAITING:
            waiting = waiting_steps(order)[0]
            general = GENERAL_WAITS[waiting.awaits or WaitKind.ANSWER]
            sentences = [own.waits.get(declared_name(waiting.name), general)]
        case Situation.COMPLETE if any(step.state != StepStatus.COMPLETED for step in order.steps):
            sentence = own.complete_in_part
        case Situation.DECLINED:
            return refusal_sentences(order, occurrences, sentence)
        case Situation.CANCELLING | Situation.CANCEL_STUCK | Situation.CANCELLED:
            sentences = [_reason(order, occurrences, own)]
            if charge := charge_words(order):
                money_words = charge.result if situation is Situation.CANCELLED else charge.promise
                sentences.append(str(money_words).format(amount=amount))
    return [*sentences, sentence] if sentence else sentences


def _reason(order: CustomerOrder, occurrences: Occurrences, own: CustomerWords) -> Words:
    """Says why the order is cancelled."""
    request = occurrences.get((EventKind.COMPENSATION_REQUESTED, ""))
    why = request.detail.get("why") if request else None
    if why == Reason.CUSTOMER_DID_NOT_RESOLVE and (unresolved := unresolved_reason(order)):
        return unresolved
    reasons = {**GENERAL_REASONS, **own.reasons}
    return next(
        (words for reason, words in reasons.items() if reason == why), reasons[Reason.OPERATOR_REQUESTED]
    )
