"""Entering the console in a browser: name and password, the second factor, and what each access level then sees."""

import base64
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django_otp.oath import TOTP
from playwright.sync_api import Page, expect

from orders.models import TotpFactor
from tests.browser.axe import PHONE, barriers, violations
from tests.browser.conftest import Opener
from tests.browser.running import Shop
from tests.support.people import PASSWORD, person
from tests.support.roles import in_thread
from tests.support.wait import until

AUDIT = "/console/audit/"

Employ = Callable[..., None]


@pytest.fixture
def employ(django_db_blocker: Any) -> Iterator[Employ]:
    """Makes an account with an access level, and with a second factor if its key (in hexadecimal digits) is given.

    Runs in another thread than the browser's loop, because there the models can be used.
    """

    def employ_one(role: str, name: str, *, key: str = "") -> None:
        def work() -> None:
            User.objects.filter(username=name).delete()
            user = person(role, name, password=PASSWORD)
            if key:
                TotpFactor.objects.create(user=user, name="default", key=key, confirmed=True)

        in_thread(work).result(timeout=60)

    with django_db_blocker.unblock():
        yield employ_one


def code_of(key: str) -> str:
    """The code that an authenticator app shows now."""
    totp = TOTP(bytes.fromhex(key))
    totp.time = time.time()
    return f"{totp.token():06d}"


def sign_in(page: Page, name: str) -> None:
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def test_an_operator_signs_in_with_a_second_factor_and_reaches_the_requested_page(
    shop: Shop, open_page: Opener, employ: Employ
) -> None:
    key = "3132333435363738393031323334353637383930"
    employ("operator", "oda", key=key)
    page = open_page(f"{AUDIT}?allowed=no", allow="403", viewport=PHONE)
    expect(page.get_by_role("heading", name="Operator console")).to_be_visible()
    assert barriers(page) == []
    sign_in(page, "oda")
    expect(page.get_by_role("heading", name="Your second factor")).to_be_visible()
    assert barriers(page) == []
    page.get_by_label("Code").fill("not it")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("alert")).to_contain_text("This code is wrong")
    assert barriers(page) == []
    page.get_by_label("Code").fill("no code either")
    page.goto(AUDIT)  # a way around the second factor
    expect(page.get_by_role("heading", name="Your second factor")).to_be_visible()
    page.goto(f"{AUDIT}?allowed=no")
    page.get_by_label("Code").fill(code_of(key))
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", name="Audit log")).to_be_visible()
    assert page.url.endswith(f"{AUDIT}?allowed=no")
    row = page.locator("[data-row]").filter(has_text="oda").first
    expect(row).to_contain_text("refused")
    expect(row).to_contain_text("a wrong code")
    assert barriers(page) == []


def test_an_operator_without_a_second_factor_sets_one_up_and_gets_recovery_codes(
    shop: Shop, open_page: Opener, employ: Employ
) -> None:
    employ("operator", "odile")
    page = open_page("/console/second-factor/", viewport=PHONE)
    sign_in(page, "odile")
    expect(page.get_by_role("heading", name="Set up your second factor")).to_be_visible()
    picture = page.get_by_role("img", name="QR code")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth > 0)")
    assert barriers(page) == []
    letters = page.locator("strong").inner_text().replace(" ", "")
    page.get_by_label("Code").fill(code_of(base64.b32decode(letters).hex()))
    page.get_by_role("button", name="Set up").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    assert barriers(page) == []
    (code, *others) = page.locator("[data-codes] code").all_inner_texts()
    assert len(others) == 9
    page.get_by_role("link", name="I have written them down").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()

    again = open_page("/console/")
    sign_in(again, "odile")
    again.get_by_label("Code").fill(code)
    again.get_by_role("button", name="Confirm").click()
    expect(again.get_by_role("heading", name="Overview")).to_be_visible()
    again.goto("/console/second-factor/")
    expect(again.get_by_text("9 recovery codes left")).to_be_visible()
    assert barriers(again) == []


def test_an_operator_creates_rotates_and_revokes_a_token(
    shop: Shop, open_page: Opener, employ: Employ
) -> None:
    key = "4142434445464748494a4142434445464748494a"
    employ("operator", "tove", key=key)
    page = open_page("/console/tokens/", viewport=PHONE)
    sign_in(page, "tove")
    page.get_by_label("Code").fill(code_of(key))
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("There are no tokens.")).to_be_visible()
    assert barriers(page) == []
    page.get_by_label("What it is for").fill("the till")
    page.get_by_label("cancel orders").check()
    page.get_by_role("button", name="Create the token").click()
    expect(page.get_by_role("heading", name="Your new token")).to_be_visible()
    token = page.locator("[data-token]").inner_text()
    assert token.startswith("sas_")
    assert barriers(page) == []
    page.get_by_role("link", name="I have copied it").click()
    row = page.get_by_role("row").filter(has_text="the till")
    expect(row).to_contain_text("read, compensate")
    assert barriers(page) == []
    row.get_by_role("button", name=f"Rotate {token[:10]}").click()
    expect(page.get_by_text("It replaces")).to_be_visible()
    successor = page.locator("[data-token]").inner_text()
    assert barriers(page) == []
    page.get_by_role("link", name="I have copied it").click()
    expect(page.get_by_text(f"being replaced by {successor[:10]}…")).to_be_visible()
    assert barriers(page) == []
    for secret in (token, successor):
        page.get_by_role("link", name=f"Revoke {secret[:10]}").click()
        page.get_by_role("button", name=f"Revoke {secret[:10]}").click()
    expect(page.get_by_text("There are no tokens.")).to_be_visible()


@pytest.mark.parametrize(
    "path", ["/console/", "/console/orders/", "/console/alerts/", "/console/agents/", AUDIT]
)
def test_a_viewer_has_no_buttons_to_press(shop: Shop, open_page: Opener, employ: Employ, path: str) -> None:
    employ("viewer", "vivi")
    page = open_page(path)
    sign_in(page, "vivi")
    expect(page.locator("h1")).to_be_visible()
    assert page.url == shop.url + path
    acts = page.locator("form[method=post]").evaluate_all(
        "forms => forms.map(form => form.getAttribute('action'))"
    )
    assert acts == ["/account/sign-out/"]
    assert page.get_by_role("link", name="Raw tables").count() == 0
    assert page.get_by_role("link", name="Chaos").count() == 0  # DEBUG is off


def test_a_customer_cannot_enter_the_console(shop: Shop, open_page: Opener, employ: Employ) -> None:
    employ("customer", "cora")
    page = open_page("/console/", allow="403")
    sign_in(page, "cora")
    expect(page.get_by_role("heading", name="You don’t have access to this")).to_be_visible()
    assert violations(page) == []


def test_a_page_that_a_viewer_may_not_see_says_so_and_stays(
    shop: Shop, open_page: Opener, employ: Employ
) -> None:
    """It was loaded anew every second, for ever."""
    employ("viewer", "vivi")
    page = open_page(f"/console/orders/{uuid4()}/erase/", allow="403")
    sign_in(page, "vivi")
    expect(page.get_by_role("heading", name="You do not have access")).to_be_visible()
    until(lambda: page.evaluate("performance.now()") > 4000, what="4 s since this page was loaded")
