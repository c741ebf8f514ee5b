"""Each email about an order leads to it and shows its posters, and is sent without them if they cannot be looked up."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import OperationalError
from django.urls import resolve

from orders.access.guest_links import read_token
from orders.business import Environment, LineName
from orders.emails.pictures import MOST
from orders.engine.contracts import Request
from orders.fields.order_numbers import spoken_number
from orders.models import Order
from orders.shop.agents import agents
from orders.shop.agents.mail import Mail
from orders.shop.enclosing import Encloser, LookUp, order_link
from orders.shop.fulfilment import PAYMENT, POINT_OF_NO_RETURN
from orders.shop.letters import Enclosures
from orders.shop.models import Edition, Product
from orders.vocabulary import EventKind, Reason
from tests.agents.calls import compensate, forward, perform, reversal_of
from tests.sandbox.process import Sandbox
from tests.support.enclosures import look_up
from tests.support.factories import step_of
from tests.support.mailbox import mailbox
from tests.web.shopping import customer, done, note, shop_order

LINK = "https://shop.example/o/abc/"


@contextmanager
def failing() -> Iterator[LookUp]:
    def fail(request: Request, _: Enclosures) -> Enclosures:
        raise KeyError(request.order_id)

    yield fail


@contextmanager
def hanging() -> Iterator[LookUp]:
    """A look-up that takes longer than anybody waits for it."""
    end = threading.Event()

    def hang(_request: Request, enclosures: Enclosures) -> Enclosures:
        end.wait(60.0)
        return enclosures

    try:
        yield hang
    finally:
        end.set()


def known(_request: Request, enclosures: Enclosures) -> Enclosures:
    """The look-up of a guest."""
    return replace(enclosures, link=LINK, is_guests=True)


def body_of_email(sandbox: Sandbox, request: Request, *look_ups: LookUp) -> str:
    """The text of the email that is sent with what these look-ups find."""
    agent = Mail(
        f"smtp://127.0.0.1:{sandbox.port + 1}",
        sender="Print Shop <orders@shop.example>",
        encloser=Encloser(*look_ups, within=0.2),
    )
    (compensate if request.compensates else perform)(agent, request)
    (mail,) = (mail for mail in sandbox.ledger("mail") if mail["order_id"] == str(request.order_id))
    return str(mail["body"])


@pytest.mark.pattern("A1")
@pytest.mark.parametrize("trouble", [failing, hanging])
def test_an_email_is_sent_without_what_cannot_be_looked_up(trouble: Any, sandbox: Sandbox) -> None:
    request = forward("send-confirmation")
    with trouble() as look_up_in_vain:
        body = body_of_email(sandbox, request, known, look_up_in_vain)
    assert f"Go to your order:\n\n{LINK}\n" in body
    assert "Anyone who has this email" in body


@pytest.mark.pattern("A1")
@pytest.mark.parametrize("trouble", [failing, hanging])
def test_an_email_has_no_link_while_nobody_knows_who_can_open_it(trouble: Any, sandbox: Sandbox) -> None:
    """A REST client's customer cannot. Everybody else finds the order by its number."""
    request = forward("send-confirmation")
    with trouble() as look_up_in_vain:
        body = body_of_email(sandbox, request, look_up_in_vain)
    assert "http" not in body and "Anyone who has this email" not in body
    assert spoken_number(request.order_id) in body


def test_what_can_be_looked_up_is_enclosed_although_something_else_fails(sandbox: Sandbox) -> None:
    with failing() as look_up_in_vain:
        assert f"{LINK}\n" in body_of_email(sandbox, forward("send-confirmation"), look_up_in_vain, known)


def test_a_connection_that_the_database_has_closed_is_opened_anew_for_the_same_email(
    sandbox: Sandbox,
) -> None:
    attempts: list[Request] = []

    def look_up_twice(request: Request, enclosures: Enclosures) -> Enclosures:
        attempts.append(request)
        if len(attempts) == 1:
            raise OperationalError("server closed the connection unexpectedly")
        return known(request, enclosures)

    request = forward("send-confirmation")
    assert f"{LINK}\n" in body_of_email(sandbox, request, look_up_twice)
    assert attempts == [request, request]


@pytest.mark.pattern("C10")
def test_a_cancellation_that_cannot_be_looked_up_says_of_the_money_what_is_always_true(
    sandbox: Sandbox,
) -> None:
    with failing() as look_up_in_vain:
        body = body_of_email(sandbox, reversal_of(forward("send-confirmation")), look_up_in_vain)
    assert "If any money was reserved on your card or charged" in body


def test_the_link_opens_the_page_of_the_order() -> None:
    order_id = forward("send-confirmation").order_id
    page = resolve(urlsplit(order_link(order_id)).path)
    assert page.view_name == "order:guest-page"
    assert read_token(page.kwargs["token"]) == order_id


@pytest.mark.django_db
@pytest.mark.parametrize("is_guests", [True, False])
def test_what_is_enclosed_takes_at_most_four_statements(
    is_guests: bool, django_assert_max_num_queries: Any
) -> None:
    order = shop_order(done("create-shipment"), customer=None if is_guests else customer()[0])
    delivery = {"price": 0, "fewest_days": 1, "most_days": 2}
    skus = [f"print-{number}" for number in range(MOST + 1)]
    Product.objects.bulk_create(Product(sku=sku, title=sku, price=100, currency="EUR") for sku in skus[1:])
    lines = [{"sku": sku, "title": sku, "quantity": 1, "unit_price": 100} for sku in skus]
    request = replace(forward("send-confirmation", lines=lines, delivery=delivery), order_id=order.order_id)
    with django_assert_max_num_queries(4):
        enclosures = look_up(request)
    assert enclosures.sent_at == step_of(order, "create-shipment").completed_at
    assert enclosures.is_guests is is_guests
    assert sorted(enclosures.pictures) == skus[1:MOST]  # the first has gone, the last is one too many
    assert {picture.width for picture in enclosures.pictures.values()} == {72}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("owner", "email", "is_told", "has_link"),
    [
        ("", "ada@example.org", False, True),  # a guest's
        ("ada", "ADA@example.com", False, True),  # the account's own
        ("ada", "work@example.org", True, True),  # she has ordered on our pages, and can sign in
        ("client", "ada@example.org", False, False),  # a REST client's customer
    ],
)
def test_an_email_leads_to_the_order_only_who_can_open_it(
    owner: str, email: str, is_told: bool, has_link: bool
) -> None:
    order = shop_order(customer=customer(owner)[0] if owner else None, email=email)
    Order.objects.update(tells_customer=is_told)
    request = replace(forward("send-confirmation", lines=[]), order_id=order.order_id)
    enclosures = look_up(request)
    assert enclosures.link == (order_link(order.order_id) if has_link else "")
    assert enclosures.is_guests is not bool(owner)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "details"),
    [
        ("en", "60\u00a0×\u00a080\u00a0cm · Signed and numbered"),
        ("hu", "60\u00a0×\u00a080\u00a0cm · Szignált és számozott"),
    ],
)
def test_every_line_is_called_what_the_pages_call_it_in_the_language_of_its_order(
    language: str, details: str
) -> None:
    poster = Product.objects.create(sku="lines", title="Tidal Lines", price=100)
    skus = [f"lines-{number}" for number in range(MOST + 1)]
    for number, sku in enumerate(skus):
        Product.objects.create(
            sku=sku, variant_of=poster, size=f"6{number}x80", edition=Edition.SIGNED, title=sku, price=100
        )
    lines = [{"sku": sku, "title": sku, "quantity": 1, "unit_price": 100} for sku in [*skus, "gone"]]
    names = look_up(forward("send-confirmation", lines=lines, language=language)).names
    assert sorted(names) == skus  # also of those that have no picture
    assert names[skus[0]] == LineName(title="Tidal Lines", details=details)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("payment", "has_receipt"), [("completed", True), ("skipped", False), ("running", False)]
)
def test_a_confirmation_leads_to_the_receipt_once_the_money_was_taken(
    payment: str, has_receipt: bool
) -> None:
    order = shop_order(
        {POINT_OF_NO_RETURN: payment, "send-confirmation": "running"}, process_state="processing"
    )
    request = replace(forward("send-confirmation"), order_id=order.order_id)
    enclosures = look_up(request)
    assert enclosures.receipt == (f"{order_link(order.order_id)}receipt.pdf" if has_receipt else "")
    if has_receipt:
        assert resolve(urlsplit(enclosures.receipt).path).view_name == "shop:guest-order-receipt"


@pytest.mark.django_db
@pytest.mark.pattern("C10")
@pytest.mark.parametrize(
    ("reversed_steps", "money"),
    [
        ((), "No money was charged or reserved."),
        ((PAYMENT,), "Nothing was charged, and the €78.00 reserved on your card has been released."),
        (
            (PAYMENT, POINT_OF_NO_RETURN),
            "We’ve refunded €78.00. Your bank may take up to 10 days to show it.",
        ),
    ],
)
def test_a_cancellation_says_why_and_what_became_of_the_money_as_the_page_does(
    reversed_steps: tuple[str, ...], money: str, django_assert_max_num_queries: Any
) -> None:
    """The notice is sent while the order is still being cancelled."""
    steps = {"send-confirmation": "compensating", **dict.fromkeys(reversed_steps, "compensated")}
    order = shop_order(steps, goal="compensate", process_state="processing")
    note(order, EventKind.COMPENSATION_REQUESTED, why=Reason.CUSTOMER_CANCELLED)
    request = replace(reversal_of(forward("send-confirmation")), order_id=order.order_id)
    with django_assert_max_num_queries(12):
        assert look_up(request).cancellation == ["You cancelled it.", money]


@pytest.mark.django_db
def test_a_cancellation_is_told_in_the_language_of_its_order() -> None:
    order = shop_order({PAYMENT: "compensated"}, goal="compensate", process_state="processing")
    request = reversal_of(forward("send-confirmation", language="hu"))
    enclosed = look_up(replace(request, order_id=order.order_id)).cancellation
    assert "78,00\xa0EUR" in enclosed[1]


@pytest.mark.django_db
def test_replies_go_where_the_environment_says(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with mailbox(settings) as box:
        monkeypatch.setenv("EMAIL_URL", settings.CONFIG.email_url)
        monkeypatch.setenv("SHOP_EMAIL", "Prints <hello@prints.example>")
        (agent,) = (agent for agent in agents(Environment()) if agent.name == "mail")
        perform(agent, forward("send-confirmation"))
    (email,) = box.emails
    assert email["Reply-To"] == "Prints <hello@prints.example>"
