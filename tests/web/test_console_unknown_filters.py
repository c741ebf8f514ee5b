"""A list of the console, or an export, that is asked for what it does not know says so and matches nothing."""

from typing import Any

import pytest

from orders.models import AuditEntry
from tests.web.conftest import Desk
from tests.web.console_orders import in_error

pytestmark = pytest.mark.django_db

LISTS = (
    *("orders/", "alerts/", "decisions/", "compensation/", "set-aside/", "bulk/", "audit/", "outbox/"),
    "bulk/new/",
)
EXPORTS = ("orders.csv", "alerts.csv", "audit.csv")


def read(answer: Any) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(content.decode())


@pytest.mark.parametrize("path", LISTS)
def test_a_list_lists_nothing_for_a_filter_that_it_does_not_have(path: str, desk: Desk) -> None:
    order = in_error()
    page = read(desk("operator").get(f"/console/{path}?sate=processed&state=error"))
    assert "This list has no filter “sate”." in page
    assert str(order.pk) not in page and 'action="/console/bulk/create/"' not in page


@pytest.mark.parametrize("path", EXPORTS)
def test_an_export_is_refused_for_a_filter_that_it_does_not_have(path: str, desk: Desk) -> None:
    order = in_error()
    answer = desk("operator").get(f"/console/{path}?sate=processed")
    text = read(answer)
    assert (answer.status_code, str(order.pk) in text) == (400, False)
    assert text.startswith("This list has no filter “sate”.")
    assert not AuditEntry.objects.filter(act="export").exists()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("outbox/?view=lost", "There is no view lost of the outbox."),
        ("audit/?since=yesterday", "Enter a time such as 2026-01-31T08:00."),
        ("audit.csv?since=yesterday", "Enter a time such as 2026-01-31T08:00."),
        ("orders.csv?state=broken", "Unknown state broken."),
    ],
)
def test_a_value_that_cannot_be_read_matches_nothing_and_is_named(query: str, words: str, desk: Desk) -> None:
    order = in_error()
    AuditEntry.objects.create(actor="operator:olga", act="resubmit", target=f"order {order.pk}")
    page = read(desk("viewer").get(f"/console/{query}"))
    assert words in page
    assert "operator:olga" not in page and str(order.pk) not in page


def test_the_place_where_a_page_begins_is_no_filter(desk: Desk) -> None:
    order = in_error()
    page = read(desk("viewer").get("/console/orders/?after=~&archived=~&state=error"))
    assert str(order.pk) in page
