"""Chinese has no spaces between its sentences, and signs of its own, as its colon is."""

# ruff: noqa: RUF001 - the signs of Chinese

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.message import EmailMessage
from html import unescape
from typing import Any

import pytest

from orders.business.updates import OrderUpdate
from orders.engine.contracts import Json
from orders.models import Order, OrderProcess
from orders.outbox import queue
from orders.outbox.order_link_emails import IS_NEW
from orders.services.accounts import ask_for_new_password, ask_to_sign_up
from orders.shop.demo.catalogue import load_catalogue
from orders.shop.editions import EditionNumbers
from orders.shop.letters import OrderEmail, compose_cancellation, compose_confirmation
from orders.vocabulary import MessageKind
from tests.support.mailbox import mailbox, text_of
from tests.support.order_bodies import EMAIL, LONDON
from tests.support.people import PASSWORD, person
from tests.unit.order_emails import ENCLOSURES, SENDER, as_received, request
from tests.web.customer_pages import ORDERS, every_page
from tests.web.shopping import shop_order

pytestmark = pytest.mark.django_db
CHINESE = "zh-hans"
HAN = "[\u3400-\u9fff]"
WRONG = re.compile(
    rf".?.?[。？！：；，、][ \u00a0]+{HAN}.?.?"  # a space between sentences
    rf"|.?.?{HAN}[”）]?[:;?!,](?!//).?.?.?"  # a sign of another script after a letter
    rf"|\d和.?.?|.?.?和\d"  # numbers are set apart from letters
)
INLINE = "a|strong|b|em|i|span|time|code|abbr|bdi"


def wrong_in(text: str) -> list[str]:
    """The places of a Chinese text that are punctuated as if it were another language."""
    return [place.strip() for place in WRONG.findall(text)]


def read_aloud(html: str) -> str:
    """What a page says, with a line for each element that stands alone, and for each attribute that people hear."""
    body = re.sub(r"<(script|style|head)\b.*?</\1>", "", html, flags=re.DOTALL)
    attributes = re.findall(r'(?:aria-label|alt|placeholder|data-text)="([^"]*)"', body)
    body = re.sub(rf"</?(?:{INLINE})\b[^>]*>", "", re.sub(r"\s+", " ", body))
    return unescape("\n".join([re.sub(r"<[^>]+>", "\n", body), *attributes]))


def test_a_page_is_punctuated_as_chinese_is() -> None:
    load_catalogue()
    pages = list(every_page(CHINESE))
    assert len(pages) > 95
    wrong = {(page.name, place) for page in pages for place in wrong_in(read_aloud(page.html))}
    assert sorted(wrong) == []


EMAILS: Mapping[str, Callable[[], object]] = {
    "sign up": lambda: ask_to_sign_up(email="new@example.com", following="", language=CHINESE),
    "sign up again": lambda: ask_to_sign_up(email="customer@example.com", following="", language=CHINESE),
    "new password": lambda: ask_for_new_password(email="customer@example.com", language=CHINESE),
    "a first email": lambda: post(MessageKind.ORDER_LINK, shop_order(), **{IS_NEW: True}),
    "a link": lambda: post(MessageKind.ORDER_LINK, shop_order()),
    "declined": lambda: post_update(ORDERS["declined"](), OrderUpdate.DECLINED),
    "sold out": lambda: post_update(ORDERS["sold out"](), OrderUpdate.DECLINED),
    "late": lambda: post_update(ORDERS["late"](), OrderUpdate.LATE),
    "stopped": lambda: post_update(ORDERS["stopped"](), OrderUpdate.STOPPED),
}


def post(kind: MessageKind, order: OrderProcess, **arguments: Any) -> None:
    queue.post(
        kind=kind,
        recipient=EMAIL,
        order_id=order.order_id,
        arguments={"language": CHINESE, **arguments},
    )


def post_update(order: OrderProcess, update: OrderUpdate) -> None:
    Order.objects.filter(pk=order.order_id).update(tells_customer=True)
    post(MessageKind.ORDER_UPDATE, order, update=update)


def said_in(email: EmailMessage) -> str:
    html = email.get_body(("html",))
    assert html is not None
    return "\n".join([str(email["Subject"]), text_of(email), read_aloud(html.get_content())])


@pytest.mark.parametrize("name", EMAILS)
def test_an_email_is_punctuated_as_chinese_is(name: str, settings: Any) -> None:
    person("customer", "customer", password=PASSWORD)
    with mailbox(settings) as box:
        EMAILS[name]()
        (email,) = box.deliver()
    assert wrong_in(said_in(email)) == []


@pytest.mark.parametrize("compose", [compose_confirmation, compose_cancellation])
@pytest.mark.parametrize("results", [{}, {"create-shipment": {"tracking": "TRACK-1"}}])
def test_the_shops_own_emails_are_punctuated_as_chinese_is(
    compose: Callable[..., OrderEmail], results: dict[str, Json]
) -> None:
    numbers = {"tidal-lines": EditionNumbers(numbers=(96, 97), size=100)}
    enclosures = replace(ENCLOSURES, numbers=numbers, receipt="https://shop.example/o/abc/receipt.pdf")
    step = request(language=CHINESE, ship_to={**LONDON, "name": "王伟"}, results=results)
    email = as_received(compose(step, sender=SENDER, enclosures=enclosures))
    assert wrong_in(said_in(email)) == []
    if compose is compose_confirmation:
        assert "编号 96 和 97（共 100 张）" in text_of(email)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("好。 好", ["好。 好"]),
        ("好。好，好：1\n好。\n好", []),
        ("合计: €5", ["合计: €5"]),
        ("96和97", ["96和9"]),
        ("96 和 97 https://shop.example/", []),
    ],
)
def test_what_is_wrong_is_named(text: str, places: list[str]) -> None:
    assert wrong_in(text) == places
