"""How far an order is, in words for its customer. Pure: the same order and the same `now` give the same words.

What is said is what is stored: an order on its second attempt is being retried, one that waits for its customer waits,
and one that is late is said to be late.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from orders.selectors.order_page import TrackedOrder
from orders.selectors.order_view import StepView
from orders.storefront.progress_stages import Stage, stages, undo_stages
from orders.vocabulary import Goal, ProcessState, StepStatus
from orders.wording import progress as words
from orders.wording.progress import Situation
from orders.workflow.customer_steps import PAYMENT, POINT_OF_NO_RETURN

ENDED = frozenset({Situation.COMPLETE, Situation.CANCELLED})
QUIET_WHEN_LATE = ENDED | {Situation.DECLINED, Situation.STOPPED, Situation.CANCEL_STUCK}


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What the page says of an order. `pay_until` is there while another means of payment is wanted."""

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
        """Whether the page names a way to reach a person."""
        return self.is_late or self.situation in (Situation.STOPPED, Situation.CANCEL_STUCK)


def progress(tracked: TrackedOrder, *, now: datetime, promised: float, amount: str, usual: str) -> Progress:
    """What is to be said. `promised` is in seconds; `amount` and `usual` are in words, `usual` empty if unknown."""
    situation = situation_of(tracked)
    declined = declined_step(tracked)
    is_late = situation not in QUIET_WHEN_LATE and now > _begun(tracked) + timedelta(seconds=promised)
    look = words.LOOKS[situation]
    undoing = tracked.order.goal == Goal.COMPENSATE
    return Progress(
        situation=situation,
        tone=look.tone,
        icon=look.icon,
        word=str(look.word),
        headline=str(look.headline),
        sentences=_sentences(tracked, situation, is_late=is_late, amount=amount, usual=usual),
        stages=undo_stages(tracked, amount) if undoing else stages(tracked, retried_steps(tracked)),
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


def declined_step(tracked: TrackedOrder) -> StepView | None:
    """The step that waits for the customer to mend what was declined."""
    for step in tracked.order.steps:
        if step.state == StepStatus.FAILED and step.error and step.error.get("waits_for") == "customer":
            return step
    return None


def retried_steps(tracked: TrackedOrder) -> Sequence[str]:
    """The unfinished steps that have been tried before: by another attempt, or by an earlier call of this one."""
    return [step.name for step in tracked.order.steps if _is_retried(tracked, step)]


def _is_retried(tracked: TrackedOrder, step: StepView) -> bool:
    # Attempts before the customer paid in another way are no longer anybody's worry.
    paid_again = tracked.noted.get(("paid_again", step.name))
    attempts = step.attempts - (paid_again.attempt if paid_again else 0)
    if step.state == StepStatus.NOT_STARTED:
        return attempts > 0
    if step.state != StepStatus.RUNNING:
        return False
    failed = tracked.noted.get(("call_failed", step.name))
    return attempts > 1 or (failed is not None and failed.attempt == step.attempts)


def may_cancel(tracked: TrackedOrder) -> bool:
    """Whether the money has not been asked for yet. The service decides again, with the order locked."""
    order = tracked.order
    if not order.steps or order.goal == Goal.COMPENSATE or order.state == ProcessState.PROCESSED:
        return False
    return not any(step.name == POINT_OF_NO_RETURN and step.attempts for step in order.steps)


def _begun(tracked: TrackedOrder) -> datetime:
    """When the customer's part was last done: the order was placed, or paid for in another way."""
    again = [noted.at for (kind, _step), noted in tracked.noted.items() if kind == "paid_again"]
    return max([tracked.order.placed_at, *again])


def _sentences(
    tracked: TrackedOrder, situation: Situation, *, is_late: bool, amount: str, usual: str
) -> list[str]:
    said: list[str] = []
    if situation == Situation.RETRYING:
        retried = retried_steps(tracked)
        said += [str(words.RETRIES.get(name, words.RETRY_OF_OTHERS)) for name in retried[:1]]
    elif situation in (Situation.CANCELLING, Situation.CANCELLED, Situation.CANCEL_STUCK):
        said += words.cancellation(tracked, amount=amount, is_over=situation == Situation.CANCELLED)
    elif situation == Situation.COMPLETE:
        is_whole = all(step.state == StepStatus.COMPLETED for step in tracked.order.steps)
        said.append(str(words.ALL_DONE if is_whole else words.DONE))
    if situation == Situation.DECLINED and ("paid_again", PAYMENT) in tracked.noted:
        said.append(str(words.DECLINED_AGAIN))
    elif text := words.SENTENCES.get(situation):
        said.append(str(text))
    if is_late:
        said.append(
            _(
                "This is taking longer than we promised, and we are sorry. Your order is safe and we keep at it."
            )
        )
    elif usual and situation in (Situation.RECEIVED, Situation.WORKING):
        said.append(_("Usually done in about {usual}.").format(usual=usual))
    return said
