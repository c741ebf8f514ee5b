"""What the console says of a cancelled order, and where it shows that an order is paused."""

import re
from typing import Any

import pytest

from orders.management.commands.orders import _standing
from orders.models import Event
from orders.selectors.database_clock import now
from orders.selectors.desk.order_rows import order_progress
from orders.selectors.desk.standing import RetryLimits
from tests.support.factories import ago, ahead
from tests.web.conftest import Desk
from tests.web.console_orders import an_order, in_error

pytestmark = pytest.mark.django_db


def words_of(desk: Desk, path: str) -> str:
    page = desk("viewer").get(f"/console/orders/{path}").content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def standing_in_list(desk: Desk) -> str:
    page = desk("viewer").get("/console/orders/").content.decode()
    (cell,) = re.findall(r'<td class="brief-parts" data-label="Standing">(.*?)</td>', page, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", cell).split())


def cancelled(**steps: Any) -> Any:
    reversed_steps = {
        name.replace("_", "-"): {"state": "compensated", "attempt": 2, "outcome": outcome}
        for name, outcome in steps.items()
    }
    return an_order(reversed_steps, process_state="compensated", goal="compensate", finished_at=ago(5))


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ({"authorise_payment": "done", "capture_payment": "done"}, "€39.00 was refunded."),
        (
            {"authorise_payment": "done"},
            "€39.00 was held and has been released; nothing was charged.",
        ),
        ({"reserve_stock": "done"}, ""),
    ],
)
def test_a_cancelled_order_says_what_it_gave_back(desk: Desk, steps: dict[str, str], sentence: str) -> None:
    words = words_of(desk, f"{cancelled(**steps).pk}/")
    assert f"everything that can be reversed has been. {sentence}".strip() in words
    assert ("refunded" in words, "released" in words) == ("refunded" in sentence, "released" in sentence)


def test_a_step_that_only_sends_a_notice_is_not_called_reversed(desk: Desk) -> None:
    order = cancelled(reserve_stock="done", send_confirmation="none")
    for kind in ("compensation_started", "step_compensated"):
        for step in ("send-confirmation", "reserve-stock"):
            Event.objects.create(
                order_id=order.pk, kind=kind, step=step, attempt=2, actor_kind="scheduler", actor_name="s"
            )
    words = words_of(desk, f"{order.pk}/")
    assert "send-confirmation mail notice sent" in words
    assert "send-confirmation, notice of cancellation notice sent" in words
    assert "send-confirmation sent the notice of cancellation" in words
    assert "send-confirmation: notice of cancellation" in words, "so does the chart"
    assert "send-confirmation notice of cancellation (sent)" in words, "and its table"
    assert "reserve-stock reversal (reversed)" in words
    assert "Reversal of send-confirmation" not in words and "send-confirmation was reversed" not in words
    assert "reserve-stock, reversal reversed" in words and "Step reserve-stock was reversed" in words
    assert "1 call to send the notice of cancellation: sent." in words


def test_what_a_cancelled_order_never_began_was_not_needed_and_a_notice_was_not_sent(desk: Desk) -> None:
    order = an_order(
        {"capture-payment": "not_started", "send-confirmation": "not_started"},
        process_state="compensated",
        goal="compensate",
        finished_at=ago(5),
    )
    words = words_of(desk, f"{order.pk}/")
    assert "capture-payment payments not needed" in words and "send-confirmation mail no notice sent" in words


def test_an_order_that_waits_while_it_is_cancelled_says_first_that_it_is_cancelled(desk: Desk) -> None:
    step = {
        "state": "compensating",
        "attempt": 2,
        "outcome": "done",
        "complete_by": None,
        "not_before": ahead(50),
    }
    order = an_order(
        {"reserve-stock": step}, process_state="pending", goal="compensate", not_before=ahead(50)
    )
    words = words_of(desk, f"{order.pk}/")
    assert re.search(
        r"being cancelled retrying, next in .*It is being cancelled\. A call to warehouse", words
    )
    assert standing_in_list(desk).startswith("being cancelled retrying, next in")


def test_the_list_shows_that_an_order_is_paused_and_not_where_it_stood(desk: Desk) -> None:
    step = {"reserve-stock": {"state": "not_started", "attempt": 1, "not_before": ahead(60)}}
    order = an_order(step, process_state="pending", paused_at=ago(60))
    assert standing_in_list(desk) == "paused"
    order.paused_until = ago(1)
    order.save()
    assert standing_in_list(desk).startswith("retrying")


def test_an_order_in_error_stays_in_error_while_it_is_paused(desk: Desk) -> None:
    order = in_error(attempt=1)
    order.paused_at = ago(60)
    order.save()
    assert standing_in_list(desk) == "paused error"
    (progress,) = order_progress([order], retry_limits=RetryLimits(), now=now())
    assert _standing(progress, now()) == "paused, error"
