"""What is left, from the warehouse to the customer's page, and the numbers of what she has bought."""

import re

from playwright.sync_api import expect

from tests.browser import buying
from tests.browser.axe import violations
from tests.browser.conftest import Opener
from tests.browser.running import Shop
from tests.support.wait import until

SKU = "orchestra-pit-60x80-signed"
KNOWN = "SELECT count(*) FROM orders_product WHERE sku = %s AND stock = 2"


def test_the_last_prints_of_an_edition_are_counted_down_and_numbered(shop: Shop, open_page: Opener) -> None:
    shop.faults("warehouse", stock={SKU: 2})
    until(lambda: shop.count(KNOWN, SKU) == 1, what="a reading of the stock", seconds=150)
    page = open_page("/posters/orchestra-pit/")
    choice = page.locator(".choice").filter(has=page.locator(f"[value={SKU}]"))
    expect(choice).to_contain_text("Edition of 100, 2 left")
    page.get_by_label("Quantity").fill("40")
    choice.locator("input").check()
    expect(page.get_by_label("Quantity")).to_have_value("2")
    more = page.get_by_role("button", name="One more", exact=True)
    expect(more).to_be_disabled()
    page.get_by_role("button", name="One less", exact=True).click()
    more.click()
    expect(more).to_be_disabled()
    page.get_by_role("button", name="Add to cart").click()
    line = page.locator(f"#line-{SKU}")
    expect(line).to_contain_text("Only 2 left")
    expect(line.get_by_role("spinbutton")).to_have_value("2")
    expect(line.get_by_role("button", name="One more")).to_be_disabled()
    assert violations(page) == []
    page.get_by_role("link", name="Go to checkout").click()
    for label, text in buying.ADDRESS.items():
        page.get_by_label(label, exact=True).fill(text)
    buying.choose_country(page, "GB")
    page.get_by_role("button", name="Place order").click()
    expect(page.locator("#headline")).to_have_text(buying.COMPLETE)
    expect(page.locator("#progress")).to_contain_text(re.compile(r"Nos\. \d+ and \d+ of 100"))
