"""Who sees which order: guests by their link, customers in their account, and nobody else."""

from uuid import uuid4

from playwright.sync_api import expect

from tests.browser import buying
from tests.browser.conftest import Opener, States
from tests.browser.running import PASSWORD, Shop

HIDDEN = "We can’t find this order"


def test_signing_up_keeps_the_cart_and_the_order_is_in_the_account(shop: Shop, open_page: Opener) -> None:
    email = f"{uuid4().hex}@example.com"
    page = open_page("/")
    buying.fill_cart(page)
    page.goto("/account/sign-up/")
    page.get_by_label("Email").fill(email)
    page.get_by_role("button", name="Send me the link").click()
    page.wait_for_url("**/sent/")
    page.goto(shop.mailed_link(email))
    page.get_by_label("New password", exact=True).fill(PASSWORD)
    page.get_by_label("New password again").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url("**/account/")
    page.goto("/cart/")
    expect(page.locator(".lines .line")).to_have_count(2)

    page.get_by_role("link", name="Go to checkout").click()
    expect(page.get_by_label("Email")).to_have_value(email)
    for label, text in buying.ADDRESS.items():
        page.get_by_label(label, exact=True).fill(text)
    buying.choose_country(page, "GB")
    page.get_by_role("button", name="Place order").click()
    page.wait_for_url("**/orders/**")
    address = page.url.removeprefix(shop.url)
    page.goto("/account/orders/")
    expect(page.locator(f'.order a[href="{address}"]')).to_be_visible()


def test_signing_in_keeps_the_cart(shop: Shop, open_page: Opener) -> None:
    page = open_page("/")
    buying.fill_cart(page)
    page.goto("/account/sign-in/")
    page.get_by_label("Email").fill("bob@example.com")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/account/")
    page.goto("/cart/")
    expect(page.locator(".lines .line")).to_have_count(2)
    page.goto(shop.orders["bob's"])
    expect(page.locator("#headline")).to_have_text(buying.COMPLETE)


def test_another_customers_order_is_not_found(shop: Shop, open_page: Opener, states: States) -> None:
    for visitor in ("customer", "guest"):
        page = open_page("/", allow="404", storage_state=states[visitor])
        answer = page.goto(shop.orders["bob's"])
        assert answer is not None and answer.status == 404
        expect(page.get_by_role("heading", name=HIDDEN)).to_be_visible()


def test_a_guests_link_opens_her_order_anywhere(shop: Shop, open_page: Opener) -> None:
    page = open_page(shop.orders["done"])
    expect(page.locator("#headline")).to_have_text(buying.COMPLETE)


def test_a_link_that_was_changed_opens_nothing(shop: Shop, open_page: Opener) -> None:
    address = shop.orders["done"]
    for at in (5, len(address) - 5):
        changed = address[:at] + ("0" if address[at] != "0" else "1") + address[at + 1 :]
        page = open_page("/", allow="404")
        answer = page.goto(changed)
        assert answer is not None and answer.status == 404
        expect(page.get_by_role("heading", name=HIDDEN)).to_be_visible()
