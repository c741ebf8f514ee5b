"""The API's documentation in a browser: in the reader's colours, and on a phone, too."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import Opener

LIGHT, DARK = "rgba(0, 0, 0, 0)", "rgb(28, 32, 34)"


def open_docs(open_page: Opener, **options: object) -> Page:
    page = open_page("/api/docs/", **options)
    expect(page.get_by_role("heading", name="Place a first order")).to_be_visible()
    return page


def test_orders_come_first(open_page: Opener) -> None:
    page = open_docs(open_page)
    expect(page.locator(".opblock-tag").first).to_contain_text("orders")
    expect(page.locator(".opblock").first).to_contain_text("List your orders")


def test_the_colours_are_those_of_the_system_or_those_that_the_reader_has_chosen(open_page: Opener) -> None:
    page = open_docs(open_page, color_scheme="light")
    root = page.locator("html")
    expect(root).to_have_css("background-color", LIGHT)
    page.emulate_media(color_scheme="dark")
    expect(root).to_have_css("background-color", DARK)
    page.evaluate("localStorage.setItem('theme', 'light')")
    page.reload()
    expect(page.locator(".opblock").first).to_be_visible()
    expect(root).to_have_css("background-color", LIGHT)


def test_an_operation_fits_a_phone(open_page: Opener) -> None:
    page = open_docs(open_page, viewport={"width": 390, "height": 844}, has_touch=True)
    page.get_by_role("button", name="Place an order").first.click()
    expect(page.get_by_text("The order has been accepted.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
