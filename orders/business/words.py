"""What the customers of a kind of order see of it, and in which words. Pure.

A kind declares what differs from the general words, which are at the end of this file and in the defaults:

    customer_words = CustomerWords(
        stages=(StageWords(title="Wrapped", steps=("wrap",)),),
        situations={Situation.COMPLETE: SituationWords(headline="Your gift is wrapped.")},
    )

`orders.wording.customers` makes of that and of an order what its page and lists of orders say. Words may be lazy
translations. In any of them `{pieces}` stands for how many things an order is of, and a plural form may depend on it:

    ngettext_lazy("Your gift is wrapped.", "Your {pieces} gifts are wrapped.", "pieces")

A brace that stands for itself is doubled.
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
    FULFILLED = "fulfilled"
    """All that was ordered is done; only what comes afterwards, such as an email about it, is not."""
    COMPLETE = "complete"
    CANCELLING = "cancelling"
    CANCEL_STUCK = "cancel_stuck"
    REVERSED = "reversed"
    """It was cancelled, and all of it is reversed; only the notice that says so, such as an email, is still to come."""
    CANCELLED = "cancelled"


class Charge(StrEnum):
    """How far the charge of an order got before the order was cancelled."""

    NOTHING = "nothing"
    RESERVED_PERHAPS = "reserved_perhaps"
    """It was to be reserved, and it is not yet known whether it was."""
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
    """A stage of an order on its way forward, and the steps that it stands for.

    `title` says that they are done, and `ahead` what they are until then: "Paid" and "Payment". `waiting` is said
    of the stage while what does it cannot be used. `after_reversal` says that what they did is reversed, and
    `until_reversal` what is said until it is; without them, `ahead` names it, or else `title`: "Payment: reversed".
    `after_reversal_perhaps` and `until_reversal_perhaps` are said instead where nobody knows whether anything was done:
    "Nothing will be sent". A stage of several steps is shown as its `parts` while these do not stand alike.
    """

    title: Words
    steps: tuple[str, ...]
    ahead: Words | None = None
    waiting: Words | None = None
    after_reversal: Words | None = None
    until_reversal: Words | None = None
    after_reversal_perhaps: Words | None = None
    until_reversal_perhaps: Words | None = None
    parts: tuple["StageWords", ...] = ()


@dataclass(frozen=True, kw_only=True)
class ChargeWords:
    """What is said of the money of an order that is cancelled: a stage, and a sentence until it is over and one from
    then on. `{amount}` stands for the order's value. `ahead` is the stage until then.

    `meanwhile` says where the money is while an order that is not cancelled is held up or waits for its customer; if it
    is None, general words say it.
    """

    stage: Words
    promise: Words
    result: Words
    ahead: Words | None = None
    meanwhile: Words | None = None


PLACED: Words = _("We have your order")
CANCELLING: Words = _("Cancelling everything")
CANCELLED: Words = _("Everything is cancelled")
TELLING: Words = _("Confirming the cancellation")
TOO_LATE_TO_CANCEL: Words = _("It’s too late to cancel this order.")
DECLINED_AGAIN: Words = _("That was declined, too. Please try something else.")
DONE: Words = _("Everything is done.")


@dataclass(frozen=True, kw_only=True)
class CustomerWords:
    """What the customers of a kind of order see of it, and in which words.

    A step that no stage names is a stage by its own name, unless `shows_other_steps` is False. `retries`, `waits` and
    `outages` are sentences for single steps: while they are tried again, while they wait for something from outside,
    and while what does them cannot be used.
    """

    stages: Sequence[StageWords] = ()
    shows_other_steps: bool = True
    situations: Mapping[Situation, SituationWords] = field(default_factory=dict)
    retries: Mapping[str, Words] = field(default_factory=dict)
    waits: Mapping[str, Words] = field(default_factory=dict)
    outages: Mapping[str, Words] = field(default_factory=dict)
    afterwards: tuple[str, ...] = ()
    """The steps that come when all that was ordered is done, such as an email about it."""
    claims: tuple[str, ...] = ()
    """The steps that were done if an order is fulfilled or complete, by these words. Of an order of which one of them
    was skipped, general words are used."""
    refusals: Mapping[str, RefusalWords] = field(default_factory=dict)
    """What is said while a step waits for its customer, by the code that its service gave; what is said of every other
    code of a step is under the step's name."""
    unanswered: Mapping[str, RefusalWords] = field(default_factory=dict)
    """What is said of steps that got no answer and that their customer may have tried again
    (`Step.customer_resubmits`)."""
    corrections: Mapping[str, SituationWords] = field(default_factory=dict)
    """What is said while the order is corrected, by the field of the order that its customer has changed."""
    reasons: Mapping[Reason, Words] = field(default_factory=dict)
    """Why an order is cancelled."""
    charges: Mapping[Charge, ChargeWords] = field(default_factory=dict)
    """What becomes of the money, if a step of the kind takes the order's value."""
    placed: Words = PLACED
    """The first stage of every order."""
    cancelling: Words = CANCELLING
    """The last stage of an order that is being cancelled."""
    telling: Words = TELLING
    """The last stage of an order of which all is reversed, while its customer is still to be told so."""
    cancelled: Words = CANCELLED
    """The last stage of an order that is cancelled. If what comes afterwards was to tell of it and did not, general
    words are used."""
    cancel_until: Words = ""
    """Until when customers can cancel, in a sentence beside the button."""
    too_late_to_cancel: Words = TOO_LATE_TO_CANCEL
    declined_again: Words = DECLINED_AGAIN
    complete_in_part: Words = DONE
    """The sentence of a complete order of which a step was skipped."""

    def check(self, declared: Collection[str]) -> None:
        """Raises `WorkflowError` if a sentence is for a step that is not declared, or two stages stand for one, or the
        parts of a stage do not stand for its steps."""
        staged = [name for stage in self.stages for name in stage.steps]
        named = {
            *staged,
            *self.retries,
            *self.waits,
            *self.outages,
            *self.afterwards,
            *self.claims,
            *self.unanswered,
        }
        if strangers := sorted(named - {*declared}):
            raise WorkflowError(f"the customers' words name {strangers}, which are no steps of it")
        if repeated := sorted({name for name in staged if staged.count(name) > 1}):
            raise WorkflowError(f"{repeated} belong to more than one stage for customers")
        for stage in self.stages:
            if stage.parts and sorted(name for part in stage.parts for name in part.steps) != sorted(
                stage.steps
            ):
                raise WorkflowError(f"the parts of {stage.title!s} do not stand for each of its steps once")


GENERAL_SITUATIONS: Mapping[Situation, SituationWords] = {
    Situation.RECEIVED: SituationWords(
        status=_("Received"),
        headline=_("Thank you. We have your order."),
        sentence=_("It’s safe with us, and we’ll start on it as soon as we can. You can close this page."),
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
        headline=_("We’re trying one step again."),
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
    Situation.FULFILLED: SituationWords(
        status=_("Almost done"),
        headline=_("What you ordered is done."),
        sentence=_("We’re finishing the last details. There’s nothing you need to do."),
        icon="done",
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
    Situation.REVERSED: SituationWords(
        status=_("Cancelled"),
        headline=_("Your order was cancelled."),
        sentence=_("We’re finishing the last details. There’s nothing you need to do."),
        icon="undo",
    ),
    Situation.CANCELLED: SituationWords(
        status=_("Cancelled"), headline=_("Your order was cancelled."), sentence="", icon="undo"
    ),
}

GENERAL_WAITS: Mapping[WaitKind, Words] = {
    WaitKind.DECISION: _("Someone is looking at it, and we’ll go on once they’ve decided."),
    WaitKind.EVENT: _("We’re waiting for news from outside, and we’ll go on once it arrives."),
    WaitKind.DELAY: _("This takes its time, and we’ll go on once that’s over."),
    WaitKind.ANSWER: _("We’ve asked for what it needs, and we’ll go on once we have the answer."),
}

GENERAL_OUTAGE: Words = _(
    "What we need for the next step isn’t available at the moment. We’ll go on as soon as it is. There’s nothing you "
    "need to do."
)
PAUSED: Words = _("We’ve paused it for a while, and we’ll go on as soon as we can.")

GENERAL_REASONS: Mapping[Reason, Words] = {
    Reason.CUSTOMER_CANCELLED: _("You cancelled it."),
    Reason.CUSTOMER_DID_NOT_RESOLVE: _("We needed something from you, and didn’t get it in time."),
    Reason.DECIDED: _("We decided not to go on with it."),
    Reason.STEP_REMEDY: _("We couldn’t fulfil it, and we’re sorry."),
    Reason.OPERATOR_REQUESTED: _("We couldn’t fulfil it, and we’re sorry."),
}
GENERAL_REASONS_AFTERWARDS: Mapping[Reason, Words] = {
    **GENERAL_REASONS,
    **dict.fromkeys((Reason.STEP_REMEDY, Reason.OPERATOR_REQUESTED), _("We cancelled it.")),
}
"""The same of an order that had been fulfilled before it was cancelled."""

GENERAL_CHARGES: Mapping[Charge, ChargeWords] = {
    Charge.CHARGED: ChargeWords(
        stage=_("{amount} refunded"),
        ahead=_("Refund of {amount}"),
        promise=_("We’ll refund {amount}."),
        result=_("We’ve refunded {amount}. Your bank may take up to 10 days to show it."),
        meanwhile=_("{amount} has been charged. If the order is cancelled, we’ll refund it."),
    ),
    Charge.UNCERTAIN: ChargeWords(
        stage=_("{amount} refunded if it was taken"),
        ahead=_("Refund of {amount}, if it was taken"),
        promise=_("We don’t know yet whether {amount} was taken. If it was, we’ll refund all of it."),
        result=_(
            "If {amount} was taken, we’ve refunded all of it. Your bank may take up to 10 days to show it."
        ),
        meanwhile=_("We don’t know yet whether {amount} was taken."),
    ),
    Charge.RESERVED: ChargeWords(
        stage=_("{amount} released, nothing charged"),
        ahead=_("Release of {amount}"),
        promise=_("Nothing was charged, and the {amount} that we reserved will be released."),
        result=_("Nothing was charged, and the {amount} that we reserved has been released."),
        meanwhile=_("{amount} is reserved, and will be released if the order is cancelled."),
    ),
    Charge.RESERVED_PERHAPS: ChargeWords(
        stage=_("Nothing charged or left reserved"),
        ahead=_("Release of {amount}, if it was reserved"),
        promise=_("Nothing was charged. If {amount} was reserved, it will be released."),
        result=_("Nothing was charged. If {amount} was reserved, it has been released."),
        meanwhile=_("{amount} may be reserved. If the order is cancelled, it will be released."),
    ),
    Charge.NOTHING: ChargeWords(
        stage=_("Nothing charged"),
        promise=_("Nothing was charged."),
        result=_("Nothing was charged."),
        meanwhile=_("Nothing was charged."),
    ),
}
