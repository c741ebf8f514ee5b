"""The pages of customers, put in a browser's window as the web server answered them."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from playwright.sync_api import Page, ViewportSize
from pytest_django.plugin import DjangoDbBlocker

from tests.support.roles import in_thread
from tests.web.customer_pages import Shown, every_page

NARROW: ViewportSize = {"width": 320, "height": 640}
"""CSS pixels: what is left of 1,280 when a page is enlarged four times."""
PHONE: ViewportSize = {"width": 390, "height": 844}


def pages_in(language: str, django_db_blocker: DjangoDbBlocker) -> Sequence[Shown]:
    """Every page in a language and in every state, of orders that the running shop never sees."""

    def render() -> Sequence[Shown]:
        with django_db_blocker.unblock(), transaction.atomic():
            pages = list(every_page(language))
            transaction.set_rollback(True)
        return pages

    return in_thread(render).result(timeout=120)


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
