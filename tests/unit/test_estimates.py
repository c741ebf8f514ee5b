"""An order's page says when it should arrive for as long as that is true."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from orders.shop.delivery import Arrival
from orders.shop.estimates import estimate
from tests.unit.shop_orders import (
    APPROVAL,
    CAPTURE,
    EMAIL,
    PLACED,
    SHIPMENT,
    STOCK,
    Case,
    all_reversed,
    cancel,
    every_order,
    forward,
)

DATA = {"delivery": {"price": 690, "fewest_days": 2, "most_days": 4}}
FROM_FRIDAY = Arrival(date(2026, 11, 24), date(2026, 11, 26))
"""Two to four working days after Friday, November 20, when the orders were placed."""
PREPARED = {STOCK: "completed", APPROVAL: "completed"}
SENT = {**PREPARED, SHIPMENT: "completed"}
DONE = {**SENT, CAPTURE: "completed", EMAIL: "completed"}


def said(case: Case, *, after: float = 60, data: Mapping[str, Any] = DATA) -> Arrival | None:
    """What is said of an order so many seconds after it was placed."""
    tracked = replace(case.tracked, data=data, seen_at=PLACED + timedelta(seconds=after))
    return estimate(tracked, case.read(after=after))


def sent_at(moment: datetime, states: Mapping[str, str] = DONE) -> Case:
    case = forward(states)
    shipment = {**case.steps[SHIPMENT], "completed_at": moment}
    return replace(case, steps={**case.steps, SHIPMENT: shipment})


@pytest.mark.parametrize(
    "states", [{}, {STOCK: "running"}, PREPARED, SENT, {**SENT, CAPTURE: "completed"}, DONE]
)
def test_from_the_day_of_the_order_until_it_is_sent_and_then_from_that_day(states: dict[str, str]) -> None:
    assert said(forward(states)) == FROM_FRIDAY


def test_a_parcel_that_was_sent_on_another_day_arrives_by_that_day() -> None:
    tuesday = datetime(2026, 11, 24, 0, 1, tzinfo=UTC)
    assert said(sent_at(tuesday), after=4 * 86_400) == Arrival(date(2026, 11, 26), date(2026, 11, 30))


def test_nothing_is_said_once_the_last_day_has_passed() -> None:
    last = datetime(2026, 11, 26, 23, 59, tzinfo=UTC) - PLACED
    assert said(forward(DONE), after=last.total_seconds()) == FROM_FRIDAY
    assert said(forward(DONE), after=last.total_seconds() + 60) is None


def test_nothing_is_said_of_an_order_whose_delivery_is_not_known() -> None:
    assert said(forward({}), data={}) is None
    assert said(forward({}), data={"delivery": "soon"}) is None


@pytest.mark.parametrize(
    "case",
    [
        forward({**PREPARED, SHIPMENT: "failed"}),
        forward({**PREPARED, SHIPMENT: "held"}),
        forward({STOCK: "completed", APPROVAL: "declined"}),
        forward({STOCK: "completed", APPROVAL: "to be retried"}),
        forward({**PREPARED, SHIPMENT: "reversed first"}),
        forward({**PREPARED, SHIPMENT: "skipped"}),
        replace(forward({}), is_paused=True),
        cancel(forward(SENT)),
        all_reversed(forward(SENT)),
    ],
    ids=lambda case: case.name,
)
def test_nothing_is_said_of_an_order_that_is_held_up_or_goes_back(case: Case) -> None:
    assert said(case) is None


def test_nothing_is_said_of_an_order_that_is_late() -> None:
    assert said(forward(PREPARED), after=601) is None


def test_whatever_has_become_of_an_order_it_never_promises_a_day_beside_bad_news() -> None:
    for case in every_order():
        if said(case) is not None:
            present = case.read()
            assert (present.tone not in ("bad", "warn"), present.is_late, case.goal) == (
                True,
                False,
                "complete",
            )
