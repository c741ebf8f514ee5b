"""What emails about an order say of its sum: delivery, included tax, the receipt, and when it should arrive."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from orders.business import Line, SumRow
from orders.emails.html import as_html
from orders.emails.letter import Letter, as_text
from orders.fields.money import Money
from orders.shop.letters import Enclosures, compose_cancellation, compose_confirmation
from orders.wording.customers.ordered_items import ordered_items
from tests.support.mailbox import text_of
from tests.unit.order_emails import SENDER, as_received, html_of, request

SUMMED = {
    "delivery": {"price": 890, "fewest_days": 3, "most_days": 6},
    "tax": {"rate": 2300, "amount": 2541},
    "total": 13590,
}


@pytest.mark.parametrize("compose", [compose_confirmation, compose_cancellation])
def test_both_emails_have_what_stands_between_the_lines_and_the_total(compose: Any) -> None:
    mail = as_received(compose(request(**SUMMED), sender=SENDER))
    assert (
        "  1 × Első nap: €49.00\n  Delivery to Poland: €8.90\n  Total: €135.90\n  Includes 23% VAT: €25.41\n"
    ) in text_of(mail)
    html = html_of(mail)
    places = [html.index(part) for part in ("Delivery to Poland", "€8.90", "€135.90", "Includes 23% VAT")]
    assert places == sorted(places)


def test_an_email_says_that_delivery_is_free() -> None:
    free = {"delivery": {**SUMMED["delivery"], "price": 0}, "total": 12700}
    assert "Delivery to Poland: free" in text_of(
        as_received(compose_confirmation(request(**free), sender=SENDER))
    )


def test_the_confirmation_says_when_the_parcel_should_arrive_from_when_it_was_sent() -> None:
    sent = {"create-shipment": {"tracking": "trk_1"}}
    sent_at = datetime(2026, 11, 27, 23, 59, tzinfo=UTC)
    friday = Enclosures(sent_at=sent_at, written_at=datetime(2026, 12, 7, 23, 59, tzinfo=UTC))
    too_late = replace(friday, written_at=datetime(2026, 12, 8, tzinfo=UTC))
    mail = as_received(
        compose_confirmation(request(results=sent, **SUMMED), sender=SENDER, enclosures=friday)
    )
    assert "Should arrive: Wed 2 Dec – Mon 7 Dec" in text_of(mail).replace("\u2009", " ")
    for results, data, enclosures in (
        ({}, SUMMED, friday),
        (sent, {}, friday),
        (sent, SUMMED, Enclosures()),
        (sent, SUMMED, too_late),
    ):
        mail = as_received(
            compose_confirmation(request(results=results, **data), sender=SENDER, enclosures=enclosures)
        )
        assert "Should arrive" not in text_of(mail)


def test_the_confirmation_leads_to_the_receipt() -> None:
    url = "https://shop.example/o/x/receipt.pdf"
    mail = as_received(compose_confirmation(request(), sender=SENDER, enclosures=Enclosures(receipt=url)))
    assert f"Receipt:\n  Download the PDF\n  {url}\n" in text_of(mail)
    assert "eceipt" not in text_of(as_received(compose_confirmation(request(), sender=SENDER)))


def test_what_a_total_consists_of_stands_between_the_lines_and_the_total() -> None:
    sums = [
        SumRow(label="Delivery to <Germany>", amount=Money(amount=690, currency="EUR"), is_included=False),
        SumRow(label="includes 21% VAT", amount=Money(amount=120, currency="EUR"), is_included=True),
    ]
    lines = [Line(sku="nap", title="Nap", unit_price=4900)]
    total = Money(amount=5590, currency="EUR")
    items = ordered_items(lines, total=total, names={}, pictures={}, sums=sums)
    letter = Letter(language="en", sender="S", subject="S", preheader="", blocks=[items])
    assert as_text(letter) == (
        "  1 × Nap: €49.00\n  Delivery to <Germany>: €6.90\n  Total: €55.90\n  includes 21% VAT: €1.20\n"
    )
    parts = ("Nap<", "€49.00", "Delivery to &lt;Germany&gt;", "€6.90", "Total", "€55.90", "21% VAT", "€1.20")
    places = [as_html(letter).index(part) for part in parts]
    assert places == sorted(places)
