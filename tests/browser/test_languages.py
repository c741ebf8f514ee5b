"""Every page that a customer may see, in every state and language: accessible, and never too wide for its window."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from django.db import transaction
from playwright.sync_api import CDPSession, Page, ViewportSize
from pytest_django.plugin import DjangoDbBlocker

from sasweb.languages import LANGUAGES, SOURCE
from tests.browser.axe import violations
from tests.browser.conftest import Opener
from tests.browser.running import Shop
from tests.support.roles import in_thread
from tests.web.customer_pages import Shown, every_page

NARROW: ViewportSize = {"width": 320, "height": 640}
"""CSS pixels: what is left of 1,280 when a page is enlarged four times."""
PHONE: ViewportSize = {"width": 390, "height": 844}
TOO_WIDE = """width => [...document.querySelectorAll("body *")]
    .filter(element => element.getBoundingClientRect().right > width + 0.5 && !element.closest(".chips"))
    .map(element => element.outerHTML.replace(/\\s+/g, ' ').slice(0, 150))"""


@pytest.fixture
def pages(shop: Shop, language: str, django_db_blocker: DjangoDbBlocker) -> Sequence[Shown]:
    """Every page in a language, of orders that the running shop never sees."""

    def render() -> Sequence[Shown]:
        with django_db_blocker.unblock(), transaction.atomic():
            pages = list(every_page(language))
            transaction.set_rollback(True)
        return pages

    return in_thread(render).result(timeout=120)


def put(page: Page, shown: Shown) -> None:
    """Shows a page where its links and pictures lead to the running shop."""
    at = f"**{shown.path}"
    page.route(at, lambda route: route.fulfill(body=shown.html, content_type="text/html; charset=utf-8"))
    page.goto(shown.path, wait_until="load")
    page.unroute(at)


@contextmanager
def twice_the_size(page: Page, fonts: CDPSession) -> Iterator[None]:
    """A phone on which the browser's setting makes text of twice the size."""
    fonts.send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
    page.set_viewport_size(PHONE)
    page.wait_for_function("getComputedStyle(document.documentElement).fontSize === '32px'")
    yield
    fonts.send("Page.setFontSizes", {"fontSizes": {"standard": 16, "fixed": 13}})
    page.set_viewport_size(NARROW)


def too_wide(page: Page) -> Sequence[str]:
    """The innermost elements that make a page wider than its window; nothing if it fits."""
    width = page.evaluate("innerWidth")
    is_too_wide = page.evaluate("document.documentElement.scrollWidth") > width
    return (page.evaluate(TOO_WIDE, width)[-2:] or ["something is too wide"]) if is_too_wide else []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_accessible_and_fits_its_window_in_every_language(
    pages: Sequence[Shown], open_page: Opener, language: str
) -> None:
    page = open_page("about:blank", viewport=NARROW, color_scheme="dark", reduced_motion="reduce")
    page.route("**/js/live.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    fonts = page.context.new_cdp_session(page)
    faults = []
    for shown in pages:
        put(page, shown)
        lines = [*violations(page, has_other_colours=language == SOURCE), *too_wide(page)]
        with twice_the_size(page, fonts):
            lines += [f"large text: {line}" for line in too_wide(page)]
        faults += [f"{shown.name}: {line}" for line in lines]
    assert not faults, "\n".join(faults)
