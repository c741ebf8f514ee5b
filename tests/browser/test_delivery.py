"""The total that a customer sees at the checkout is that of her order, its page and its email, to the cent."""

import re
from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser import buying
from tests.browser.conftest import Opener
from tests.browser.running import Shop


def sums(page: Page) -> list[str]:
    """What the page says in the rows of the sum."""
    rows = page.locator(".sum__rows > div")
    return [" ".join(text.split()) for text in rows.all_inner_texts()]


def fill_in(page: Page) -> None:
    for label, text in buying.ADDRESS.items():
        page.get_by_label(label, exact=True).fill(text)


def test_the_total_follows_the_country_and_is_what_the_page_and_the_email_say(
    shop: Shop, open_page: Opener
) -> None:
    page = open_page("/")
    buying.fill_cart(page)
    page.goto("/checkout/")
    button = page.get_by_role("button", name="Place order")
    expect(button).to_have_text("Place order")
    assert sums(page)[-1] == "Delivery from €4.90"
    fill_in(page)
    email = f"{uuid4().hex}@example.com"
    page.get_by_label("Email").fill(email)
    buying.choose_country(page, "DE")
    german = sums(page)
    buying.choose_country(page, "NL")
    page.get_by_label("Postal code", exact=True).fill("2611 AB")
    assert sums(page) != german
    expect(page.locator("[aria-live=polite][data-sum]")).to_contain_text(
        re.compile("Should arrive \\w+ \\d+ \\w+")
    )
    _prints, delivery, to_pay, tax = sums(page)
    total = to_pay.removeprefix("To pay ")
    assert delivery == "Delivery to the Netherlands €4.90"
    assert tax.startswith("Includes 21% VAT €")
    expect(button).to_have_text(f"Place order for {total}")
    button.click()
    page.wait_for_url("**/o/**")
    expect(page.locator("#headline")).to_have_text(buying.COMPLETE)
    assert sums(page) == [delivery, f"Total {total}", tax]
    text = shop.mailed_text(email, "with the carrier")
    for label, amount in (re.fullmatch(r"(.*) (€[\d.]+)", row).groups() for row in sums(page)):  # type: ignore[union-attr]
        assert f"{label}: {amount}" in text


def test_without_javascript_the_total_is_shown_before_anything_is_ordered(open_page: Opener) -> None:
    page = open_page("/", java_script_enabled=False)
    buying.fill_cart(page)
    page.goto("/checkout/")
    fill_in(page)
    page.get_by_label("Country").select_option("DE")
    page.get_by_role("button", name="Update the total").click()
    expect(page.get_by_role("button", name=re.compile("Place order for €"))).to_be_visible()
    expect(page.get_by_label("City", exact=True)).to_have_value(buying.ADDRESS["City"])
    page.get_by_label("Country").select_option("GB")
    page.get_by_role("button", name="Place order").click()
    expect(page.get_by_role("alert")).to_contain_text("The total has changed since you last saw it.")
    page.get_by_role("button", name="Place order").click()
    page.wait_for_url("**/o/**")


def test_a_total_that_cannot_be_had_is_asked_for_when_the_form_is_sent(open_page: Opener) -> None:
    page = open_page("/", allow="ERR_FAILED")
    buying.fill_cart(page)
    page.goto("/checkout/")
    fill_in(page)
    page.get_by_label("Postal code", exact=True).fill("10115")
    page.route("**/checkout/sum/**", lambda route: route.abort())
    page.get_by_label("Country").select_option("DE")
    page.get_by_role("button", name="Place order").click()
    expect(page.get_by_role("alert")).to_contain_text(
        re.compile("With delivery to Germany your order comes to €[\\d.]+. Press the button again")
    )
    page.get_by_role("button", name=re.compile("Place order for €")).click()
    page.wait_for_url("**/o/**")
