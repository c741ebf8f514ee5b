"""What the shop's customers see of their orders: posters, cards and parcels."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from orders.business import Charge, ChargeWords, CustomerWords, Situation, SituationWords, StageWords
from orders.shop.fulfilment import PAYMENT, POINT_OF_NO_RETURN, RESERVATION, SHIPMENT
from orders.shop.refusal_words import REFUSALS, UNANSWERED

RETRY_OF_PAYMENT = _(
    "The payment service isn’t answering, so we’re asking again. You won’t be charged twice, and there’s nothing you"
    " need to do."
)
OUTAGE_OF_PAYMENT = _(
    "The payment service can’t take your order at the moment. We’ll go on as soon as it can. You won’t be charged"
    " twice, and there’s nothing you need to do."
)
WAITS_FOR_PAYMENT = _("waiting for the payment service")
CORRECTIONS = {
    "payment_method": SituationWords(
        headline=_("We’re switching to the card that you chose."),
        sentence=_(
            "First we’re releasing whatever was reserved on the card you used last, and then we’ll go on with the new"
            " one. You won’t be charged twice, and there’s nothing you need to do."
        ),
    ),
    "ship_to": SituationWords(
        headline=_("We’re changing where your order goes."),
        sentence=_(
            "The total isn’t the same as before, so first we’re releasing what was reserved on your card. Then we’ll go"
            " on with the new address. You won’t be charged twice, and there’s nothing you need to do."
        ),
    ),
    "lines": SituationWords(
        headline=_("We’re changing what you ordered."),
        sentence=_(
            "The total isn’t the same as before, so first we’re releasing what was reserved on your card. Then we’ll go"
            " on with what you ordered now. You won’t be charged twice, and there’s nothing you need to do."
        ),
    ),
}
"""What is said while what a customer has changed is corrected, by the field."""

STOCK = StageWords(
    title=_("Stock reserved"),
    ahead=_("Reserving stock"),
    steps=(RESERVATION,),
    waiting=_("waiting for our warehouse"),
    after_reversal=_("Stock released"),
    until_reversal=_("Releasing the stock"),
    after_reversal_perhaps=_("No stock is reserved"),
    until_reversal_perhaps=_("Making sure that no stock is reserved"),
)
APPROVAL = StageWords(
    title=_("Payment approved"),
    ahead=_("Approving payment"),
    steps=(PAYMENT,),
    waiting=WAITS_FOR_PAYMENT,
)

CUSTOMER_WORDS = CustomerWords(
    stages=(
        StageWords(
            title=_("Stock reserved and payment approved"),
            ahead=_("Reserving stock and approving payment"),
            steps=(RESERVATION, PAYMENT),
            after_reversal=STOCK.after_reversal,
            until_reversal=STOCK.until_reversal,
            after_reversal_perhaps=STOCK.after_reversal_perhaps,
            until_reversal_perhaps=STOCK.until_reversal_perhaps,
            parts=(STOCK, APPROVAL),
        ),
        StageWords(
            title=_("Handed to the carrier"),
            ahead=_("Handing to the carrier"),
            steps=(SHIPMENT,),
            waiting=_("waiting for the carrier"),
            after_reversal=_("Shipment cancelled"),
            until_reversal=_("Cancelling the shipment"),
            after_reversal_perhaps=_("Nothing will be sent"),
            until_reversal_perhaps=_("Making sure that nothing is sent"),
        ),
        StageWords(
            title=_("Paid"), ahead=_("Payment"), steps=(POINT_OF_NO_RETURN,), waiting=WAITS_FOR_PAYMENT
        ),
        StageWords(
            title=_("Confirmed by email"),
            ahead=_("Confirmation by email"),
            steps=("send-confirmation",),
            waiting=_("waiting for our mail server"),
        ),
    ),
    afterwards=("send-confirmation",),
    claims=(SHIPMENT, POINT_OF_NO_RETURN),
    situations={
        Situation.STOPPED: SituationWords(
            sentence=_(
                "We’ve alerted our team, and they’ll let you know. You won’t be charged twice, and there’s nothing"
                " you need to do."
            )
        ),
        Situation.FULFILLED: SituationWords(
            status=_("Sent"),
            headline=ngettext_lazy(
                "Your poster is paid for and on its way.",
                "Your posters are paid for and on their way.",
                "pieces",
            ),
            sentence=_("Only our confirmation email is still to come."),
        ),
        Situation.COMPLETE: SituationWords(
            status=_("Sent"),
            headline=ngettext_lazy("Your poster is on its way.", "Your posters are on their way.", "pieces"),
            sentence=_("It’s paid for and with the carrier. We’ve emailed you a confirmation."),
        ),
        Situation.CANCELLING: SituationWords(
            sentence=_("We’re reversing what was done so far. There’s nothing you need to do.")
        ),
        Situation.REVERSED: SituationWords(sentence=_("Only our email about it is still to come.")),
    },
    retries={
        RESERVATION: _(
            "Our warehouse isn’t answering, so we’re asking again. There’s nothing you need to do."
        ),
        PAYMENT: RETRY_OF_PAYMENT,
        SHIPMENT: _("The carrier isn’t answering, so we’re asking again. There’s nothing you need to do."),
        POINT_OF_NO_RETURN: RETRY_OF_PAYMENT,
        "send-confirmation": _("We’re having trouble sending our confirmation email, so we’re trying again."),
    },
    outages={
        RESERVATION: _(
            "Our warehouse can’t take your order at the moment. We’ll go on as soon as it can. There’s nothing you"
            " need to do."
        ),
        PAYMENT: OUTAGE_OF_PAYMENT,
        SHIPMENT: _(
            "The carrier can’t take your parcel at the moment. We’ll go on as soon as it can. There’s nothing you"
            " need to do."
        ),
        POINT_OF_NO_RETURN: OUTAGE_OF_PAYMENT,
        "send-confirmation": _(
            "Our confirmation email can’t be sent at the moment. We’ll send it as soon as that’s possible."
        ),
    },
    corrections=CORRECTIONS,
    refusals=REFUSALS,
    unanswered=UNANSWERED,
    charges={
        Charge.NOTHING: ChargeWords(
            stage=_("No money charged or reserved"),
            promise=_("No money was charged or reserved."),
            result=_("No money was charged or reserved."),
            meanwhile=_("No money was charged or reserved."),
        ),
        Charge.RESERVED_PERHAPS: ChargeWords(
            stage=_("Nothing charged or left reserved"),
            ahead=_("Release of {amount}, if it was reserved"),
            promise=_("Nothing was charged. If {amount} was reserved on your card, it will be released."),
            result=_("Nothing was charged. If {amount} was reserved on your card, it has been released."),
            meanwhile=_(
                "{amount} may be reserved on your card. If the order is cancelled, it will be released."
            ),
        ),
        Charge.RESERVED: ChargeWords(
            stage=_("{amount} released, nothing charged"),
            ahead=_("Release of {amount}"),
            promise=_("Nothing was charged, and the {amount} reserved on your card will be released."),
            result=_("Nothing was charged, and the {amount} reserved on your card has been released."),
            meanwhile=_("{amount} is reserved on your card, and will be released if the order is cancelled."),
        ),
    },
    cancel_until=_("We take the payment once the carrier has your parcel; until then you can cancel."),
    too_late_to_cancel=_("It was too late to cancel: we’d already begun to take the payment."),
    cancelling=_("Cancelling everything and confirming it by email"),
    telling=_("Confirming the cancellation by email"),
    cancelled=_("Everything cancelled and confirmed by email"),
)
