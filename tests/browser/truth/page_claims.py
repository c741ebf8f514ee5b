"""For each sentence of an order's page that claims something, when it is true. Emails repeat most of them.

A line is a sentence as it stands in the source, with its named values. Of the stages, `stage_claims` says it.
"""

from collections.abc import Mapping

from tests.browser.truth.facts import Holds, Known
from tests.browser.truth.money_claims import MONEY

ON_ITS_WAY = "Your order is on its way"
WAS_CANCELLED = "Your order was cancelled"
ALL = ("warehouse", "payments", "carrier", "mail")


def nothing_to_do(k: Known) -> bool:
    return not k.surely_waits_for_customer


def uncharged(k: Known) -> bool:
    return k.charged == 0


def sent(k: Known) -> bool:
    return k.left("create") > 0


def paid_and_sent(k: Known) -> bool:
    return k.charged > 0 and sent(k)


def cancelled(k: Known) -> bool:
    """Whether nothing of a cancelled order is left, whether or not its customer has been told so."""
    is_left = any(k.left(name) > 0 for name in ("reserve", "create"))
    return k.is_cancelled and k.charged == 0 and k.held == 0 and not is_left


def being_cancelled(k: Known) -> bool:
    return k.is_cancelled and not k.happened("compensated")


def declined(k: Known) -> bool:
    return k.card == "card_declined" and k.happened("step_declined", "authorise-payment")


def unserved(k: Known) -> bool:
    return k.happened("step_declined", "create-shipment") and not sent(k)


def short(k: Known) -> bool:
    return k.happened("step_declined", "reserve-stock") and k.left("reserve") <= 0


def may_arrive(k: Known) -> bool:
    """Whether nothing stops a parcel: it is not cancelled, and is sent or neither declined, in Error nor late."""
    is_held_up = k.waits_for_customer or k.happened("error") or k.surely_late
    return not k.is_cancelled and (sent(k) or not is_held_up)


def charged_once(k: Known) -> bool:
    """What was not charged twice: at most what was reserved for it."""
    return k.charged <= k.total("authorise") - k.total("void")


STATUSES: Mapping[str, Holds] = {
    "Received": lambda k: k.charged == 0,
    "In progress": lambda k: not k.happened("processed"),
    "Waiting": lambda k: k.failed(*ALL),
    "Trying again": lambda k: k.failed(*ALL),
    "Being corrected": lambda k: k.happened("corrected") or k.happened("paid_again"),
    "Waiting for you": lambda k: k.waits_for_customer,
    "Waiting for your payment": declined,
    "Waiting for your bank": lambda k: k.failed("payments") and uncharged(k),
    "We’re looking into it": lambda k: k.happened("error"),
    "Almost done": paid_and_sent,
    "Sent": paid_and_sent,
    "Complete": lambda k: k.happened("processed"),
    "Being cancelled": being_cancelled,
    "Cancelled": cancelled,
}

HEADLINES: Mapping[str, Holds] = {
    "Thank you. We have your order.": lambda k: not k.is_cancelled,
    "Thank you. We’re working on it.": lambda k: not k.happened("processed") and not k.is_cancelled,
    "Your order is waiting.": lambda k: k.failed(*ALL),
    "We’re trying one step again.": lambda k: k.failed(*ALL),
    "We’re correcting your order.": lambda k: k.happened("corrected") or k.happened("paid_again"),
    "We’re switching to the card that you chose.": lambda k: k.happened("paid_again"),
    "We’re changing where your order goes.": lambda k: k.happened("corrected"),
    "We’re changing what you ordered.": lambda k: k.happened("corrected"),
    "We need something from you.": lambda k: k.waits_for_customer,
    "Your card was declined.": declined,
    "We don’t have enough posters for your order.": short,
    "Your poster has sold out.": short,
    "Your posters have sold out.": short,
    "We can’t send your order to this address.": unserved,
    "Your bank isn’t answering.": lambda k: k.failed("payments") and uncharged(k),
    "We’re looking into a problem with your order.": lambda k: k.happened("error"),
    "What you ordered is done.": paid_and_sent,
    "Your poster is paid for and on its way.": paid_and_sent,
    "Your posters are paid for and on their way.": paid_and_sent,
    "Your poster is on its way.": paid_and_sent,
    "Your posters are on their way.": paid_and_sent,
    "Your order is complete.": lambda k: k.happened("processed"),
    "We’re cancelling your order.": being_cancelled,
    "We’re finishing your cancellation by hand.": lambda k: being_cancelled(k) and k.happened("error"),
    "Your order was cancelled.": cancelled,
}

PROGRESS: Mapping[str, Holds] = {
    "It’s safe with us, and we’ll start on it as soon as we can. You can close this page.": uncharged,
    "There’s nothing you need to do. You can close this page and come back to it at any time.": nothing_to_do,
    "You can close this page and come back to it at any time.": nothing_to_do,
    "There’s nothing you need to do.": nothing_to_do,
    "Nine out of ten orders are done in about {usual}.": lambda k: (
        not k.happened("processed") and not k.is_cancelled
    ),
    "One step didn’t work the first time, so we’re trying it again. There’s nothing you need to do.": (
        lambda k: k.failed(*ALL) and nothing_to_do(k)
    ),
    "Something in it was changed, so we’re taking back what was done before and doing it anew. There’s nothing you "
    "need to do.": lambda k: (k.happened("corrected") or k.happened("paid_again")) and nothing_to_do(k),
    "First we’re releasing whatever was reserved on the card you used last, and then we’ll go on with the new one. You "
    "won’t be charged twice, and there’s nothing you need to do.": (
        lambda k: k.happened("paid_again") and uncharged(k) and nothing_to_do(k)
    ),
    "The total isn’t the same as before, so first we’re releasing what was reserved on your card. Then we’ll go on "
    "with the new address. You won’t be charged twice, and there’s nothing you need to do.": (
        lambda k: k.happened("corrected") and uncharged(k) and nothing_to_do(k)
    ),
    "The total isn’t the same as before, so first we’re releasing what was reserved on your card. Then we’ll go on "
    "with what you ordered now. You won’t be charged twice, and there’s nothing you need to do.": (
        lambda k: k.happened("corrected") and uncharged(k) and nothing_to_do(k)
    ),
    "We’re finishing the last details. There’s nothing you need to do.": (
        lambda k: paid_and_sent(k) or (cancelled(k) and not k.happened("compensated"))
    ),
    "Only our confirmation email is still to come.": (
        lambda k: (
            paid_and_sent(k) and (not k.got(ON_ITS_WAY) or not k.happened("call_failed", "send-confirmation"))
        )
    ),
    "We’re having trouble sending our confirmation email, so we’re trying again.": (
        lambda k: paid_and_sent(k) and k.failed("mail")
    ),
    "Our confirmation email can’t be sent at the moment. We’ll send it as soon as that’s possible.": (
        lambda k: paid_and_sent(k) and k.failed("mail")
    ),
    "It’s paid for and with the carrier. We’ve emailed you a confirmation.": (
        lambda k: paid_and_sent(k) and k.got(ON_ITS_WAY)
    ),
    "Everything is done.": lambda k: k.happened("processed"),
    "This is taking longer than we promised, and we’re sorry. Your order is safe and we’re still working on it.": (
        lambda k: k.is_late and not k.happened("processed")
    ),
    "This is taking longer than it should, and we’re sorry. We’re still cancelling your order, and nothing gets "
    "lost.": lambda k: k.is_late and being_cancelled(k),
    "We’re reversing what was done so far. There’s nothing you need to do.": being_cancelled,
    "Only our email about it is still to come.": (
        lambda k: (
            cancelled(k)
            and being_cancelled(k)
            and (not k.got(WAS_CANCELLED) or not k.happened("call_failed", "send-confirmation"))
        )
    ),
    "We’ve alerted our team, and they’ll let you know. There’s nothing you need to do.": (
        lambda k: k.alerted and nothing_to_do(k)
    ),
    "We’ve alerted our team, and they’ll let you know. You won’t be charged twice, and there’s nothing you need to "
    "do.": lambda k: k.alerted and charged_once(k) and nothing_to_do(k),
    "Someone on our team is taking care of the rest and will let you know.": lambda k: k.alerted,
    "We’ve asked several times, and our team knows about it. You can wait, or choose another way to pay. If you do, "
    "we first release whatever was reserved on the card you used last, so you won’t be charged twice.": (
        lambda k: k.failed("payments") and k.alerted and uncharged(k)
    ),
}

OUTAGES: Mapping[str, Holds] = {
    "Our warehouse isn’t answering, so we’re asking again. There’s nothing you need to do.": (
        lambda k: k.failed("warehouse") and nothing_to_do(k)
    ),
    "The carrier isn’t answering, so we’re asking again. There’s nothing you need to do.": (
        lambda k: k.failed("carrier") and nothing_to_do(k)
    ),
    "The payment service isn’t answering, so we’re asking again. You won’t be charged twice, and there’s nothing you "
    "need to do.": lambda k: k.failed("payments") and charged_once(k) and nothing_to_do(k),
    "Our warehouse can’t take your order at the moment. We’ll go on as soon as it can. There’s nothing you need to "
    "do.": lambda k: k.failed("warehouse") and nothing_to_do(k),
    "The carrier can’t take your parcel at the moment. We’ll go on as soon as it can. There’s nothing you need to "
    "do.": (lambda k: k.failed("carrier") and nothing_to_do(k)),
    "The payment service can’t take your order at the moment. We’ll go on as soon as it can. You won’t be charged "
    "twice, and there’s nothing you need to do.": (
        lambda k: k.failed("payments") and charged_once(k) and nothing_to_do(k)
    ),
    "What we need for the next step isn’t available at the moment. We’ll go on as soon as it is. There’s nothing you "
    "need to do.": lambda k: k.failed(*ALL) and nothing_to_do(k),
    "waiting for our warehouse": lambda k: k.failed("warehouse"),
    "waiting for the carrier": lambda k: k.failed("carrier"),
    "waiting for the payment service": lambda k: k.failed("payments"),
    "waiting for our mail server": lambda k: k.failed("mail"),
    "trying again": lambda k: k.failed(*ALL),
    "waiting for you": lambda k: k.waits_for_customer,
    "held up": lambda k: k.happened("error") or k.waits_for_customer,
}

REFUSALS: Mapping[str, Holds] = {
    "Part of your order was declined. We can go on once you’ve changed what it needs.": (
        lambda k: k.waits_for_customer
    ),
    "That was declined, too. Please try something else.": lambda k: k.waits_for_customer,
    "Nothing has been charged. Choose another way to pay, and we’ll go on with your order.": (
        lambda k: declined(k) and uncharged(k)
    ),
    "This payment was declined too, and nothing has been charged. Choose another way to pay, and we’ll go on with "
    "your order.": lambda k: declined(k) and uncharged(k) and k.happened("paid_again"),
    "Only {left} of “{title}” is left, and you ordered {ordered}.": lambda k: is_short(
        k, int(k.values["left"])
    ),
    "Only {left} of “{title}” are left, and you ordered {ordered}.": lambda k: is_short(
        k, int(k.values["left"])
    ),
    "“{title}” has sold out.": lambda k: k.stock(poster(k)) == 0,
    "Nothing has been charged, and we’re sorry. You can cancel the order.": lambda k: (
        short(k) and uncharged(k)
    ),
    "Nothing has been charged. You can change what you ordered, or cancel the order.": (
        lambda k: short(k) and uncharged(k)
    ),
    "We still don’t have enough, and nothing has been charged. You can change what you ordered, or cancel the order.": (
        lambda k: short(k) and uncharged(k) and k.happened("corrected")
    ),
    "Our carrier doesn’t deliver to {country}.": unserved,
    "Nothing has been charged, and we’re keeping your poster for you. Give us another address, or cancel the order.": (
        lambda k: unserved(k) and uncharged(k) and k.left("reserve") > 0
    ),
    "Nothing has been charged, and we’re keeping your posters for you. Give us another address, or cancel the order.": (
        lambda k: unserved(k) and uncharged(k) and k.left("reserve") > 0
    ),
    "We can’t send it to the new address either, and nothing has been charged. Give us another one, or cancel the "
    "order.": lambda k: unserved(k) and uncharged(k) and k.happened("corrected"),
    "Your time for this runs out on %(until)s. After that, the order is cancelled and nothing is charged.": (
        lambda k: k.waits_for_customer and uncharged(k)
    ),
    "If you do nothing, we’ll cancel it for you on %(until)s.": (
        lambda k: k.waits_for_customer and short(k) and uncharged(k)
    ),
    "Your time to pay runs out on %(until)s. After that, the order is cancelled and nothing is charged.": (
        lambda k: k.waits_for_customer and uncharged(k)
    ),
}


def poster(k: Known) -> str:
    """The title of the poster that a sentence names with its size and edition."""
    return k.values["title"].partition(" · ")[0]


def is_short(k: Known, number: int) -> bool:
    title = poster(k)
    return k.stock(title) == number and k.story.lines[title] == int(k.values["ordered"]) > number


DELIVERY: Mapping[str, Holds] = {
    "Should arrive %(days)s": may_arrive,
    "It should then arrive %(days)s": lambda k: not k.is_cancelled,  # if she agrees
    "Receipt (PDF)": lambda k: k.count("capture") > 0,
}

REASONS: Mapping[str, Holds] = {
    "You cancelled it.": lambda k: k.is_cancelled,
    "We cancelled it.": lambda k: k.is_cancelled,
    "We decided not to go on with it.": lambda k: k.is_cancelled,
    "We couldn’t fulfil it, and we’re sorry.": lambda k: k.is_cancelled,
    "We needed something from you, and didn’t get it in time.": lambda k: k.is_cancelled,
    "Your card was declined, and we didn’t get another payment in time.": (
        lambda k: declined(k) and k.is_cancelled
    ),
    "We didn’t have enough posters for your order, and we’re sorry.": lambda k: short(k) and k.is_cancelled,
    "Our carrier doesn’t deliver to your address, and we didn’t get another one in time.": (
        lambda k: k.happened("step_declined", "create-shipment") and k.is_cancelled
    ),
}

ACTS: Mapping[str, Holds] = {
    "Cancel the order": lambda k: not k.happened("processed") and uncharged(k),
    "Cancel this order?": lambda k: not k.is_cancelled and uncharged(k),
    "We’ll stop your order, and cancel what we’ve done so far.": uncharged,
    "We take the payment once the carrier has your parcel; until then you can cancel.": uncharged,
    "You’ve cancelled this order.": lambda k: k.is_cancelled,
    "This order’s cancellation had already begun.": lambda k: k.is_cancelled,
    "It was too late to cancel: we’d already begun to take the payment.": lambda k: k.happened(
        "step_started", "capture-payment"
    ),
    "You can’t cancel this order now": lambda k: (
        k.is_cancelled or k.happened("step_started", "capture-payment")
    ),
    "Thank you. We have your new payment method.": lambda k: k.happened("paid_again"),
    "Thank you. We’ve changed your order and are trying again.": lambda k: k.happened("corrected"),
    "Your order will cost %(after)s instead of %(before)s. Nothing has been charged, and anything reserved for the old "
    "total will be released.": uncharged,
    "Sold out. You ordered {ordered}.": short,
    "{left} left. You ordered {ordered}.": short,
    "Order this again": lambda k: k.happened("processed") or k.happened("compensated"),
}

PAGE_CLAIMS: Mapping[str, Holds] = {
    **STATUSES,
    **HEADLINES,
    **PROGRESS,
    **OUTAGES,
    **REFUSALS,
    **MONEY,
    **DELIVERY,
    **REASONS,
    **ACTS,
}
