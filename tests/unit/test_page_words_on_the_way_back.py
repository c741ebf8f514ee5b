"""What the order's page says of a cancelled order while nobody knows whether a step of it was done."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.unit.shop_orders import (
    APPROVAL,
    BOTH,
    REVERSING,
    SHIPMENT,
    STOCK,
    Case,
    all_reversed,
    at,
    cancel,
    forward,
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
