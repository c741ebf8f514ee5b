"""Tables of the console whose cells have ids, paths and email addresses: what a reader copies or compares is whole."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, ViewportSize, expect

from orders.access import api_tokens
from orders.models import ApiToken, LoggedRequest, OrderProcess
from orders.vocabulary import TokenScope
from tests.browser.axe import barriers
from tests.browser.conftest import Opener
from tests.browser.running import PASSWORD, Shop
from tests.support.factories import ago, ahead
from tests.support.roles import in_thread

T = TypeVar("T")
WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}

# An inline element that is broken has a box for each line, one with a box of its own gets higher.
LINES = """
    texts => texts.map(text => {
        const height = parseFloat(getComputedStyle(text).lineHeight);
        return [text.textContent, Math.max(text.getClientRects().length, Math.round(text.offsetHeight / height))];
    })
"""


@pytest.fixture
def stored(django_db_blocker: Any) -> Callable[[Callable[[], T]], T]:
    """Does work with the models in another thread than the browser's loop."""

    def do(work: Callable[[], T]) -> T:
        with django_db_blocker.unblock():
            return in_thread(work).result(timeout=60)

    return do


def open_as_admin(open_page: Opener, path: str) -> Page:
    page = open_page(path, viewport=WIDE)
    page.get_by_label("Name", exact=True).fill("anna")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    return page


def broken(page: Page, selector: str) -> list[str]:
    """The texts of these elements that take more than one line."""
    lines = page.locator(selector).evaluate_all(LINES)
    assert lines, selector
    return [text for text, count in lines if count != 1]


def test_the_tokens_are_whole(shop: Shop, open_page: Opener, stored: Any) -> None:
    def make() -> None:
        name = "grace.hopper@navy.example.com"
        User.objects.filter(username=name).delete()
        user = User.objects.create_user(name, name)
        for label in ("", "nightly export of everything for the data warehouse"):
            token, _ = api_tokens.mint(user, scopes=list(TokenScope), by="test", label=label)
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=ago(300))
        ApiToken.objects.filter(pk=token.pk).update(replaced_by="sas_QCG4Ps9x", expires_at=ahead(80_000))

    stored(make)
    page = open_as_admin(open_page, "/console/tokens/")
    expect(page.get_by_text("being replaced by")).to_be_visible()
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        assert broken(page, "main table code, main table .piece") == []
    assert barriers(page) == []


def test_the_requests_of_an_order_are_whole(shop: Shop, open_page: Opener, stored: Any) -> None:
    def make() -> str:
        order_id = OrderProcess.objects.values_list("order_id", flat=True)[0]
        for path in ("/api/v1/orders", f"/api/v1/orders/{order_id}/steps/authorise-payment/decision"):
            LoggedRequest.objects.create(
                request_id="4f1c0a52f7a94c0c8a7f1f3f7f6c2b11",
                customer_id=User.objects.get(username="anna").pk,
                method="POST",
                path=path,
                status=422,
                code="idempotency_key_reused",
                order_ids=[order_id],
                token="sas_QCG4Ps9x",
                at=ago(300),
                milliseconds=1_000,
            )
        return str(order_id)

    page = open_as_admin(open_page, f"/console/orders/{stored(make)}/")
    table = "main table:has(caption:text('Requests about this order'))"
    expect(page.locator(table)).to_be_visible()
    assert broken(page, f"{table} code, {table} .piece") == []
    page.set_viewport_size(NARROW)
    texts = broken(page, f"{table} code, {table} .piece")
    assert [text for text in texts if len(text) < 30] == []  # no card of this width has room for a whole id
    assert barriers(page) == []
