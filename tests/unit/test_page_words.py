"""What the order's page says, word for word, in some of the states that an order can be in."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from orders.wording.customers.progress import Progress
from tests.unit.shop_orders import (
    APPROVAL,
    BOTH,
    CAPTURE,
    EMAIL,
    PAID,
    PLACED,
    REVERSING,
    SENT,
    SHIPMENT,
    STOCK,
    WHOLE,
    Case,
    all_reversed,
    cancel,
    forward,
    reversed_step,
)

NOTHING_TO_DO = "There’s nothing you need to do."
AHEAD = ["Handing to the carrier: to come", "Payment: to come", "Confirmation by email: to come"]
RESERVED = "Stock reserved and payment approved: done 20"
NOT_OVER = "Cancelling everything and confirming it by email"
OVER = "Everything cancelled and confirmed by email: done 1200"
REVERSED = [
    "Stock reserved and payment approved: reversed later 20",
    "Handed to the carrier: reversed later 30",
    "Paid: reversed later 40",
    "Cancelled by us: done 1000",
    "€39.00 refunded: done 1010",
    "Shipment cancelled: done 1020",
    "Stock released: done 1040",
    OVER,
]


def held_on_the_way_back(step: str, begun: Case) -> Case:
    """The order as it is cancelled, while what reverses this step cannot be used."""
    case = cancel(begun)
    return replace(case, steps={**case.steps, step: {**case.steps[step], **REVERSING["held"]}})


WE_ARE_SORRY = "We couldn’t fulfil it, and we’re sorry."
AFTERWARDS = "We cancelled it."
HELD_UP = (
    "We’ve alerted our team, and they’ll let you know. You won’t be charged twice, and there’s nothing"
    " you need to do."
)

CARRIER_IS_AWAY = [
    "The carrier can’t take your parcel at the moment. We’ll go on as soon as it can. " + NOTHING_TO_DO
]

TABLE: Mapping[str, tuple[Case, str, Sequence[str], Sequence[str]]] = {
    "ordered during an outage": (
        forward({STOCK: "held", APPROVAL: "completed"}),
        "Your order is waiting.",
        ["Payment approved: done 20", "Reserving stock: waiting for our warehouse", *AHEAD],
        [
            "Our warehouse can’t take your order at the moment. We’ll go on as soon as it can. "
            + NOTHING_TO_DO
        ],
    ),
    "nothing can be reached": (
        forward({STOCK: "held", APPROVAL: "held"}),
        "Your order is waiting.",
        [
            "Reserving stock: waiting for our warehouse",
            "Approving payment: waiting for the payment service",
            *AHEAD,
        ],
        [],
    ),
    "tried in vain during an outage": (
        forward({STOCK: "held again", APPROVAL: "running"}),
        "Thank you. We’re working on it.",
        ["Reserving stock: waiting for our warehouse", "Approving payment: in progress", *AHEAD],
        [NOTHING_TO_DO + " You can close this page and come back to it at any time."],
    ),
    "tried in vain, and waits": (
        forward({**BOTH, SHIPMENT: "held again"}),
        "Your order is waiting.",
        [RESERVED, "Handing to the carrier: waiting for the carrier", *AHEAD[1:]],
        CARRIER_IS_AWAY,
    ),
    "tried during an outage": (
        forward({**BOTH, SHIPMENT: "probed"}),
        "Your order is waiting.",
        [RESERVED, "Handing to the carrier: waiting for the carrier", *AHEAD[1:]],
        CARRIER_IS_AWAY,
    ),
    "one of two done, the other held up": (
        forward({STOCK: "completed", APPROVAL: "failed"}),
        "We’re looking into a problem with your order.",
        ["Stock reserved: done 10", "Approving payment: held up", *AHEAD],
        [
            HELD_UP,
            "€39.00 may be reserved on your card. If the order is cancelled, it will be released.",
        ],
    ),
    "held up, and nothing reserved": (
        forward({STOCK: "refused"}),
        "We’re looking into a problem with your order.",
        ["Reserving stock: held up", "Approving payment: to come", *AHEAD],
        [HELD_UP, "No money was charged or reserved."],
    ),
    "held up, and reserved": (
        forward({STOCK: "failed", APPROVAL: "completed"}),
        "We’re looking into a problem with your order.",
        ["Payment approved: done 20", "Reserving stock: held up", *AHEAD],
        [
            HELD_UP,
            "€39.00 is reserved on your card, and will be released if the order is cancelled.",
        ],
    ),
    "held up, when it may be paid": (
        forward({**SENT, CAPTURE: "failed"}),
        "We’re looking into a problem with your order.",
        [
            RESERVED,
            "Handed to the carrier: done 30",
            "Payment: held up",
            "Confirmation by email: to come",
        ],
        [HELD_UP, "We don’t know yet whether €39.00 was taken."],
    ),
    "declined": (
        forward({STOCK: "completed", APPROVAL: "declined"}),
        "Your card was declined.",
        ["Stock reserved: done 10", "Approving payment: waiting for you", *AHEAD],
        ["Nothing has been charged. Choose another way to pay, and we’ll go on with your order."],
    ),
    "skipped": (
        forward({STOCK: "skipped", APPROVAL: "completed", SHIPMENT: "running"}),
        "Thank you. We’re working on it.",
        [
            "Payment approved: done 20",
            "Reserving stock: not needed",
            "Handing to the carrier: in progress",
            *AHEAD[1:],
        ],
        [],
    ),
    "settled by hand": (
        forward({STOCK: "settled", APPROVAL: "settled", SHIPMENT: "running again"}),
        "We’re trying one step again.",
        [RESERVED, "Handing to the carrier: trying again", *AHEAD[1:]],
        ["The carrier isn’t answering, so we’re asking again. " + NOTHING_TO_DO],
    ),
    "the email is late": (
        forward({**PAID, EMAIL: "running again"}),
        "Your poster is paid for and on its way.",
        [
            RESERVED,
            "Handed to the carrier: done 30",
            "Paid: done 40",
            "Confirmation by email: trying again",
        ],
        ["We’re having trouble sending our confirmation email, so we’re trying again."],
    ),
    "the mail server is away": (
        forward({**PAID, EMAIL: "held again"}),
        "Your poster is paid for and on its way.",
        [
            RESERVED,
            "Handed to the carrier: done 30",
            "Paid: done 40",
            "Confirmation by email: waiting for our mail server",
        ],
        ["Our confirmation email can’t be sent at the moment. We’ll send it as soon as that’s possible."],
    ),
    "the email cannot be sent": (
        forward({**PAID, EMAIL: "failed"}),
        "Your poster is paid for and on its way.",
        [RESERVED, "Handed to the carrier: done 30", "Paid: done 40", "Confirmation by email: held up"],
        [
            "Only our confirmation email is still to come.",
            HELD_UP,
        ],
    ),
    "complete": (
        forward(WHOLE, quantity=2),
        "Your posters are on their way.",
        [RESERVED, "Handed to the carrier: done 30", "Paid: done 40", "Confirmed by email: done 50"],
        ["It’s paid for and with the carrier. We’ve emailed you a confirmation."],
    ),
    "complete, and not paid": (
        forward({**WHOLE, CAPTURE: "skipped"}),
        "Your order is complete.",
        [
            RESERVED,
            "Handed to the carrier: done 30",
            "Confirmed by email: done 50",
            "Payment: not needed",
        ],
        ["Everything is done."],
    ),
    "cancelled while declined": (
        all_reversed(forward({STOCK: "completed", APPROVAL: "declined"}), "customer_cancelled"),
        "Your order was cancelled.",
        [
            "Stock reserved: reversed later 10",
            "You cancelled it: done 1000",
            "No money charged or reserved: done -",
            "Stock released: done 1010",
            OVER,
        ],
        ["You cancelled it.", "No money was charged or reserved."],
    ),
    "cancelled when it may be reserved": (
        cancel(forward({APPROVAL: "running"})),
        "We’re cancelling your order.",
        [
            "Cancelled by us: done 1000",
            "Release of €39.00, if it was reserved: waiting",
            f"{NOT_OVER}: to come",
        ],
        [
            WE_ARE_SORRY,
            "Nothing was charged. If €39.00 was reserved on your card, it will be released.",
            "We’re reversing what was done so far. " + NOTHING_TO_DO,
        ],
    ),
    "cancelled when it is reserved": (
        cancel(forward(BOTH)),
        "We’re cancelling your order.",
        [
            RESERVED,
            "Cancelled by us: done 1000",
            "Release of €39.00: in progress",
            "Releasing the stock: in progress",
            f"{NOT_OVER}: to come",
        ],
        [
            WE_ARE_SORRY,
            "Nothing was charged, and the €39.00 reserved on your card will be released.",
            "We’re reversing what was done so far. " + NOTHING_TO_DO,
        ],
    ),
    "cancelled during an outage of the carrier": (
        held_on_the_way_back(SHIPMENT, forward({**SENT, CAPTURE: "refused"})),
        "We’re cancelling your order.",
        [
            RESERVED,
            "Handed to the carrier: done 30",
            "Cancelled by us: done 1000",
            "Cancelling the shipment: waiting for the carrier",
            "Release of €39.00: to come",
            "Releasing the stock: to come",
            f"{NOT_OVER}: to come",
        ],
        [],
    ),
    "cancelled, and only the payment is reversed yet": (
        reversed_step(cancel(forward(BOTH)), APPROVAL),
        "We’re cancelling your order.",
        [
            "Stock reserved: done 10",
            "Payment approved: reversed later 20",
            "Cancelled by us: done 1000",
            "€39.00 released, nothing charged: done 1010",
            "Releasing the stock: in progress",
            f"{NOT_OVER}: to come",
        ],
        [],
    ),
    "cancelled when it may be paid": (
        cancel(forward({**SENT, CAPTURE: "failed"})),
        "We’re cancelling your order.",
        [
            RESERVED,
            "Handed to the carrier: done 30",
            "Cancelled by us: done 1000",
            "Refund of €39.00, if it was taken: waiting",
            "Cancelling the shipment: to come",
            "Releasing the stock: to come",
            f"{NOT_OVER}: to come",
        ],
        [
            WE_ARE_SORRY,
            "We don’t know yet whether €39.00 was taken. If it was, we’ll refund all of it.",
            "We’re reversing what was done so far. " + NOTHING_TO_DO,
        ],
    ),
    "refunded after shipping": (
        all_reversed(forward(WHOLE)),
        "Your order was cancelled.",
        [*REVERSED[:3], "Confirmed by email: done 50", *REVERSED[3:]],
        [AFTERWARDS, "We’ve refunded €39.00. Your bank may take up to 10 days to show it."],
    ),
    "refunded after shipping, before the email": (
        all_reversed(forward({**PAID, EMAIL: "failed"})),
        "Your order was cancelled.",
        REVERSED,
        [AFTERWARDS, "We’ve refunded €39.00. Your bank may take up to 10 days to show it."],
    ),
}


def lines(page: Progress) -> list[str]:
    """The stages after the first, as they are read: title, state and the seconds at which they were done."""
    assert (page.stages[0].title, page.stages[0].at) == ("We have your order", PLACED)
    return [
        f"{stage.title}: {stage.word}"
        + (f" {(stage.at - PLACED).seconds}" if stage.at else " -" if stage.state == "done" else "")
        for stage in page.stages[1:]
    ]


@pytest.mark.parametrize("name", TABLE)
def test_the_page_says_exactly_this(name: str) -> None:
    case, headline, stages, sentences = TABLE[name]
    page = case.read()
    assert (page.headline, lines(page)) == (headline, stages)
    assert page.sentences[: len(sentences)] == sentences
