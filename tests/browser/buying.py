"""What a customer does in tests and before screenshots: fills the cart and the checkout, orders, cancels."""

import re
import time
from collections.abc import Callable

from playwright.sync_api import Page, expect

ADDRESS = {
    "Email": "ada@example.com",
    "Name": "Ada Lovelace",
    "Street and number": "12 St James’s Square",
    "Postal code": "SW1Y 4JH",
    "City": "London",
}
COMPLETE = re.compile("^Your posters? (is|are) on (its|their) way[.]$")
"""The headline of a complete order."""


def fill_cart(page: Page) -> None:
    """Puts two prints into the cart with the buttons."""
    for poster in ("/posters/first-sun/", "/posters/quiet-summit/?choice=quiet-summit-60x80-signed"):
        page.goto(poster)
        page.get_by_role("button", name="Add to cart").click()
        expect(page.locator(".toasts .notice")).to_contain_text(
            "is in your cart"
        )  # leaving earlier would stop the form
    page.goto("/cart/")


def show_gone(page: Page) -> None:
    """Shows a cart in which something is no longer for sale."""
    # Imported late, because they import models. Playwright's loop runs in this thread, so another queries the database.
    from orders.shop.models import Product  # noqa: PLC0415
    from tests.support.roles import in_thread  # noqa: PLC0415

    def sell(is_listed: bool) -> None:
        product = Product.objects.filter(sku="first-sun")
        in_thread(lambda: product.update(is_listed=is_listed)).result(timeout=60)

    fill_cart(page)
    sell(False)
    page.reload()
    sell(True)


def fill_checkout(page: Page, method: str = "card_ok") -> None:
    """Fills in the checkout."""
    fill_cart(page)
    page.goto("/checkout/")
    for label, text in ADDRESS.items():
        page.get_by_label(label, exact=True).fill(text)
    choose_country(page, "GB")
    page.locator(f"[value={method}]").check()


def choose_country(page: Page, country: str) -> None:
    """Chooses a country, and waits until the checkout says what the order then comes to."""
    page.get_by_label("Country").select_option(country)
    button = page.get_by_role("button", name="Update the total")  # there is one without scripts alone
    if button.is_visible():
        button.click()
    wait_for_sum(page, country)


def wait_for_sum(page: Page, country: str) -> None:
    """Waits until the checkout says what an order to a country comes to."""
    page.locator(f"[data-sum]:not([aria-busy]) [data-country={country}]").wait_for()


def fail_checkout(page: Page) -> None:
    """Sends the checkout with mistakes."""
    fill_checkout(page)
    page.get_by_label("Email").fill("ada@")
    page.get_by_label("City").fill("")
    page.get_by_role("button", name="Place order").click()


def order(method: str, headline: str) -> Callable[[Page], None]:
    """Places a guest's order, and waits until its page's headline contains this text."""

    def act(page: Page) -> None:
        fill_checkout(page, method)
        page.get_by_role("button", name="Place order").click()
        page.wait_for_url("**/o/**")
        ends = time.monotonic() + 30
        while headline not in page.locator("#headline").inner_text() and time.monotonic() < ends:
            page.wait_for_timeout(300)
            page.reload()

    return act


def ask_to_cancel(page: Page) -> None:
    """Opens the question whether to cancel an order."""
    order("card_declined", "declined")(page)
    page.get_by_role("link", name="Cancel the order").click()


def cancel(page: Page) -> None:
    """Cancels an order."""
    ask_to_cancel(page)
    page.get_by_role("button", name="Yes, cancel the order").click()
    page.get_by_role("heading", name="Your order was cancelled.").wait_for()
