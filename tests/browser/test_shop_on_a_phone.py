"""The shop on a small screen and with large text: the button within reach, nothing hidden, nothing beside the page."""

import pytest
from playwright.sync_api import Page, expect

from sasweb.languages import LANGUAGES
from tests.browser.conftest import Opener, States
from tests.support.wait import until

PHONE = {"width": 390, "height": 844}
TARGET = 44
"""CSS pixels: the height of what a finger hits easily."""


def enlarge_text(page: Page) -> None:
    """Sets text of twice the size, as the browser's setting does."""
    settings = page.context.new_cdp_session(page)
    settings.send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})


def test_on_a_phone_the_button_is_within_reach_and_hides_nothing(open_page: Opener) -> None:
    page = open_page("/posters/first-sun/", viewport=PHONE, has_touch=True)
    button = page.get_by_role("button", name="Add to cart")
    expect(button).to_be_in_viewport(ratio=1)
    page.get_by_role("link", name="For developers").scroll_into_view_if_needed()
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    last, bar = page.locator(".footer a").last.bounding_box(), page.locator(".poster__buy").bounding_box()
    assert last is not None
    assert bar is not None
    assert last["y"] + last["height"] <= bar["y"]
    page.get_by_role("button", name="One more").click()
    button.click()
    expect(page.get_by_label("How many of “First Sun”")).to_have_value("2")
    assert page.locator("[data-when-edited]").is_hidden()


def test_without_a_script_a_quantity_can_be_chosen_and_changed(open_page: Opener) -> None:
    page = open_page("/posters/first-sun/", viewport=PHONE, java_script_enabled=False)
    page.get_by_label("Quantity").fill("3")
    page.get_by_role("button", name="Add to cart").click()
    page.get_by_role("button", name="One less of “First Sun”").click()
    expect(page.get_by_label("How many of “First Sun”")).to_have_value("2")
    page.get_by_label("How many of “First Sun”").fill("5")
    page.get_by_role("button", name="Update").click()
    expect(page.get_by_label("How many of “First Sun”")).to_have_value("5")


def test_families_that_do_not_fit_say_so_and_the_chosen_one_is_in_view(open_page: Opener) -> None:
    page = open_page("/?family=constellation", viewport=PHONE)
    expect(page.locator(".chip[aria-current]")).to_be_in_viewport(ratio=1)
    sign = "getComputedStyle(document.querySelector('.chips'), '::after')"
    page.evaluate("document.querySelector('.chips').scrollLeft = 0")
    until(
        lambda: page.evaluate(f"{sign}.content.length > 2 && !{sign}.color.endsWith(', 0)')"), what="the sign"
    )
    page.evaluate("document.querySelector('.chips').scrollLeft = 9999")
    until(lambda: page.evaluate(f"{sign}.color.endsWith(', 0)')"), what="no sign at the end")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [320, 390])
def test_the_whole_menu_of_an_account_is_in_view(
    open_page: Opener, states: States, width: int, language: str
) -> None:
    phone = {"width": width, "height": 844}
    page = open_page("/account/addresses/", viewport=phone, storage_state=states["customer"], locale=language)
    assert page.locator("html").get_attribute("lang") == language
    items = page.locator(".account__menu").locator("a, button")
    expect(items).to_have_count(5)
    for item in items.all():
        box = item.bounding_box()
        assert box is not None
        assert box["height"] >= TARGET, item.inner_text()
        assert box["x"] >= 0, item.inner_text()
        assert box["x"] + box["width"] <= width, item.inner_text()
        assert item.evaluate("item => item.scrollWidth <= item.clientWidth"), item.inner_text()
        expect(item).to_be_in_viewport(ratio=1)
    assert page.locator(".account__menu").evaluate("menu => menu.scrollWidth <= menu.clientWidth")


@pytest.mark.parametrize("width", [390, 1280])
def test_text_of_twice_the_size_needs_no_scrolling_sideways(
    open_page: Opener, states: States, width: int
) -> None:
    page = open_page("/", viewport={"width": width, "height": 844}, storage_state=states["buyer"])
    for path in ("/", "/?q=hippopotamus", "/posters/first-sun/", "/cart/", "/checkout/", "/account/sign-in/"):
        page.goto(path)
        enlarge_text(page)
        page.wait_for_function("getComputedStyle(document.documentElement).fontSize === '32px'")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        if path.startswith("/posters/"):  # the bar would hide half of the page
            assert page.locator(".poster__buy").evaluate("bar => getComputedStyle(bar).position") == "static"


def test_a_style_of_twice_the_size_needs_no_scrolling_sideways_and_breaks_no_word(
    open_page: Opener, states: States
) -> None:
    page = open_page("/", viewport=PHONE, storage_state=states["buyer"])
    for path in ("/cart/", "/checkout/"):
        page.goto(path)
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
        title = page.locator(".line__title").first.bounding_box()
        assert title is not None
        assert title["width"] > 150, path
