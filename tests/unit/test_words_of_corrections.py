"""What the order's page says while something that its customer has changed is corrected."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from babel import Locale

from orders.business import Situation
from orders.selectors.tracked_orders import Occurrence
from orders.wording.customers.progress import Progress, progress
from tests.unit.shop_orders import APPROVAL, PLACED, SHIPMENT, STOCK, at, forward

TWICE = " You won’t be charged twice, and there’s nothing you need to do."
RELEASED = (
    "The total isn’t the same as before, so first we’re releasing what was reserved on your card. Then we’ll "
)
WORDS: Mapping[str, tuple[str, str]] = {
    "payment_method": (
        "We’re switching to the card that you chose.",
        "First we’re releasing whatever was reserved on the card you used last, and then we’ll go on with the new one."
        + TWICE,
    ),
    "ship_to": (
        "We’re changing where your order goes.",
        RELEASED + "go on with the new address." + TWICE,
    ),
    "lines": (
        "We’re changing what you ordered.",
        RELEASED + "go on with what you ordered now." + TWICE,
    ),
}
IN_GENERAL = "We’re correcting your order."


def read(*events: tuple[str, str, float, Mapping[str, Any]]) -> Progress:
    """What the customer reads while her reservation is released, after these events: kind, step, second, detail."""
    tracked = forward({STOCK: "completed", APPROVAL: "reversed first"}).tracked
    occurrences = {
        (kind, step): Occurrence(at=at(second), attempt=1, detail=detail)
        for kind, step, second, detail in events
    }
    view = type(tracked)(order=tracked.order, email="", data={}, occurrences=occurrences)
    return progress(view, now=PLACED + timedelta(seconds=60), locale=Locale("en"), usual=None)


def correction(
    kind: str, step: str, second: float, *fields: str
) -> tuple[str, str, float, Mapping[str, Any]]:
    return kind, step, second, {"after": dict.fromkeys(fields, "…")} if fields else {}


CORRECTED = {
    "payment_method": [correction("paid_again", APPROVAL, 30, "payment_method")],
    "ship_to": [correction("corrected", SHIPMENT, 30, "ship_to"), correction("corrected", APPROVAL, 30)],
    "lines": [correction("corrected", STOCK, 30, "lines"), correction("corrected", APPROVAL, 30)],
}


@pytest.mark.parametrize("field", WORDS)
def test_a_customer_reads_what_becomes_of_what_she_has_changed(field: str) -> None:
    page = read(*CORRECTED[field])
    assert page.situation is Situation.CORRECTING
    assert (page.headline, *page.sentences) == WORDS[field]
    assert page.word == "Being corrected"


def test_of_two_corrections_the_last_one_counts() -> None:
    page = read(correction("corrected", STOCK, 20, "lines"), *CORRECTED["payment_method"])
    assert page.headline == WORDS["payment_method"][0]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [*CORRECTED["payment_method"], correction("step_renewed", APPROVAL, 40)],
        [correction("corrected", STOCK, 30, "lines")],
        [correction("corrected", APPROVAL, 30, "gift_note")],
    ],
    ids=["nothing", "an operator, after hers was over", "an operator, beside hers", "a field without words"],
)
def test_what_the_kind_has_no_words_for_or_she_did_not_change_is_said_in_general(events: list[Any]) -> None:
    assert read(*events).headline == IN_GENERAL
