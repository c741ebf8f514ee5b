"""The shop's plain pages: what they say, what comes from settings, and what is missing."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import Client

from orders.business.updates import OrderUpdate
from orders.models import Order, OutgoingMessage
from orders.outbox.order_update_emails import compose
from orders.shop.owner import present_owner, read_owner
from orders.shop.storefront.information import PAGES
from orders.vocabulary import MessageKind
from sasweb.config import read
from sasweb.environment import ConfigError, Environment
from tests.web.shopping import guest_page, shop_order

pytestmark = pytest.mark.usefixtures("db")
FACTS = {
    "SHOP_COMPANY": "Prints & Sons Ltd",
    "SHOP_ADDRESS": "12 St James’s Square, London , SW1Y 4JH",
    "SHOP_REGISTRATION": "Company 01234567, VAT GB123456789",
    "SHOP_PHONE": "+44 20 7946 0000",
    "SHOP_EMAIL": "hello@prints.example",
}


@pytest.fixture(autouse=True)
def fresh_owner() -> Iterator[None]:
    """Reads the environment anew, before a test and after it."""
    present_owner.cache_clear()
    yield
    present_owner.cache_clear()


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch) -> None:
    """An owner who has made all settings."""
    for name, value in FACTS.items():
        monkeypatch.setenv(name, value)


def words(client: Client, page: str) -> str:
    """What a page says, without its tags."""
    response = client.get(f"/{page}/")
    assert response.status_code == 200
    main = response.content.decode().partition("<main")[2].partition("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


@pytest.mark.parametrize("page", PAGES)
def test_every_page_of_the_shop_leads_to_each(client: Client, page: str) -> None:
    assert f'href="/{page}/"' in client.get("/cart/").content.decode()
    assert words(client, page)


@pytest.mark.parametrize("page", ["contact", "privacy"])
def test_the_owner_is_named_by_the_settings(client: Client, owner: None, settings: Any, page: str) -> None:
    settings.IS_DEMONSTRATION = True
    text = words(client, page)
    assert (
        "Prints &amp; Sons Ltd 12 St James’s Square London SW1Y 4JH Company 01234567, VAT GB123456789" in text
    )
    assert "SHOP_" not in text


@pytest.mark.parametrize("page", ["contact", "privacy"])
def test_a_demonstration_shows_which_settings_are_not_made(client: Client, settings: Any, page: str) -> None:
    settings.IS_DEMONSTRATION = True
    assert "SHOP_COMPANY SHOP_ADDRESS SHOP_REGISTRATION" in words(client, page)
    settings.IS_DEMONSTRATION = False
    assert "SHOP_" not in words(client, page)


@pytest.mark.parametrize(
    ("shop_email", "address"),
    [("", "orders@prints.example"), ("Prints <hello@prints.example>", "hello@prints.example")],
)
def test_pages_and_emails_name_the_same_address_to_write_to(
    client: Client,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    shop_email: str,
    address: str,
) -> None:
    monkeypatch.setenv("VAR_DIR", str(tmp_path))
    monkeypatch.setenv("EMAIL_FROM", "Prints <orders@prints.example>")
    monkeypatch.setenv("SHOP_EMAIL", shop_email)
    present = read()
    settings.CONFIG = replace(settings.CONFIG, email_from=present.email_from, shop_email=present.shop_email)
    order = shop_order({"reserve-stock": "failed"}, process_state="error")
    Order.objects.update(tells_customer=True)
    arguments = {"update": OrderUpdate.STOPPED}
    message = OutgoingMessage(order_id=order.order_id, kind=MessageKind.ORDER_UPDATE, arguments=arguments)
    (email,) = compose(message)
    pages = [
        client.get(f"/{page}/").content.decode() for page in ("shipping", "returns", "privacy", "contact")
    ]
    for text in (*pages, client.get(guest_page(order)).content.decode(), email.body):
        assert set(re.findall(r"[a-z]+@prints\.example", text)) == {address}


@pytest.mark.parametrize(
    ("days", "sentence"), [("1", "you have 1 day to send"), ("30", "you have 30 days to send"), ("0", "")]
)
def test_the_time_for_returns_is_a_setting(
    client: Client, monkeypatch: pytest.MonkeyPatch, days: str, sentence: str
) -> None:
    monkeypatch.setenv("SHOP_RETURN_DAYS", days)
    text = words(client, "returns")
    assert sentence in text if sentence else "send them back" not in text


def test_a_time_for_returns_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_RETURN_DAYS", "a fortnight")
    with pytest.raises(ConfigError, match="SHOP_RETURN_DAYS"):
        read_owner(Environment())


def test_a_deployment_is_told_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def warnings() -> list[str]:
        present_owner.cache_clear()
        checks = run_checks(include_deployment_checks=True, databases=[])
        return [check.msg for check in checks if check.id == "shop.W001"]

    assert [text.partition(" are not set")[0] for text in warnings()] == [
        "SHOP_COMPANY, SHOP_ADDRESS, SHOP_REGISTRATION"
    ]
    monkeypatch.setenv("SHOP_COMPANY", "Prints Ltd")
    monkeypatch.setenv("SHOP_ADDRESS", "London")
    assert [text.partition(" is not set")[0] for text in warnings()] == ["SHOP_REGISTRATION"]
    monkeypatch.setenv("SHOP_REGISTRATION", "Company 1")
    assert warnings() == []
