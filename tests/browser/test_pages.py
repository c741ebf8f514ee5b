"""Every page of the shop: accessible in light and dark, no wider than a phone, small, and without layout shifts."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from tests.browser import buying
from tests.browser.axe import violations
from tests.browser.conftest import Opener, States
from tests.browser.running import Shop

HEAVIEST = 150_000
"""Bytes, as transferred."""
MOST_SHIFT = 0.1
STATUS = "performance.getEntriesByType('navigation')[0].responseStatus"


class Kind(NamedTuple):
    """A page. `path` is a path, or names the order that the page is about; `act` does something with the page first."""

    name: str
    path: str
    visitor: str = "guest"
    status: int = 200
    act: Callable[[Page], object] | None = None


def send_empty(page: Page) -> None:
    page.get_by_role("button", name="Place order").click()
    expect(page.locator("[role=alert]")).to_be_visible()


def find_nothing(page: Page) -> None:
    page.get_by_label("Order number").fill("0199d6a0-0000-7000-8000-000000000000")
    page.get_by_label("Email").last.fill("ada@example.com")
    page.get_by_role("button", name="Email me the link").click()
    expect(page.get_by_role("heading", name="Check your email")).to_be_visible()


def sign_in_wrongly(page: Page) -> None:
    page.get_by_label("Email").fill("nobody@example.com")
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("[role=alert]")).to_be_visible()


KINDS: Sequence[Kind] = (
    Kind("catalogue", "/"),
    Kind("catalogue-price", "/?family=contours&min=40", act=lambda page: page.locator("summary").click()),
    Kind("catalogue-size", "/?size=60x80&max=100"),
    Kind("catalogue-nothing", "/?q=hippopotamus"),
    Kind("poster", "/posters/first-sun/"),
    Kind("cart-empty", "/cart/"),
    Kind("cart", "/cart/", "buyer"),
    Kind("cart-added", "/", act=buying.fill_cart),
    Kind("checkout", "/checkout/", "buyer"),
    Kind("checkout-mistakes", "/checkout/", "buyer", act=send_empty),
    Kind("order-done", "order:done"),
    Kind("order-declined", "order:declined"),
    Kind("order-stopped", "order:stopped"),
    Kind("order-refunded", "order:refunded"),
    Kind("order-of-an-account", "order:ada's", "customer"),
    Kind("order-cancel", "order:declined:cancel/"),
    Kind("order-cancel-too-late", "order:done:cancel/"),
    Kind("order-hidden", "/o/nothing/", status=404),
    Kind("find", "/orders/find/"),
    Kind("find-asked", "/orders/find/", act=find_nothing),
    Kind("sign-in", "/account/sign-in/"),
    Kind("sign-in-wrong", "/account/sign-in/", act=sign_in_wrongly),
    Kind("sign-up", "/account/sign-up/"),
    Kind("sign-up-sent", "/account/sign-up/sent/"),
    Kind("forgotten", "/account/forgotten/"),
    Kind("link-stale", "/account/sign-up/old/", status=410),
    Kind("account", "/account/", "customer"),
    Kind("account-orders", "/account/orders/", "customer"),
    Kind("account-addresses", "/account/addresses/", "customer"),
    Kind("account-address", "/account/addresses/new/", "customer"),
    Kind("account-password", "/account/password/", "customer"),
    Kind("shipping", "/shipping/"),
    Kind("returns", "/returns/"),
    Kind("privacy", "/privacy/"),
    Kind("contact", "/contact/"),
    Kind("not-found", "/nothing/", status=404),
    Kind("problems", "/api/problems/"),
    Kind("problem", "/api/problems/validation_failed"),
)

every_page = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@pytest.fixture
def show(shop: Shop, open_page: Opener, states: States) -> Callable[..., Page]:
    """Opens a page of a kind, as its visitor."""

    def show_it(kind: Kind, **options: object) -> Page:
        allow = str(kind.status) if kind.status >= 400 else ""
        page = open_page(
            address(shop, kind),
            allow=allow,
            storage_state=states[kind.visitor],
            reduced_motion="reduce",
            **options,
        )
        assert page.url == shop.url + address(shop, kind), "the visitor was redirected"
        assert page.evaluate(STATUS) == kind.status
        if kind.act:
            kind.act(page)
        return page

    return show_it


def address(shop: Shop, kind: Kind) -> str:
    if not kind.path.startswith("order:"):
        return kind.path
    _, which, *end = kind.path.split(":")
    return shop.orders[which] + "".join(end)


@every_page
def test_every_page_is_accessible_in_light_and_dark(show: Callable[..., Page], kind: Kind) -> None:
    page = show(kind, viewport={"width": 1280, "height": 900}, color_scheme="light")
    assert violations(page) == []
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    assert violations(page) == []


def test_an_inaccessible_page_is_noticed(open_page: Opener) -> None:
    page = open_page("/account/sign-in/")
    page.evaluate("document.querySelector('label').remove()")
    page.evaluate("document.querySelector('h1').style.color = 'silver'")
    assert {line.split(":")[0] for line in violations(page)} == {"label", "color-contrast"}


@every_page
def test_it_is_no_wider_than_a_phone(show: Callable[..., Page], kind: Kind) -> None:
    page = show(kind, viewport={"width": 390, "height": 844}, has_touch=True)
    for width in (390, 360):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.act], ids=lambda kind: kind.name)
def test_a_page_is_small_and_its_layout_does_not_shift(
    shop: Shop, open_page: Opener, states: States, kind: Kind
) -> None:
    allow = str(kind.status) if kind.status >= 400 else ""
    page = open_page("about:blank", storage_state=states[kind.visitor], allow=allow)
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    sizes: list[float] = []
    network.on("Network.loadingFinished", lambda done: sizes.append(done["encodedDataLength"]))
    page.goto(address(shop, kind), wait_until="load")
    assert page.url == shop.url + address(shop, kind), "the visitor was redirected"
    page.wait_for_function("[...document.images].every(image => image.complete || image.loading === 'lazy')")
    moved = page.evaluate(
        """() => new Promise(resolve => new PerformanceObserver(
            list => resolve(list.getEntries().reduce((sum, entry) => sum + entry.value, 0))
        ).observe({type: "layout-shift", buffered: true}) || setTimeout(() => resolve(0), 300))"""
    )
    assert len(sizes) > 5
    assert sum(sizes) < HEAVIEST
    assert moved < MOST_SHIFT


def test_good_news_disappears_automatically_and_bad_news_stays(open_page: Opener) -> None:
    page = open_page("about:blank")
    page.clock.install()
    buying.fill_cart(page)
    page.goto("/posters/polar-noon/")
    page.get_by_role("button", name="Add to cart").click()
    toast = page.locator(".toasts .notice")
    expect(toast).to_contain_text("is in your cart")
    page.mouse.move(0, 0)
    page.clock.run_for(11_000)
    expect(toast).to_have_count(0)

    page.get_by_label("How many of").first.fill("100")
    page.get_by_role("button", name="Update").first.click()
    expect(toast).to_contain_text("You can order 1 to 99 of each print.")
    page.clock.run_for(60_000)
    expect(toast).to_be_visible()
