"""For each sentence that only emails say, when it is true as the email arrives; and what claims nothing."""

from collections.abc import Mapping

from tests.browser.truth.facts import Holds, Known
from tests.browser.truth.page_claims import cancelled, may_arrive, sent, short, uncharged


def _is_first_word(k: Known) -> bool:
    """Whether no email has said more of the order yet."""
    return not k.got("Your order is on its way") and not k.got("Your order was cancelled")


EMAIL_CLAIMS: Mapping[str, Holds] = {
    "We have your order": lambda k: _is_first_word(k) and not k.happened("compensated"),
    "Here is your order": lambda k: True,
    "Your order is on its way.": sent,
    "Your order is confirmed.": lambda k: k.happened("step_completed"),
    "Thank you for your order. It’s with the carrier.": sent,
    "Thank you for your order.": lambda k: not k.is_cancelled,
    "Your order was cancelled.": cancelled,
    "The carrier already had your parcel, so we’ve cancelled the shipment.": (
        lambda k: k.count("create") > 0 and k.left("create") <= 0
    ),
    "If any money was reserved on your card or charged for this order, all of it has been released or refunded, and "
    "your bank may take up to 10 days to show it. There’s nothing you need to do.": (
        lambda k: k.charged == 0 and k.held == 0
    ),
    "Should arrive": may_arrive,
    "Receipt": lambda k: k.count("capture") > 0,
    "Download the PDF": lambda k: k.count("capture") > 0,
    "Your order is taking longer than we promised": lambda k: k.is_late and not k.happened("processed"),
    "If you do nothing, we’ll cancel it for you on {moment}.": (
        lambda k: k.waits_for_customer and short(k) and uncharged(k)
    ),
    "We’ll wait for you until {moment}. After that we’ll cancel the order.": lambda k: k.waits_for_customer,
}

MEANS_NOTHING = frozenset(
    {
        # greetings, help and what to do with a link
        "Hello {name},",
        "This link leads to your order and shows how far along it is. It works for {days} days.",
        "Anyone who has this link can see your order, so please keep it to yourself.",
        "Anyone who has this email can see your order, so please keep it to yourself.",
        "Keep the link to this page, and keep it to yourself: anyone who has it can see your order.",
        "If you didn’t order from us, you can ignore this email.",
        "Questions? Reply to this email, and a person will answer.",
        "Would you rather talk to a person? Reply to this email, or write to {address}.",
        'Would you rather talk to a person? <a href="mailto:%(help_email)s?subject=%(subject)s">Email '
        "%(help_email)s</a> and we’ll answer with your order in front of us.",
        "The order’s page shows how far along it is.",
        "You can’t undo this.",
        "This is a demonstration: these aren’t real cards.",
        "You can order fewer, or enter 0 to leave something out. The price of each stays the same.",
        "Something wrong?",
        "Something wrong? Cancelling and returns",
        "Live updates lost {n} s ago. Reconnecting.",
        "We can’t check your order right now, so what you see may be out of date. This page keeps trying.",
        # headings, labels and buttons
        "What you can do",
        "What you ordered",
        "Pay another way",
        "Pay this way",
        "Total",
        "{label}: {text}",
        "free",
        "Order number",
        "Placed",
        "Promised by",
        "Email",
        "Gift note for the parcel",
        "Ships to",
        "Tracking number",
        "Go to your order",
        "See your order",
        "Email me the link",
        "Back to the order",
        "Yes, cancel the order",
        "No, keep it",
        "Change what you ordered",
        "Give another address",
        "Send it to this address",
        "Change it to %(after)s",
        "Leave it as it is",
        "Continue",
        "Cancelling and returns",
        # the words for the states of stages, which the claims of the stages know
        "done",
        "in progress",
        "to come",
        "waiting",
        "not needed",
        "reversed later",
    }
)
