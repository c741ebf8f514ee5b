"""Buying in a real browser, with the real server and the real workers."""

import re
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import buying
from tests.browser.axe import violations
from tests.browser.conftest import Opener
from tests.browser.running import Shop


def place(page: Page, method: str = "card_ok", *, email: str = "ada@example.com") -> None:
    """Orders two prints as a guest, and marks the order's page; a reload would remove the mark."""
    buying.fill_checkout(page, method)
    page.get_by_label("Email").fill(email)
    page.get_by_role("button", name="Place order").click()
    page.wait_for_url("**/o/**")
    page.evaluate("window.isTheSame = true")


def headline(page: Page) -> Locator:
    return page.locator("#headline")


def is_the_same(page: Page) -> bool:
    """Whether the page has not been loaded again."""
    return bool(page.evaluate("window.isTheSame === true"))


@pytest.mark.pattern("N2")
def test_an_order_is_shown_as_processed_without_a_reload(shop: Shop, open_page: Opener) -> None:
    shop.faults("warehouse", hang_rate=1.0)
    page = open_page("/")
    page.locator(".card__title a").first.click()
    page.get_by_role("button", name="Add to cart").click()
    page.get_by_role("link", name="Go to checkout").click()
    for label, text in buying.ADDRESS.items():
        page.get_by_label(label, exact=True).fill(text)
    buying.choose_country(page, "GB")
    with page.expect_response("**/events/**") as stream:
        page.get_by_role("button", name="Place order").click()
    assert stream.value.headers["content-type"].startswith("text/event-stream")
    page.evaluate("window.isTheSame = true")
    expect(headline(page)).to_have_text(re.compile("Thank you|taking a moment longer"))
    shop.system.clear_faults()
    expect(headline(page)).to_have_text(buying.COMPLETE)
    expect(page.locator(".track__step--done")).to_have_count(5)
    expect(page.locator("#live-stale")).to_be_hidden()
    assert is_the_same(page)


def test_a_declined_card_is_explained_and_another_card_pays(shop: Shop, open_page: Opener) -> None:
    page = open_page("/")
    place(page, "card_declined")
    expect(headline(page)).to_have_text("Your card was declined.")
    expect(page.locator(".progress__text")).to_contain_text("Choose another way to pay")
    assert is_the_same(page)
    page.get_by_label("A card that works").check()
    page.get_by_role("button", name="Pay this way").click()
    expect(headline(page)).to_have_text(buying.COMPLETE)


@pytest.mark.pattern("N2")
def test_an_outage_is_shown_as_a_delay_and_its_end_is_shown_too(shop: Shop, open_page: Opener) -> None:
    shop.faults("carrier", down=True)
    page = open_page("/")
    place(page)
    expect(headline(page)).to_have_text("We’re trying one step again.")
    sentence = page.locator(".progress__text")
    expect(sentence).to_contain_text(
        "The carrier isn’t answering, so we’re asking again. There’s nothing you need to do."
    )
    assert not re.search("error|fail", page.locator("#progress").inner_text(), re.IGNORECASE)
    assert violations(page) == []
    shop.system.clear_faults()
    expect(headline(page)).to_have_text(buying.COMPLETE)
    assert is_the_same(page)


def test_cancelling_shows_that_nothing_was_charged(shop: Shop, open_page: Opener) -> None:
    shop.faults("carrier", down=True)
    page = open_page("/")
    place(page)
    expect(page.locator(".track__step--done")).to_have_count(2)
    page.get_by_role("link", name="Cancel the order").click()
    page.get_by_role("button", name="Yes, cancel the order").click()
    expect(page.locator(".toasts")).to_contain_text("You’ve cancelled this order.")
    page.evaluate("window.isTheSame = true")
    expect(headline(page)).to_have_text("We’re cancelling your order.")
    sentence = page.locator(".progress__text")
    expect(sentence).to_contain_text(
        re.compile("Nothing was charged, and the €.* reserved on your card will be released")
    )
    shop.system.clear_faults()
    expect(headline(page)).to_have_text("Your order was cancelled.")
    expect(page.locator(".toasts .notice")).to_have_count(0)
    expect(sentence).to_contain_text("You cancelled it.")
    expect(sentence).to_contain_text(
        re.compile("Nothing was charged, and the €.* reserved on your card has been released")
    )
    assert is_the_same(page)


def test_a_refund_is_shown(shop: Shop, open_page: Opener) -> None:
    page = open_page(shop.orders["refunded"])
    expect(headline(page)).to_have_text("Your order was cancelled.")
    expect(page.locator(".progress__text")).to_contain_text(re.compile("We’ve refunded €.*"))


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_double_click_places_one_order(shop: Shop, open_page: Opener, scripts: bool) -> None:
    email = f"{uuid4().hex}@example.com"
    page = open_page("/", java_script_enabled=scripts)
    buying.fill_checkout(page)
    page.get_by_label("Email").fill(email)
    page.get_by_role("button", name="Place order").dblclick()
    expect(page).to_have_url(re.compile("/o/"))
    assert shop.orders_of(email) == 1


def test_a_form_in_another_window_leads_to_the_order_that_was_placed(shop: Shop, open_page: Opener) -> None:
    email = f"{uuid4().hex}@example.com"
    page = open_page("/")
    buying.fill_checkout(page)
    page.get_by_label("Email").fill(email)
    other = page.context.new_page()
    place(other, email=email)
    page.get_by_role("button", name="Place order").click()
    page.wait_for_url("**/o/**")
    # The rest of the token says when it was made.
    assert page.url.rpartition("/o/")[2].partition(".")[0] == other.url.rpartition("/o/")[2].partition(".")[0]
    assert shop.orders_of(email) == 1


def test_without_scripts_everything_can_be_bought_and_followed(shop: Shop, open_page: Opener) -> None:
    shop.faults("warehouse", latency_ms=[1500, 1500])
    page = open_page("/", java_script_enabled=False)
    buying.fill_checkout(page)
    page.get_by_role("button", name="Place order").click()
    expect(headline(page)).to_have_text(re.compile("Thank you"))
    expect(headline(page)).to_have_text(buying.COMPLETE)


def test_without_a_stream_the_page_keeps_up_by_polling(shop: Shop, open_page: Opener) -> None:
    shop.faults("warehouse", latency_ms=[1500, 1500])
    page = open_page("/", allow="/events/|ERR_FAILED")
    page.route("**/events/**", lambda route: route.abort())
    place(page)
    expect(headline(page)).to_have_text(re.compile("Thank you"))
    expect(headline(page)).to_have_text(buying.COMPLETE)
    assert is_the_same(page)


def test_an_order_can_be_placed_with_the_keyboard_alone(shop: Shop, open_page: Opener) -> None:
    page = open_page("/", reduced_motion="reduce")
    go_to(page, page.get_by_role("link", name="Skip to content"))
    press(page, "Enter")
    go_to(page, page.locator(".card__title a").first)
    press(page, "Enter")
    page.wait_for_url("**/posters/**")
    go_to(page, page.get_by_role("button", name="Add to cart"))
    press(page, "Space")
    page.wait_for_url("**/cart/")
    go_to(page, page.get_by_role("link", name="Go to checkout"))
    press(page, "Enter")
    page.wait_for_url("**/checkout/")
    for label, text in {**buying.ADDRESS, "Postal code": "2611 AB", "City": "Delft"}.items():
        go_to(page, page.get_by_label(label, exact=True))
        page.keyboard.type(text)
    go_to(page, page.get_by_label("Country"))
    page.keyboard.type("Neth")
    buying.wait_for_sum(page, "NL")
    go_to(page, page.locator("[name=payment_method]:checked"))
    press(page, "Space")
    go_to(page, page.get_by_role("button", name="Place order"))
    press(page, "Enter")
    page.wait_for_url("**/o/**")
    expect(headline(page)).to_have_text(buying.COMPLETE)


# The focus shows as an outline of the element, its label or its card. Nothing may cover the element's middle.
FOCUS_IS_SEEN = """element => {
    const box = element.getBoundingClientRect();
    const over = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const drawn = [element, element.closest("label"), element.closest(".card")].filter(Boolean);
    return {
        outlined: drawn.some(each => [getComputedStyle(each), getComputedStyle(each, "::after")].some(
            style => style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2)),
        uncovered: over !== null && drawn.some(each => each.contains(over) || over.contains(each)),
    };
}"""


def go_to(page: Page, target: Locator, most: int = 80) -> None:
    """Presses Tab until the target has the focus, which must be visible wherever it goes."""
    for _ in range(most):
        press(page, "Tab")
        focused = page.locator(":focus")
        if focused.count():
            seen = focused.evaluate(FOCUS_IS_SEEN)
            assert seen == {"outlined": True, "uncovered": True}, (focused.evaluate("e => e.outerHTML"), seen)
        if target.evaluate("element => element === document.activeElement"):
            return
    pytest.fail(f"{target} is not reached with Tab")


def press(page: Page, key: str) -> None:
    page.keyboard.press(key)
