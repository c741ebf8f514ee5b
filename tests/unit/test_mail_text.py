"""What the emails about an order say."""

import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from orders.business import LineName
from orders.engine.contracts import Json
from orders.fields.order_numbers import spoken_number
from orders.shop.letters import (
    Enclosures,
    compose_cancellation,
    compose_confirmation,
    read_sender,
)
from orders.shop.tracking import Parcel, parcel_of
from tests.support.mailbox import text_of
from tests.unit.order_emails import ENCLOSURES, KEEP_IT, ORDER, PICTURE, SENDER, as_received, html_of, request


def test_the_confirmation_lists_the_lines_the_total_and_the_address() -> None:
    mail = as_received(compose_confirmation(request(), sender=SENDER))
    text = text_of(mail)
    assert mail["To"] == "ada@example.org"
    assert mail["From"] == "Print Shop <orders@shop.example>"
    assert mail["X-Order-Id"] == str(ORDER)
    assert mail["Subject"] == "Your order is confirmed (J46G-TPEM)"
    for part in ("Hello Ada Łucka,", spoken_number(ORDER), "2 × Tidal Lines: €78.00", "1 × Első nap: €49.00"):
        assert part in text
    for part in ("Total: €127.00", "1 Main St", "30-001 Kraków", "Poland"):
        assert part in text
    assert "racking" not in text


def test_the_confirmation_names_the_tracking_number_when_there_is_one() -> None:
    shown = compose_confirmation(request(results={"create-shipment": {"tracking": "trk_1"}}), sender=SENDER)
    assert "Tracking number: trk_1" in text_of(as_received(shown))


SETTING = "https://parcels.example/?id={tracking}"


def test_the_confirmation_leads_to_the_carriers_page_about_the_parcel() -> None:
    mail = as_received(
        compose_confirmation(
            request(results={"create-shipment": {"tracking": "trk_1"}}),
            sender=SENDER,
            enclosures=Enclosures(tracking_url=SETTING),
        )
    )
    assert "Tracking number:\n  trk_1\n  https://parcels.example/?id=trk_1\n" in text_of(mail)
    assert re.search(r'<a [^>]*href="https://parcels\.example/\?id=trk_1"[^>]*>trk_1</a>', html_of(mail))


@pytest.mark.parametrize(
    ("answer", "setting", "url"),
    [
        ({}, "", ""),
        ({}, SETTING, "https://parcels.example/?id=a%2F%22%C3%A9"),
        ({"tracking_url": "https://carrier.example/p/1"}, SETTING, "https://carrier.example/p/1"),
        ({"tracking_url": "javascript:alert(1)"}, SETTING, "https://parcels.example/?id=a%2F%22%C3%A9"),
        ({"tracking_url": "https://x\nBcc: eve"}, "", ""),
        ({"tracking_url": "https://x/" + "y" * 500}, "", ""),
        ({"tracking_url": ["https://x/"]}, "", ""),
    ],
)
def test_a_parcels_page_is_the_carriers_answer_or_follows_from_the_setting(
    answer: Json, setting: str, url: str
) -> None:
    parcel = parcel_of({"tracking": 'a/"é', **answer}, tracking_url=setting)
    assert parcel == Parcel(tracking='a/"é', url=url)


@pytest.mark.parametrize("result", [None, {}, {"tracking": 5}, {"tracking": "a\nb"}])
def test_the_confirmation_does_not_need_a_usable_tracking_number(result: Any) -> None:
    shown = compose_confirmation(request(results={"create-shipment": result}), sender=SENDER)
    assert "racking" not in text_of(as_received(shown))


@pytest.mark.pattern("C10")
def test_the_notice_says_that_nothing_is_owed_and_no_action_is_needed_and_guesses_no_sum() -> None:
    mail = as_received(compose_cancellation(request(), sender=SENDER))
    text = text_of(mail)
    assert "cancelled" in mail["Subject"]
    assert mail["X-Order-Id"] == str(ORDER)
    for part in ("was cancelled", "released or refunded", "up to 10 days", "nothing you need to do"):
        assert part in text
    assert "carrier" not in text and "€127.00 has" not in text


@pytest.mark.pattern("C10")
def test_the_notice_says_why_and_what_became_of_the_money_where_that_is_known() -> None:
    sentences = ("You cancelled it.", "Nothing was charged or reserved.")
    enclosures = replace(ENCLOSURES, cancellation=sentences)
    mail = as_received(compose_cancellation(request(), sender=SENDER, enclosures=enclosures))
    for part in (text_of(mail), html_of(mail)):
        assert all(sentence in part for sentence in sentences)
        assert "If any money" not in part and "bank" not in part


@pytest.mark.pattern("C10")
def test_the_notice_of_an_order_that_was_handed_over_says_so_without_the_number_of_its_parcel() -> None:
    request_ = request(results={"create-shipment": {"tracking": "trk_1"}})
    text = text_of(as_received(compose_cancellation(request_, sender=SENDER)))
    assert "The carrier already had your parcel, so we’ve cancelled the shipment." in text
    assert "trk_1" not in text


def test_the_confirmation_repeats_the_gift_note_where_there_is_one() -> None:
    without = as_received(compose_confirmation(request(), sender=SENDER))
    assert "Gift note" not in text_of(without) + html_of(without)
    mail = as_received(compose_confirmation(request(gift_note="For Éva <3\nAda"), sender=SENDER))
    assert "Poland\nGift note for the parcel: For Éva <3 Ada\n" in text_of(mail)
    assert "Gift note for the parcel" in html_of(mail) and "For Éva &lt;3 Ada" in html_of(mail)


@pytest.mark.parametrize("compose", [compose_confirmation, compose_cancellation])
def test_both_emails_call_each_line_what_the_pages_call_it(compose: Any) -> None:
    names = {"tidal-lines": LineName(title="Tidal Lines", details="30 × 40 cm · Open edition")}
    mail = as_received(compose(request(), sender=SENDER, enclosures=Enclosures(names=names)))
    lines = "  2 × Tidal Lines: €78.00\n      30 × 40 cm · Open edition\n  1 × Első nap: €49.00\n  Total: €127.00\n"
    assert lines in text_of(mail)
    assert html_of(mail).count(">30 × 40 cm · Open edition</span>") == 1


def test_names_in_any_script_arrive_as_they_are() -> None:
    sender = read_sender("Plakát 포스터 <orders@shop.example>")
    ship_to = {**request().data["ship_to"], "name": "김민지 Müller", "city": "서울", "country": "KR"}
    mail = as_received(compose_confirmation(request(ship_to=ship_to), sender=sender))
    assert mail["From"] == "Plakát 포스터 <orders@shop.example>"
    for part in (text_of(mail), html_of(mail)):
        assert "Hello 김민지 Müller," in part and "서울" in part and "South Korea" in part


@pytest.mark.parametrize(
    ("tag", "language", "total"),
    [("en", "en", "€127.00"), ("hu-HU", "hu", "127,00"), ("tlh", "en", "€127.00")],
)
def test_an_email_is_in_the_language_of_the_order_if_we_have_it(tag: str, language: str, total: str) -> None:
    mail = as_received(compose_confirmation(request(language=tag), sender=SENDER))
    assert f'<html lang="{language}">' in html_of(mail)
    assert total in text_of(mail) and total in html_of(mail)


def test_both_forms_of_an_email_say_the_same_and_fetch_nothing() -> None:
    ship_to = {**request().data["ship_to"], "name": "<b>Ada</b> & Co"}
    mail = as_received(compose_confirmation(request(ship_to=ship_to), sender=SENDER, enclosures=ENCLOSURES))
    html = html_of(mail)
    assert "&lt;b&gt;Ada&lt;/b&gt; &amp; Co" in html and "<b>Ada" not in html
    assert not re.search(r"(src|url)\W{1,3}https?:|<script|@import", html)
    assert re.findall(r"href=\"(.*?)\"", html) == [ENCLOSURES.link]
    words = unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)).split()
    missing = set(text_of(mail).replace(":", " ").replace("2 ×", "").replace("1 ×", "").split()) - set(words)
    missing -= {"https", ENCLOSURES.link.removeprefix("https:")}
    assert missing == set()


@pytest.mark.pattern("A3", "A7")
def test_the_same_request_and_enclosures_give_the_same_email() -> None:
    first, second = (
        compose_confirmation(request(), sender=SENDER, enclosures=ENCLOSURES).content for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("compose", [compose_confirmation, compose_cancellation])
@pytest.mark.parametrize("is_guests", [True, False])
def test_both_emails_lead_to_the_order_and_show_what_has_a_picture(compose: Any, is_guests: bool) -> None:
    enclosures = replace(ENCLOSURES, is_guests=is_guests)
    mail = as_received(compose(request(), sender=SENDER, enclosures=enclosures))
    html = html_of(mail)
    assert f"Go to your order:\n\n{ENCLOSURES.link}\n" in text_of(mail)
    assert f'<a class="action" href="{ENCLOSURES.link}"' in html
    assert html.count("<img") == html.count(f'src="cid:{PICTURE.cid}"') == 1
    (png,) = (part for part in mail.walk() if part.get_content_type() == "image/png")
    assert (png["Content-ID"], png.get_content()) == (f"<{PICTURE.cid}>", PICTURE.png)
    assert (KEEP_IT in text_of(mail)) == (KEEP_IT in html) == is_guests
