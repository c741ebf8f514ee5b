"""What the customers of a kind of order see of it, and in which words. Pure.

A kind declares what differs from the general words, which are at the end of this file and in the defaults:

    customer_words = CustomerWords(
        stages=(StageWords(title="Wrapped", steps=("wrap",)),),
        situations={Situation.COMPLETE: SituationWords(headline="Your gift is wrapped.")},
    )

`orders.wording.customers` makes of that and of an order what its page and lists of orders say. Words may be lazy
translations.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from orders.business.refusals import RefusalWords
from orders.engine.errors import WorkflowError
from orders.vocabulary import Reason, WaitKind

Words: TypeAlias = str | Promise


class Situation(StrEnum):
    """Where an order is, as far as its customer is concerned."""

    RECEIVED = "received"
    WORKING = "working"
    WAITING = "waiting"
    """Nothing is under way: it waits for a decision, an event, a time, or an answer that comes later."""
    RETRYING = "retrying"
    CORRECTING = "correcting"
    """It was edited, and what may have been done as it was before is reversed, to be done anew."""
    DECLINED = "declined"
    """It waits for its customer to change something, such as how she pays."""
    STOPPED = "stopped"
    COMPLETE = "complete"
    CANCELLING = "cancelling"
    CANCEL_STUCK = "cancel_stuck"
    CANCELLED = "cancelled"


class Charge(StrEnum):
    """How far the charge of an order got before the order was cancelled."""

    NOTHING = "nothing"
    RESERVED = "reserved"
    UNCERTAIN = "uncertain"
    """It was tried, and it is not yet known whether the money was taken."""
    CHARGED = "charged"


@dataclass(frozen=True, kw_only=True)
class SituationWords:
    """What is said in one situation. What is None is said in the general words; an empty text says nothing.

    `status` is a word or two; a list of orders shows `in_list` in its place. `headline` and `sentence` are on the
    order's page. `icon` is one of `static/icons.svg`.
    """

    status: Words | None = None
    in_list: Words | None = None
    headline: Words | None = None
    sentence: Words | None = None
    icon: str | None = None


@dataclass(frozen=True, kw_only=True)
class StageWords:
    """A stage of an order on its way forward, and the steps that it stands for."""

    title: Words
    steps: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ChargeWords:
    """What is said of the money of an order that is cancelled: a stage, and a sentence until it is over and one from
    then on. `{amount}` stands for the order's value."""

    stage: Words
    promise: Words
    result: Words


PLACED: Words = _("We have your order")
CANCELLED: Words = _("Everything is cancelled")
TOO_LATE_TO_CANCEL: Words = _("It’s too late to cancel this order.")
DECLINED_AGAIN: Words = _("That was declined, too. Please try something else.")
DONE: Words = _("Everything is done.")


@dataclass(frozen=True, kw_only=True)
class CustomerWords:
    """What the customers of a kind of order see of it, and in which words.

    A step that no stage names is a stage by its own name, unless `shows_other_steps` is False. `retries` and `waits`
    are sentences for single steps, while they are tried again and while they wait.
    """

    stages: Sequence[StageWords] = ()
    shows_other_steps: bool = True
    situations: Mapping[Situation, SituationWords] = field(default_factory=dict)
    retries: Mapping[str, Words] = field(default_factory=dict)
    waits: Mapping[str, Words] = field(default_factory=dict)
    refusals: Mapping[str, RefusalWords] = field(default_factory=dict)
    """What is said while a step waits for its customer, by the code that its service gave; what is said of every other
    code of a step is under the step's name."""
    unanswered: Mapping[str, RefusalWords] = field(default_factory=dict)
    """What is said of steps that got no answer and that their customer may have tried again
    (`Step.customer_resubmits`)."""
    reasons: Mapping[Reason, Words] = field(default_factory=dict)
    """Why an order is cancelled."""
    charges: Mapping[Charge, ChargeWords] = field(default_factory=dict)
    """What becomes of the money, if a step of the kind takes the order's value."""
    placed: Words = PLACED
    """The first stage of every order."""
    cancelled: Words = CANCELLED
    """The last stage of an order that is cancelled."""
    cancel_until: Words = ""
    """Until when customers can cancel, in a sentence beside the button."""
    too_late_to_cancel: Words = TOO_LATE_TO_CANCEL
    declined_again: Words = DECLINED_AGAIN
    complete_in_part: Words = DONE
    """The sentence of a complete order of which a step was skipped."""

    def check(self, declared: Collection[str]) -> None:
        """Raises `WorkflowError` if a sentence is for a step that is not declared, or two stages stand for one."""
        staged = [name for stage in self.stages for name in stage.steps]
        if strangers := sorted({*staged, *self.retries, *self.waits, *self.unanswered} - {*declared}):
            raise WorkflowError(f"the customers' words name {strangers}, which are no steps of it")
        if repeated := sorted({name for name in staged if staged.count(name) > 1}):
            raise WorkflowError(f"{repeated} belong to more than one stage for customers")


GENERAL_SITUATIONS: Mapping[Situation, SituationWords] = {
    Situation.RECEIVED: SituationWords(
        status=_("Received"),
        headline=_("Thank you. We have your order."),
        sentence=_("It’s safe with us, and we’ll start on it in a moment. You can close this page."),
        icon="clock",
    ),
    Situation.WORKING: SituationWords(
        status=_("In progress"),
        headline=_("Thank you. We’re working on it."),
        sentence=_(
            "There’s nothing you need to do. You can close this page and come back to it at any time."
        ),
        icon="running",
    ),
    Situation.WAITING: SituationWords(
        status=_("Waiting"),
        headline=_("Your order is waiting."),
        sentence=_("You can close this page and come back to it at any time."),
        icon="pause",
    ),
    Situation.RETRYING: SituationWords(
        status=_("Trying again"),
        in_list=_("Taking longer than usual"),
        headline=_("This is taking longer than usual."),
        sentence=_(
            "One step didn’t work the first time, so we’re trying it again. There’s nothing you need to do."
        ),
        icon="retry",
    ),
    Situation.CORRECTING: SituationWords(
        status=_("Being corrected"),
        headline=_("We’re correcting your order."),
        sentence=_(
            "Something in it was changed, so we’re taking back what was done before and doing it anew. There’s nothing "
            "you need to do."
        ),
        icon="retry",
    ),
    Situation.DECLINED: SituationWords(
        status=_("Waiting for you"),
        headline=_("We need something from you."),
        sentence=_("Part of your order was declined. We can go on once you’ve changed what it needs."),
        icon="person",
    ),
    Situation.STOPPED: SituationWords(
        status=_("We’re looking into it"),
        headline=_("We’re looking into a problem with your order."),
        sentence=_("We’ve alerted our team, and they’ll let you know. There’s nothing you need to do."),
        icon="warning",
    ),
    Situation.COMPLETE: SituationWords(
        status=_("Complete"),
        headline=_("Your order is complete."),
        sentence=DONE,
        icon="done",
    ),
    Situation.CANCELLING: SituationWords(
        status=_("Being cancelled"),
        headline=_("We’re cancelling your order."),
        sentence=_("There’s nothing you need to do."),
        icon="undo",
    ),
    Situation.CANCEL_STUCK: SituationWords(
        status=_("We’re looking into it"),
        headline=_("We’re finishing your cancellation by hand."),
        sentence=_("Someone on our team is taking care of the rest and will let you know."),
        icon="warning",
    ),
    Situation.CANCELLED: SituationWords(
        status=_("Cancelled"), headline=_("Your order was cancelled."), sentence="", icon="undo"
    ),
}

GENERAL_WAITS: Mapping[WaitKind, Words] = {
    WaitKind.DECISION: _("Someone is looking at it, and we’ll go on once they’ve decided."),
    WaitKind.EVENT: _("We’ll go on once we hear that what it waits for has happened."),
    WaitKind.DELAY: _("This takes its time, and we’ll go on once that’s over."),
    WaitKind.ANSWER: _("We’ve asked for what it needs, and we’ll go on once we have the answer."),
}

GENERAL_REASONS: Mapping[Reason, Words] = {
    Reason.CUSTOMER_CANCELLED: _("You cancelled it."),
    Reason.CUSTOMER_DID_NOT_RESOLVE: _("We needed something from you, and didn’t get it in time."),
    Reason.DECIDED: _("We decided not to go on with it."),
    Reason.STEP_REMEDY: _("We couldn’t fulfil it, and we’re sorry."),
    Reason.OPERATOR_REQUESTED: _("We couldn’t fulfil it, and we’re sorry."),
}

GENERAL_CHARGES: Mapping[Charge, ChargeWords] = {
    Charge.CHARGED: ChargeWords(
        stage=_("{amount} refunded"),
        promise=_("We’ll refund {amount}."),
        result=_("We’ve refunded {amount}. Your bank may take a few days to show it."),
    ),
    Charge.UNCERTAIN: ChargeWords(
        stage=_("{amount} refunded if it was taken"),
        promise=_("If {amount} was taken, we’ll refund all of it."),
        result=_(
            "If {amount} was taken, we’ve refunded all of it. Your bank may take a few days to show it."
        ),
    ),
    Charge.RESERVED: ChargeWords(
        stage=_("{amount} released, nothing charged"),
        promise=_("Nothing was charged, and the {amount} that we reserved will be released."),
        result=_("Nothing was charged, and the {amount} that we reserved has been released."),
    ),
    Charge.NOTHING: ChargeWords(
        stage=_("Nothing charged"), promise=_("Nothing was charged."), result=_("Nothing was charged.")
    ),
}
