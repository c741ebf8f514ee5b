"""The console's keys and its command palette in a real browser: they act on what is selected, or not at all."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import violations
from tests.browser.complaints import quiet_context
from tests.browser.conftest import Opener
from tests.browser.running import PASSWORD, Shop

PATIENCE = 30_000
FIRST, SECOND = "0199d6a0-ffff-7000-8000-0000000000a1", "0199d6a0-ffff-7000-8000-0000000000a2"


@pytest.fixture(scope="module")
def olga(running: Shop, browser: Browser) -> Any:
    """The browser's state once an operator has signed in."""
    with quiet_context(browser, url=running.url) as context:
        page = context.new_page()
        page.goto("/console/sign-in/")
        page.get_by_label("Name", exact=True).fill("olga")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(lambda url: "/sign-in/" not in url, timeout=PATIENCE)
        return context.storage_state()


@pytest.fixture
def failed(shop: Shop) -> Iterator[tuple[str, str]]:
    """Two orders in Error, of a workflow that no scheduler knows, so they stay as they are."""
    for order in (FIRST, SECOND):
        shop.count(
            """
            INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count,
                                             overruns, priority, reply_to, announced)
            VALUES (%s, 'unknown', 1, 'complete', 'error', 0, 0, 5, '', true) RETURNING 1
            """,
            order,
        )
    yield FIRST, SECOND
    for table in ("orders_bulkitem", "orders_orderprocess"):
        deletion = f"DELETE FROM {table} WHERE order_id = ANY(%s::uuid[]) RETURNING 1"
        shop.count(f"WITH deleted AS ({deletion}) SELECT count(*) FROM deleted", [FIRST, SECOND])


def actions(shop: Shop) -> int:
    return shop.count("SELECT count(*) FROM orders_bulkaction")


def row_of(page: Page, order: str) -> Any:
    return page.locator(f'[data-row][data-key-id="{order}"]')


def test_with_nothing_selected_a_key_says_so_and_does_nothing(
    shop: Shop, open_page: Opener, olga: Any, failed: tuple[str, str]
) -> None:
    page = open_page("/console/orders/?state=error", storage_state=olga)
    before, url = actions(shop), page.url
    for key in "reu":
        page.keyboard.press(key)
        expect(page.locator("#status [data-hint]")).to_contain_text("Nothing is selected.")
        expect(page.locator("#status [data-hint]")).to_have_count(1)
    assert (actions(shop), page.url) == (before, url)


def test_r_takes_the_ticked_rows_to_the_preview(
    shop: Shop, open_page: Opener, olga: Any, failed: tuple[str, str]
) -> None:
    page = open_page("/console/orders/?state=error", storage_state=olga)
    before = actions(shop)
    for order in failed:
        row_of(page, order).locator("a").first.focus()
        page.keyboard.press("x")
    page.keyboard.press("e")
    expect(page.locator("#status [data-hint]")).to_contain_text("Several rows are ticked")
    page.keyboard.press("r")
    page.wait_for_url(re.compile("/console/bulk/new/"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Resubmit 2 orders")
    assert all(order in page.url for order in failed)
    assert actions(shop) == before


def test_r_and_u_act_on_the_current_row_which_stays_the_current_one(
    shop: Shop, open_page: Opener, olga: Any, failed: tuple[str, str]
) -> None:
    page = open_page("/console/orders/?state=error", storage_state=olga)
    row = row_of(page, failed[0])
    row.locator("a").first.focus()
    page.keyboard.press("r")
    expect(row).to_contain_text("will be resubmitted")
    expect(row).to_be_focused()
    expect(row_of(page, failed[1])).not_to_contain_text("will be resubmitted")
    page.keyboard.press("u")
    expect(row.get_by_role("button", name="Resubmit")).to_be_visible()


def test_on_an_orders_page_the_keys_act_on_that_order(
    shop: Shop, open_page: Opener, olga: Any, failed: tuple[str, str]
) -> None:
    page = open_page(f"/console/orders/{failed[0]}/", storage_state=olga)
    page.keyboard.press("r")
    expect(page.locator("#acts")).to_contain_text("will be resubmitted")
    page.keyboard.press("u")
    expect(page.locator("#acts").get_by_role("button", name="Resubmit", exact=True)).to_be_visible()


def test_g_and_a_letter_go_to_a_page(open_page: Opener, olga: Any) -> None:
    page = open_page("/console/", storage_state=olga)
    for key, path in (("l", "orders/"), ("a", "alerts/"), ("b", "bulk/"), ("o", "")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**/console/{path}")


def test_the_palette_goes_to_pages_orders_and_agents_by_keyboard(
    open_page: Opener, olga: Any, failed: tuple[str, str]
) -> None:
    page = open_page("/console/", storage_state=olga)
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to")
    expect(palette.get_by_role("combobox")).to_be_focused()
    assert violations(page) == []
    page.keyboard.type("super")
    expect(palette.get_by_role("option", selected=True)).to_contain_text("Supervisor")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/supervisor/")
    page.keyboard.press("Control+k")
    page.keyboard.type("carr")
    expect(palette.get_by_role("option").first).to_contain_text("carrier")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    page.keyboard.press("Control+k")
    page.keyboard.type(str(UUID(failed[0])))
    expect(palette.get_by_role("option", selected=True)).to_contain_text("order, error")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/console/orders/{failed[0]}/")


def test_on_an_orders_page_the_palette_leads_to_the_forms_of_its_acts(
    open_page: Opener, olga: Any, failed: tuple[str, str]
) -> None:
    page = open_page(f"/console/orders/{failed[0]}/", storage_state=olga)
    page.keyboard.press("Control+k")
    page.keyboard.type("cancel")
    page.keyboard.press("Enter")
    page.wait_for_url("**/compensate/")


def test_without_keys_there_is_no_palette(open_page: Opener, olga: Any) -> None:
    page = open_page("/console/", storage_state=olga)
    page.evaluate("localStorage.setItem('console-keys', 'off')")
    page.reload()
    for keys in ("Control+k", "?", "g"):
        page.keyboard.press(keys)
    page.keyboard.press("l")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_the_query_bar_completes_fields_and_values_by_keys_and_keeps_the_rest(
    open_page: Opener, olga: Any, failed: tuple[str, str]
) -> None:
    page = open_page("/console/orders/", storage_state=olga)
    bar = page.get_by_role("combobox", name="Query", exact=True)
    options = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    bar.focus()
    page.keyboard.type("age:<90d st")
    expect(options).to_contain_text(["state:", "standing:", "step:"])
    expect(bar).to_have_attribute("aria-expanded", "true")
    expect(bar).not_to_have_attribute("aria-activedescendant", re.compile("."))
    page.keyboard.press("ArrowDown")
    expect(bar).to_have_attribute("aria-activedescendant", "f-q-option-0")
    expect(page.locator("#f-q-option-0")).to_have_attribute("aria-selected", "true")
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(bar).to_have_value("age:<90d state:")
    page.keyboard.type("err")
    expect(options).to_have_text(["error It failed. An operator has to decide what to do."])
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    expect(bar).to_have_value("age:<90d state:err")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#f-q-options [aria-selected=true] code")).to_have_text("error")
    page.keyboard.press("Enter")
    expect(bar).to_have_value("age:<90d state:error ")
    page.set_viewport_size({"width": 390, "height": 800})
    bar.evaluate("bar => bar.setSelectionRange(8, 8)")  # another word before the last
    page.keyboard.type(" agent:p")
    options.filter(has_text="payments").click()
    expect(bar).to_have_value("age:<90d agent:payments state:error ")
    expect(bar).to_be_focused()
    bar.fill("state:error")
    page.keyboard.press("Enter")
    page.wait_for_url("**/orders/?q=state%3Aerror")
    expect(row_of(page, failed[0])).to_be_visible()
    expect(page.locator("#orders [data-row]").first).to_be_in_viewport()  # on a phone, without scrolling
