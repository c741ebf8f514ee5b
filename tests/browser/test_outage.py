"""The database goes away while somebody orders in a real browser, and comes back."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection
from playwright.sync_api import Browser, expect

from tests.browser import buying
from tests.browser.axe import violations
from tests.browser.complaints import quiet_context
from tests.browser.running import TIMES, Shop
from tests.support.proxy import DatabaseProxy
from tests.support.wait import until
from tests.web.server import Server


@pytest.fixture(scope="module")
def proxy(running: Shop) -> Iterator[DatabaseProxy]:
    """What the web of this file reaches the shop's database through."""
    at = connection.settings_dict
    proxy = DatabaseProxy(Path(at["HOST"]), at["PORT"] or "5432", url=(at["USER"], at["NAME"]))
    yield proxy
    proxy.close()


@pytest.fixture(scope="module")
def web(proxy: DatabaseProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The url of a web of its own for this file."""
    folder = tmp_path_factory.mktemp("outage")
    key = settings.SECRET_KEY
    server = Server(
        folder / "log", database_url=proxy.url, VAR_DIR=str(folder), SECRET_KEY=key, DEBUG="true", **TIMES
    )
    try:
        until(server.answers, what="the web server")
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.end()


@pytest.mark.pattern("N2")
@pytest.mark.parametrize("has_scripts", [True, False], ids=["by itself", "with the button"])
def test_an_order_that_met_an_outage_is_sent_again_and_placed_once(
    shop: Shop, web: str, proxy: DatabaseProxy, browser: Browser, has_scripts: bool
) -> None:
    email = f"{uuid4()}@example.com"
    outage = "503"
    with quiet_context(browser, url=web, allow=outage, java_script_enabled=has_scripts) as context:
        page = context.new_page()
        buying.fill_checkout(page)
        page.get_by_label("Email").fill(email)
        page.get_by_text("Add a gift note").click()
        page.get_by_label("Gift note").fill("Two\nlines")
        proxy.shut()
        try:
            page.get_by_role("button", name="Place order").click()
            expect(page.get_by_role("heading", level=1)).to_have_text("We can’t confirm your order yet")
            words = page.get_by_text("This page also tries again by itself.")
            if has_scripts:
                expect(words).to_be_visible()
                assert violations(page) == []
                with page.expect_response(lambda answer: answer.request.method == "HEAD") as attempt:
                    pass
                assert attempt.value.status == 503
            else:
                expect(words).to_be_hidden()
        finally:
            proxy.shut(False)
        if not has_scripts:
            send = page.get_by_role("button", name="Send my order again")
            until(lambda: send.click() or "/o/" in page.url, what="the order's page")
        page.wait_for_url("**/o/**")
        expect(page.locator("#headline")).to_be_visible()
        expect(page.get_by_text("Two lines")).to_be_visible()
    assert shop.orders_of(email) == 1
