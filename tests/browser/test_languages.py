"""Every page that a customer may see, in every state and language: accessible, and never too wide for its window."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction
from playwright.sync_api import Page, ViewportSize
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
    """Every page in a language, of orders that the running shop never sees. English has each in every state, another
    language in the one that says most."""

    def render() -> Sequence[Shown]:
        with django_db_blocker.unblock(), transaction.atomic():
            pages = list(every_page(language))
            transaction.set_rollback(True)
        return pages if language == SOURCE else longest_states(pages)

    return in_thread(render).result(timeout=120)


def longest_states(pages: Sequence[Shown]) -> Sequence[Shown]:
    """Of each page the state with the longest HTML. A page's name ends at its first comma, where its state begins."""
    by_length = sorted(pages, key=lambda page: len(page.html))
    return list({page.name.partition(",")[0]: page for page in by_length}.values())


class Screen:
    """A window of 320 pixels in which pages are put, where their styles, scripts and pictures are the running shop's.

    Playwright's own routes would have the browser load these anew for each page.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.browser = page.context.new_cdp_session(page)
        self.browser.on("Fetch.requestPaused", self._answer)
        documents = {"urlPattern": "*", "resourceType": "Document"}
        self.browser.send("Fetch.enable", {"patterns": [documents, {"urlPattern": "*/js/live*"}]})
        self._html = ""

    def put(self, shown: Shown) -> None:
        """Shows a page at its path."""
        self._html = shown.html
        self.page.goto(shown.path, wait_until="load")

    def _answer(self, request: dict[str, Any]) -> None:
        """A page is what was put; the script that follows an order is left out, since these orders do not exist."""
        is_page = request["resourceType"] == "Document"
        kind, body = ("html", self._html) if is_page else ("javascript", "")
        answer = {
            "requestId": request["requestId"],
            "responseCode": 200,
            "responseHeaders": [{"name": "Content-Type", "value": f"text/{kind}; charset=utf-8"}],
            "body": b64encode(body.encode()).decode(),
        }
        self.browser.send("Fetch.fulfillRequest", answer)

    @contextmanager
    def twice_the_size(self) -> Iterator[None]:
        """A phone on which the browser's setting makes text of twice the size."""
        self.browser.send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
        self.page.set_viewport_size(PHONE)
        self.page.wait_for_function("getComputedStyle(document.documentElement).fontSize === '32px'")
        yield
        self.browser.send("Page.setFontSizes", {"fontSizes": {"standard": 16, "fixed": 13}})
        self.page.set_viewport_size(NARROW)

    @contextmanager
    def styled_twice_the_size(self) -> Iterator[None]:
        """A phone on which a style makes text of twice the size, which media queries know nothing of."""
        self.page.set_viewport_size(PHONE)
        self.page.evaluate("document.documentElement.style.fontSize = '200%'")
        yield
        self.page.evaluate("document.documentElement.style.fontSize = ''")
        self.page.set_viewport_size(NARROW)


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
    screen = Screen(page)
    faults = []
    for shown in pages:
        screen.put(shown)
        lines = [*violations(page, has_other_colours=language == SOURCE), *too_wide(page)]
        with screen.twice_the_size():
            lines += [f"large text: {line}" for line in too_wide(page)]
        with screen.styled_twice_the_size():
            lines += [f"text enlarged by a style: {line}" for line in too_wide(page)]
        faults += [f"{shown.name}: {line}" for line in lines]
    assert not faults, "\n".join(faults)
