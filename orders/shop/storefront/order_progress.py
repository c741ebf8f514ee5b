"""How far an order is, in words for its customer. Pure: the same order and the same `now` give the same words.

The words follow from what is stored: an order on its second attempt is being retried, an order that waits for its
customer says so, and a late order is called late.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.functional import Promise

from orders.selectors.customer_order import CustomerStep
from orders.selectors.tracked_orders import TrackedOrder
from orders.shop import order_tracker
from orders.shop.fulfilment import PAYMENT, POINT_OF_NO_RETURN
from orders.shop.order_tracker import Situation
from orders.shop.storefront.order_stages import Stage, cancellation_stages, forward_stages
from orders.vocabulary import EventKind, Goal, ProcessState, StepStatus

ENDED = frozenset({Situation.COMPLETE, Situation.CANCELLED})
QUIET_WHEN_LATE = ENDED | {Situation.DECLINED, Situation.STOPPED, Situation.CANCEL_STUCK}


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What the page says about an order. `pay_until` is set while the order waits for another payment."""

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
    pay_until: datetime | None

    @property
    def offers_help(self) -> bool:
        """Whether the page says how to reach a person."""
        return self.is_late or self.situation in (Situation.STOPPED, Situation.CANCEL_STUCK)


def progress(tracked: TrackedOrder, *, now: datetime, promised: float, amount: str, usual: str) -> Progress:
    """What to say about an order. `promised` is in seconds, `amount` and `usual` are in words; `usual` may be empty."""
    situation = situation_of(tracked)
    declined = declined_step(tracked)
    is_late = situation not in QUIET_WHEN_LATE and now > _begun(tracked) + timedelta(seconds=promised)
    look = order_tracker.LOOKS[situation]
    is_cancelled = tracked.order.goal == Goal.COMPENSATE
    retried = retried_steps(tracked)
    return Progress(
        situation=situation,
        tone=look.tone,
        icon=look.icon,
        word=str(look.word),
        headline=str(look.headline),
        sentences=_sentences(tracked, situation, is_late=is_late, amount=amount, usual=usual),
        stages=cancellation_stages(tracked, amount) if is_cancelled else forward_stages(tracked, retried),
        is_late=is_late,
        has_ended=situation in ENDED,
        may_cancel=may_cancel(tracked),
        pay_until=declined.not_before if declined and situation == Situation.DECLINED else None,
    )


def situation_of(tracked: TrackedOrder) -> Situation:
    """Where the order is."""
    order = tracked.order
    in_error = order.state == ProcessState.ERROR
    if order.goal == Goal.COMPENSATE:
        if order.state == ProcessState.COMPENSATED:
            return Situation.CANCELLED
        return Situation.CANCEL_STUCK if in_error else Situation.CANCELLING
    if in_error:
        return Situation.STOPPED
    if order.state == ProcessState.PROCESSED:
        return Situation.COMPLETE
    if declined_step(tracked):
        return Situation.DECLINED
    if retried_steps(tracked):
        return Situation.RETRYING
    return Situation.WORKING if order.steps else Situation.RECEIVED


def declined_step(tracked: TrackedOrder) -> CustomerStep | None:
    """The step whose payment was declined and that waits for the customer to pay another way."""
    for step in tracked.order.steps:
        if step.state == StepStatus.FAILED and step.error and step.error.get("waits_for") == "customer":
            return step
    return None


def retried_steps(tracked: TrackedOrder) -> Sequence[str]:
    """The unfinished steps that have been tried before, in an earlier attempt or an earlier call of this attempt."""
    return [step.name for step in tracked.order.steps if _is_retried(tracked, step)]


def _is_retried(tracked: TrackedOrder, step: CustomerStep) -> bool:
    # Attempts before the customer paid another way no longer count.
    paid_again = tracked.occurrences.get((EventKind.PAID_AGAIN, step.name))
    attempts = step.attempts - (paid_again.attempt if paid_again else 0)
    if step.state == StepStatus.NOT_STARTED:
        return attempts > 0
    if step.state != StepStatus.RUNNING:
        return False
    failed = tracked.occurrences.get((EventKind.CALL_FAILED, step.name))
    return attempts > 1 or (failed is not None and failed.attempt == step.attempts)


def may_cancel(tracked: TrackedOrder) -> bool:
    """Whether the payment has not been sent yet. The service checks again, with the order locked."""
    order = tracked.order
    if not order.steps or order.goal == Goal.COMPENSATE or order.state == ProcessState.PROCESSED:
        return False
    return not any(step.name == POINT_OF_NO_RETURN and step.attempts for step in order.steps)


def _begun(tracked: TrackedOrder) -> datetime:
    """When the customer last did their part: placed the order, or paid another way."""
    payments = [
        occurrence.at
        for (kind, _step), occurrence in tracked.occurrences.items()
        if kind == EventKind.PAID_AGAIN
    ]
    return max([tracked.order.placed_at, *payments])


def _sentences(
    tracked: TrackedOrder, situation: Situation, *, is_late: bool, amount: str, usual: str
) -> list[str]:
    sentences: list[str | Promise] = []
    if situation == Situation.RETRYING:
        sentences += [
            order_tracker.RETRIES.get(name, order_tracker.RETRY_OF_OTHERS)
            for name in retried_steps(tracked)[:1]
        ]
    elif situation in (Situation.CANCELLING, Situation.CANCELLED, Situation.CANCEL_STUCK):
        is_over = situation == Situation.CANCELLED
        sentences += order_tracker.cancellation(tracked, amount=amount, is_over=is_over)
    elif situation == Situation.COMPLETE:
        is_whole = all(step.state == StepStatus.COMPLETED for step in tracked.order.steps)
        sentences.append(order_tracker.ALL_DONE if is_whole else order_tracker.DONE)
    if situation == Situation.DECLINED and (EventKind.PAID_AGAIN, PAYMENT) in tracked.occurrences:
        sentences.append(order_tracker.DECLINED_AGAIN)
    elif text := order_tracker.SENTENCES.get(situation):
        sentences.append(text)
    if is_late:
        sentences.append(order_tracker.LATE)
    elif usual and situation in (Situation.RECEIVED, Situation.WORKING):
        sentences.append(str(order_tracker.USUAL).format(usual=usual))
    return [str(sentence) for sentence in sentences]
