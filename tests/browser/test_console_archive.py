"""Archived orders in the console, in a browser: found, shown, not acted on; and their customers erased."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import expect

from tests.browser.axe import violations
from tests.browser.conftest import Opener
from tests.browser.running import Shop
from tests.browser.test_console_orders import LONG, desk_of, state_of
from tests.support.finished_orders import archive
from tests.support.roles import in_thread
from tests.support.wait import until

EMAIL = "wilhelmina.van-der-berg@long-customer-name.example.org"

Archived = Callable[[], UUID]


@pytest.fixture
def archived(shop: Shop, django_db_blocker: Any) -> Iterator[Archived]:
    """Places an order of `EMAIL` that finishes and is archived."""

    def place() -> UUID:
        (order_id,) = shop.system.place(email=EMAIL)
        return order_id

    def place_and_archive() -> UUID:
        order_id = in_thread(place).result(timeout=LONG)
        until(lambda: state_of(shop, order_id) == "processed", what="the end of the order")
        in_thread(lambda: archive(order_id)).result(timeout=LONG)
        return order_id

    with django_db_blocker.unblock():
        yield place_and_archive


def test_the_pages_of_archived_orders_are_accessible_in_every_size_and_colour(
    shop: Shop, open_page: Opener, archived: Archived
) -> None:
    order_id = archived()
    page = desk_of(open_page, "anna", "/console/orders/")
    trouble = []
    for path in (
        f"/console/orders/{order_id}/",
        f"/console/orders/{order_id}/erase/",
        f"/console/orders/?q={EMAIL}",
        f"/console/bulk/new/?q={EMAIL}",
    ):
        for colours in ("light", "dark"):
            for width in (1280, 360):
                page.set_viewport_size({"width": width, "height": 800})
                page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # type: ignore[arg-type]
                page.goto(path)
                trouble += [f"{path} {colours} {width}: {line}" for line in violations(page)]
                needed = page.evaluate("document.documentElement.scrollWidth")
                trouble += [f"{path} is {needed} px wide"] if needed > width else []
    assert trouble == []


def test_an_archived_order_is_found_and_shown_and_its_customer_is_erased(
    shop: Shop, open_page: Opener, archived: Archived
) -> None:
    order_id = archived()
    page = desk_of(open_page, "anna", "/console/orders/")
    page.locator("[data-search]").fill(EMAIL)
    page.keyboard.press("Enter")
    row = page.locator("[data-row]", has_text="archived").first
    expect(row.locator("input[type=checkbox]")).to_have_count(0)
    page.goto(f"/console/orders/{order_id}/")
    expect(page.locator("#main")).to_contain_text("it can no longer change")
    expect(page.locator("#steps")).to_contain_text("create-shipment")
    page.get_by_role("link", name="Erase…").click()
    expect(page.locator("#main")).to_contain_text("would be erased")
    page.get_by_label("Reason").fill("she asked for it")
    page.get_by_label("Type erase to confirm").fill("erase")
    page.get_by_role("button", name="Erase the customer").click()
    expect(page.locator("#status")).to_contain_text("was erased")
    page.goto(f"/console/orders/{order_id}/")
    expect(page.locator("#main")).to_contain_text("erased@erased.invalid")
    expect(page.get_by_role("link", name="Erase…")).to_have_count(0)
    named = "SELECT count(*) FROM orders_archivedorder WHERE document::text ILIKE %s OR email ILIKE %s"
    assert shop.count(named, "%wilhelmina%", "%wilhelmina%") == 0
