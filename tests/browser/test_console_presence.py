"""Two people at one order, each in a browser of her own."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import Opener
from tests.browser.running import PASSWORD, Shop
from tests.support.roles import in_thread

UNPROCESSABLE = "answered 422|status of 422"
"""The second confirmation answers 422, like any form that was not taken."""


def desk_of(open_page: Opener, name: str, path: str) -> Page:
    page = open_page(path, allow=UNPROCESSABLE)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/sign-in/" not in url)
    page.goto(path)
    return page


@pytest.fixture
def at(shop: Shop, django_db_blocker: object) -> str:
    """The page of an order that waits for its customer and can be cancelled."""

    def place() -> str:
        (order_id,) = shop.system.place(payment_method="card_declined")
        return f"/console/orders/{order_id}/"

    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        return in_thread(place).result(timeout=60)


def test_two_people_at_one_order_see_each_other_and_the_second_act_is_asked_about(
    open_page: Opener, at: str
) -> None:
    olga, otto = desk_of(open_page, "olga", at), desk_of(open_page, "otto", at)
    expect(otto.locator("#presence")).to_contain_text("Also here: olga.")
    expect(olga.locator("#presence")).to_contain_text("Also here: otto.")  # by a beat
    olga.goto(f"{at}compensate/")
    expect(otto.locator("#presence")).to_contain_text("Also here: olga, cancelling this order for ")
    otto.goto(f"{at}compensate/")
    otto.locator("[name=typed]").fill("cancel")
    otto.locator("[name=reason]").fill("they called")
    otto.get_by_role("button", name=re.compile("^Cancel the order")).click()
    expect(otto.get_by_role("heading", level=1)).to_have_text("Somebody else is acting on this order")
    assert violations(otto) == []
    otto.get_by_role("button", name="Act anyway").click()
    expect(otto.locator("#status")).to_contain_text("cancel")
    assert otto.url.endswith(at)
