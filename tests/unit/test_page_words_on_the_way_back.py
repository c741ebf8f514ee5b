"""What the order's page says of a cancelled order while nobody knows whether a step of it was done."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from orders.business import Situation
from orders.business.updates import OrderUpdate
from orders.wording.customer_updates import update_of
from orders.wording.customers.situations import listed_status
from tests.unit.shop_orders import (
    APPROVAL,
    BOTH,
    EMAIL,
    REVERSING,
    SHIPMENT,
    STOCK,
    Case,
    all_reversed,
    at,
    cancel,
    forward,
    reversed_step,
)
from tests.unit.test_page_words import OVER, RESERVED, lines

WORDS: Mapping[str, str] = {
    "the service did not answer": "{away}",
    "nothing is known of the service": "waiting",
    "its call is under way": "waiting",
    "its call is made again and again": "{away}",
    "the service is away": "{away}",
    "the service is tried in an outage": "{away}",
    "the reversal is under way": "in progress",
    "the reversal is to be tried again": "trying again",
    "the reversal is tried again": "trying again",
}
NOT_OVER = "Cancelling everything and confirming it by email: to come"


def failed_call(step: str, case: Case, kind: str = "call_failed") -> Case:
    """The order once a call of a step has failed, after it was cancelled."""
    return replace(case, events={**case.events, (kind, step): at(1_005)})


def cancelled(step: str, others: Mapping[str, str], name: str) -> Case:
    """A cancelled order of which a step has got no answer, by what else is known."""
    begun = cancel(forward({**others, step: "to be retried"}))
    running = cancel(forward({**others, step: "running"}))

    def backward(word: str) -> Case:
        return replace(begun, steps={**begun.steps, step: {**begun.steps[step], **REVERSING[word]}})

    again = failed_call(step, backward("under way"), "compensation_timed_out")
    return {
        "the service did not answer": failed_call(step, begun),
        "nothing is known of the service": begun,
        "its call is under way": running,
        "its call is made again and again": failed_call(step, running),
        "the service is away": backward("held"),
        "the service is tried in an outage": backward("probed"),
        "the reversal is under way": backward("under way"),
        "the reversal is to be tried again": backward("tried again"),
        "the reversal is tried again": again,
    }[name]


@pytest.mark.parametrize("name", WORDS)
def test_a_shipment_that_there_may_be_is_cancelled_before_the_rest(name: str) -> None:
    page = cancelled(SHIPMENT, BOTH, name).read()
    assert lines(page) == [
        RESERVED,
        "Cancelled by us: done 1000",
        f"Making sure that nothing is sent: {WORDS[name].format(away='waiting for the carrier')}",
        "Release of €39.00: to come",
        "Releasing the stock: to come",
        NOT_OVER,
    ]


@pytest.mark.parametrize("name", WORDS)
def test_what_may_be_reserved_on_a_card_is_released_beside_the_stock(name: str) -> None:
    page = cancelled(APPROVAL, {STOCK: "completed"}, name).read()
    assert lines(page) == [
        "Stock reserved: done 10",
        "Cancelled by us: done 1000",
        "Release of €39.00, if it was reserved: "
        + WORDS[name].format(away="waiting for the payment service"),
        "Releasing the stock: in progress",
        NOT_OVER,
    ]


@pytest.mark.parametrize("name", WORDS)
def test_stock_that_may_be_reserved_is_not_said_to_be(name: str) -> None:
    page = cancelled(STOCK, {APPROVAL: "completed"}, name).read()
    assert lines(page) == [
        "Payment approved: done 20",
        "Cancelled by us: done 1000",
        "Release of €39.00: in progress",
        f"Making sure that no stock is reserved: {WORDS[name].format(away='waiting for our warehouse')}",
        NOT_OVER,
    ]


def test_a_shipment_that_nobody_knows_of_is_not_called_cancelled() -> None:
    page = all_reversed(forward({**BOTH, SHIPMENT: "to be retried"})).read()
    assert lines(page)[2:] == [
        "Nothing will be sent: done 1010",
        "€39.00 released, nothing charged: done 1020",
        "Stock released: done 1030",
        OVER,
    ]


def test_stock_that_nobody_knows_of_is_not_called_released() -> None:
    page = all_reversed(forward({STOCK: "to be retried", APPROVAL: "completed"})).read()
    assert lines(page)[2:] == [
        "€39.00 released, nothing charged: done 1010",
        "No stock is reserved: done 1020",
        OVER,
    ]


def but_for_the_email(begun: Case, word: str | None, why: str = "customer_cancelled") -> Case:
    """The order once all of it is reversed, and the email about that stands so; or it is not asked for yet."""
    case = cancel(begun, why)
    for name in (SHIPMENT, APPROVAL, STOCK):
        if case.steps[name].get("outcome", "none") != "none":
            case = reversed_step(case, name)
    email = {**case.steps[EMAIL], **(REVERSING[word] if word else {})}
    state = "error" if word == "failed" else case.state
    return replace(case, steps={**case.steps, EMAIL: email}, state=state)


@pytest.mark.parametrize(
    ("word", "note"),
    [
        (None, "in progress"),
        ("under way", "in progress"),
        ("tried again", "in progress"),
        ("held", "waiting for our mail server"),
        ("probed", "waiting for our mail server"),
    ],
)
def test_an_order_of_which_only_the_email_is_missing_is_cancelled(word: str | None, note: str) -> None:
    case = but_for_the_email(forward(BOTH), word)
    page = case.read()
    assert (page.word, page.headline) == ("Cancelled", "Your order was cancelled.")
    assert page.sentences == [
        "You cancelled it.",
        "Nothing was charged, and the €39.00 reserved on your card has been released.",
        "Only our email about it is still to come.",
    ]
    assert lines(page) == [
        "Stock reserved and payment approved: reversed later 20",
        "You cancelled it: done 1000",
        "€39.00 released, nothing charged: done 1010",
        "Stock released: done 1020",
        f"Confirming the cancellation by email: {note}",
    ]
    status = listed_status(case.tracked.order)
    assert (status.word, status.tone) == (page.word, page.tone) == ("Cancelled", "idle")
    assert (page.situation, update_of(page), page.has_ended) == (Situation.REVERSED, None, False)


@pytest.mark.parametrize("after", [1_601, 99_999])
def test_an_order_of_which_only_the_email_is_missing_is_not_late(after: float) -> None:
    page = but_for_the_email(forward(BOTH), "held").read(after=after)
    assert not page.is_late and not page.offers_help
    assert "Only our email about it is still to come." in page.sentences


def test_an_order_of_which_nothing_was_begun_is_cancelled_at_once() -> None:
    page = cancel(forward({}), "customer_cancelled").read()
    assert page.headline == "Your order was cancelled."
    assert page.sentences == [
        "You cancelled it.",
        "No money was charged or reserved.",
        "Only our email about it is still to come.",
    ]
    assert lines(page) == [
        "You cancelled it: done 1000",
        "No money charged or reserved: done -",
        "Confirming the cancellation by email: in progress",
    ]


def test_a_cancellation_whose_email_cannot_be_sent_is_over_but_for_that() -> None:
    case = but_for_the_email(forward(BOTH), "failed", "operator_requested")
    page = case.read()
    assert (page.headline, page.situation) == ("Your order was cancelled.", Situation.REVERSED)
    assert page.sentences == [
        "We couldn’t fulfil it, and we’re sorry.",
        "Nothing was charged, and the €39.00 reserved on your card has been released.",
        "Someone on our team is taking care of the rest and will let you know.",
    ]
    assert lines(page)[-1] == "Confirming the cancellation by email: held up"
    assert listed_status(case.tracked.order).word == "Cancelled"
    assert page.offers_help and update_of(page) is OrderUpdate.CANCEL_STUCK
