"""The console's frame in a real browser: live updates, keyboard, accessibility, and no wider than a phone."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import violations
from tests.browser.complaints import quiet_context
from tests.browser.conftest import Opener
from tests.browser.running import PASSWORD, Shop

PATIENCE = 30_000
"""Milliseconds within which a live update arrives."""
PAGES = ("", "agents/", "supervisor/", "workflow/")

Desks = Mapping[str, Any]


@pytest.fixture(scope="module")
def desks(running: Shop, browser: Browser) -> Desks:
    """The browser's state for each person who has signed in to the console."""
    saved = {}
    for name in ("vera", "olga"):
        with quiet_context(browser, url=running.url) as context:
            page = context.new_page()
            page.goto("/console/sign-in/")
            page.get_by_label("Name", exact=True).fill(name)
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url(lambda url: "/sign-in/" not in url, timeout=PATIENCE)
            saved[name] = context.storage_state()
    return saved


@pytest.fixture
def paused(shop: Shop, open_page: Opener, desks: Desks) -> Iterator[Page]:
    """A page of an operator who has paused the mail agent; it is resumed at the end."""
    page = open_page("/console/agents/", storage_state=desks["olga"])
    page.get_by_text("Pause mail…").click()
    panel = page.locator("#mail details[open]")
    panel.get_by_label("Reason").fill("the post is on strike")
    panel.get_by_role("button", name="Pause mail").click()
    expect(page.locator("#state-mail")).to_contain_text("paused")
    yield page
    resume = page.get_by_role("button", name="Resume mail")
    if resume.count():
        resume.click()
        expect(page.get_by_text("Pause mail…")).to_be_visible()


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_accessible_in_light_and_dark_and_no_wider_than_a_phone(
    open_page: Opener, desks: Desks, path: str
) -> None:
    page = open_page(
        f"/console/{path}",
        storage_state=desks["olga"],
        viewport={"width": 1280, "height": 900},
        color_scheme="light",
        reduced_motion="reduce",
    )
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    assert violations(page) == []
    page.set_viewport_size({"width": 360, "height": 780})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.pattern("A8")
def test_an_operator_sees_anothers_acts_without_a_reload(
    open_page: Opener, desks: Desks, paused: Page
) -> None:
    watching = open_page("/console/agents/", storage_state=desks["vera"])
    expect(watching.locator("#facts-mail")).to_contain_text("Paused by olga")
    expect(watching.locator("#live-state")).to_contain_text("Live", timeout=PATIENCE)
    watching.evaluate("window.isTheSame = true")
    paused.get_by_role("button", name="Resume mail").click()
    expect(watching.locator("#facts-mail")).not_to_contain_text("Paused by olga", timeout=PATIENCE)
    assert watching.evaluate("window.isTheSame")


def test_past_moments_are_never_shown_as_future_whatever_the_browsers_clock_says(
    open_page: Opener, desks: Desks
) -> None:
    """Until the page knows the server's time, it has only the browser's, which is an hour slow."""
    page = open_page("/console/orders/", storage_state=desks["olga"])
    page.goto(str(page.locator("[data-row] a[href]").first.get_attribute("href")))
    page.clock.set_fixed_time(datetime.now(UTC) - timedelta(hours=1))
    page.reload()
    assert str(page.locator("main time[data-past]").first.text_content()).endswith(" ago")


def test_nothing_moves_under_the_pointer(open_page: Opener, desks: Desks) -> None:
    page = open_page("/console/orders/", storage_state=desks["vera"])
    page.locator("[data-row]").first.hover()
    expect(page.locator("#live-state")).to_have_text("Updates paused", timeout=PATIENCE)
    page.mouse.move(0, 0)
    expect(page.locator("#live-state")).to_have_text("Live", timeout=PATIENCE)


def test_new_rows_wait_behind_a_button(shop: Shop, open_page: Opener, desks: Desks) -> None:
    """The order has a workflow that no scheduler knows, so it stays as it is."""
    page = open_page("/console/orders/", storage_state=desks["vera"])
    rows = page.locator("[data-row]")
    before = rows.count()
    order = "0199d6a0-ffff-7000-8000-000000000001"
    try:
        shop.count(
            """
            INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count,
                                             overruns, priority, reply_to, announced)
            VALUES (%s, 'unknown', 1, 'complete', 'error', 0, 0, 5, '', true) RETURNING 1
            """,
            order,
        )
        button = page.get_by_role("button", name="1 new")
        expect(button).to_be_visible(timeout=PATIENCE)
        assert rows.count() == before
        button.click()
        expect(page.locator(f"[data-key-id='{order}']")).to_be_visible()
    finally:
        shop.count("DELETE FROM orders_orderprocess WHERE order_id = %s RETURNING 1", order)


@pytest.mark.pattern("A8")
def test_without_a_stream_the_page_says_so_and_polls(open_page: Opener, desks: Desks, paused: Page) -> None:
    watching = open_page("/console/workflow/", allow="events/console|net::ERR", storage_state=desks["vera"])
    watching.route("**/events/console/", lambda route: route.abort())
    watching.goto("/console/agents/")
    expect(watching.locator("#live-state")).to_contain_text("Live updates lost", timeout=PATIENCE)
    expect(watching.locator("#facts-mail")).to_contain_text("Paused by olga")
    paused.get_by_role("button", name="Resume mail").click()
    expect(watching.locator("#facts-mail")).not_to_contain_text("Paused by olga", timeout=PATIENCE)


def test_the_keyboard_goes_through_the_rows(open_page: Opener, desks: Desks) -> None:
    page = open_page("/console/orders/", storage_state=desks["olga"])
    rows = page.locator("[data-row]")
    assert rows.count() >= 2
    page.keyboard.press("j")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("x")
    expect(rows.nth(1).get_by_role("checkbox")).to_be_checked()
    page.keyboard.press("k")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox").first).to_be_focused()
    page.keyboard.type("jk?")  # while somebody types, the keys are letters
    expect(page.get_by_role("searchbox").first).to_have_value("jk?")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_e_opens_the_row(open_page: Opener, desks: Desks) -> None:
    page = open_page("/console/orders/", storage_state=desks["vera"])
    order = page.locator("[data-row]").first.get_attribute("data-key-id")
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.wait_for_url(f"**/console/orders/{order}/")


def test_the_keys_are_explained_and_can_be_switched_off(open_page: Opener, desks: Desks) -> None:
    page = open_page("/console/orders/", storage_state=desks["vera"])
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    assert violations(page) == []
    page.get_by_label("Use single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("j")
    expect(page.locator("[data-row].is-here")).to_have_count(0)
    page.reload()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_text("vera", exact=True).click()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_label("Use single-key shortcuts").check()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("[data-row].is-here")).to_have_count(1)
