"""What the shop's customers see of their orders: posters, cards and parcels."""

from django.utils.translation import gettext_lazy as _

from orders.business import Charge, ChargeWords, CustomerWords, Situation, SituationWords, StageWords
from orders.shop.fulfilment import PAYMENT, POINT_OF_NO_RETURN
from orders.shop.refusal_words import REFUSALS, UNANSWERED

RETRY_OF_PAYMENT = _(
    "We’re retrying the payment. You won’t be charged twice, and there’s nothing you need to do."
)

CUSTOMER_WORDS = CustomerWords(
    stages=(
        StageWords(title=_("Stock reserved and payment approved"), steps=("reserve-stock", PAYMENT)),
        StageWords(title=_("Handed to the carrier"), steps=("create-shipment",)),
        StageWords(title=_("Paid"), steps=(POINT_OF_NO_RETURN,)),
        StageWords(title=_("Confirmed by email"), steps=("send-confirmation",)),
    ),
    situations={
        Situation.STOPPED: SituationWords(
            sentence=_(
                "We’ve alerted our team, and they’ll let you know. You won’t be charged twice, and there’s nothing"
                " you need to do."
            )
        ),
        Situation.COMPLETE: SituationWords(
            in_list=_("Printed and sent"),
            headline=_("Your posters are on their way."),
            sentence=_("It’s paid for and with the carrier. We’ve emailed you a confirmation."),
        ),
        Situation.CANCELLING: SituationWords(
            sentence=_(
                "We’re waiting for the warehouse, the payment service and the carrier to confirm it."
                " There’s nothing you need to do."
            )
        ),
    },
    retries={
        "reserve-stock": _(
            "Our warehouse is slow to answer, so we’re asking again. There’s nothing you need to do."
        ),
        PAYMENT: RETRY_OF_PAYMENT,
        "create-shipment": _(
            "The carrier is slow to answer, so we’re asking again. There’s nothing you need to do."
        ),
        POINT_OF_NO_RETURN: RETRY_OF_PAYMENT,
        "send-confirmation": _(
            "Everything is done except the confirmation email, which we’re sending again."
            " There’s nothing you need to do."
        ),
    },
    refusals=REFUSALS,
    unanswered=UNANSWERED,
    charges={
        Charge.RESERVED: ChargeWords(
            stage=_("{amount} released, nothing charged"),
            promise=_("Nothing was charged, and the {amount} reserved on your card will be released."),
            result=_("Nothing was charged, and the {amount} reserved on your card has been released."),
        ),
    },
    cancel_until=_("We take the payment once the carrier has your parcel; until then you can cancel."),
    too_late_to_cancel=_("It’s too late to cancel: we’re already taking the payment."),
    cancelled=_("Everything cancelled and confirmed by email"),
)
