"""One shop and one browser for the whole run; a complaint of the browser about a page fails its test."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from django.db import connection
from django.test.utils import setup_databases, teardown_databases
from playwright.sync_api import Browser, Page, expect, sync_playwright

from orders.engine.runtime.sql import fetch
from tests.browser import buying
from tests.browser.chromium import launch
from tests.browser.complaints import quiet_context
from tests.browser.running import PASSWORD, Shop, running_shop
from tests.browser.truth.customers import NewCustomer, customers
from tests.browser.truth.shop import HurriedShop, hurried
from tests.support.wait import until

Opener = Callable[..., Page]
States = Mapping[str, Any]
PATIENCE = 60_000
"""Milliseconds that a page may take on a busy machine."""
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def running(
    django_db_blocker: Any, django_db_modify_db_settings: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    """The shop, started before the browser, on a test database; each test worker has its own."""
    with ExitStack() as stack:
        with django_db_blocker.unblock():
            databases = setup_databases(verbosity=0, interactive=False)
            stack.callback(_drop, databases, django_db_blocker)
            shop = stack.enter_context(running_shop(tmp_path_factory.mktemp("shop")))
            connection.close()
        yield shop


def _drop(databases: Any, django_db_blocker: Any) -> None:
    with django_db_blocker.unblock():
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        until(lambda: fetch(others) == [(1,)], what="the end of the shop's connections")
        teardown_databases(databases, verbosity=0)


@pytest.fixture(scope="session")
def browser(running: Shop) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def shop(running: Shop) -> Iterator[Shop]:
    """The shop, without faults before and after the test."""
    yield running
    running.system.clear_faults()


@pytest.fixture(scope="session")
def states(running: Shop, browser: Browser) -> States:
    """The browser's state for each visitor: `buyer` has a cart, `customer` has an account."""

    def buyer(page: Page) -> None:
        buying.fill_cart(page)

    def customer(page: Page) -> None:
        page.goto("/account/sign-in/")
        page.get_by_label("Email").fill("ada@example.com")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/account/")

    saved: dict[str, Any] = {"guest": None}
    for act in (buyer, customer):
        with quiet_context(browser, url=running.url) as context:
            act(context.new_page())
            saved[act.__name__] = context.storage_state()
    return saved


@pytest.fixture(scope="module")
def hurried_shop(
    running: Shop, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HurriedShop]:
    """The shop with short time limits, as long as a module runs."""
    with hurried(running, tmp_path_factory.mktemp("hurried")) as shop:
        yield shop


@pytest.fixture
def customer(hurried_shop: HurriedShop, browser: Browser) -> Iterator[NewCustomer]:
    """Opens the page of another customer, which is recorded. There are no faults before and after the test."""
    with customers(hurried_shop, browser) as visitors:
        yield visitors
    hurried_shop.lift()


@pytest.fixture
def open_page(shop: Shop, browser: Browser) -> Iterator[Opener]:
    """Opens a page in a browser context of its own, a `quiet_context`; `allow` and the other options are passed on."""
    with ExitStack() as contexts:

        def open_one(path: str = "/", *, allow: str = "", **options: Any) -> Page:
            context = contexts.enter_context(quiet_context(browser, url=shop.url, allow=allow, **options))
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.goto(path)
            return page

        yield open_one
