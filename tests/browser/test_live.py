"""static/js/live.js in a real browser, with a server that streams, fails and refuses as the test needs."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from sasweb.middleware import POLICY
from tests.browser.complaints import quiet_context
from tests.support.wait import until

SCRIPT = (Path(__file__).resolve().parents[2] / "static" / "js" / "live.js").read_bytes()

STREAM = "/events/o/x/"
LOST = """
window.EventSource = class extends EventSource {
  constructor(url) {
    super(url);
    this.addEventListener("error", () => document.documentElement.setAttribute("data-lost", ""));
  }
};
"""
"""Marks the page when its stream is lost, so that a test can wait for it."""


class Shop:
    """An order page and its stream. `change` makes a new version and notifies its readers."""

    def __init__(self) -> None:
        self.version = 1
        self.changed = threading.Condition()
        self.is_refusing = self.is_ended = self.is_moved = self.is_over = self.is_telling = False
        self.failures = 0
        self.words = self.next = self.notice = ""
        self.requests: list[str] = []
        self.seen: list[bool] = []
        """Of each request for the part: whether its page was visible."""

    def part(self) -> str:
        ended = (" data-ended" if self.is_ended else "") + (" data-tells" if self.is_telling else "")
        return (
            f'<section id="progress" data-version="{self.version}" data-events="/events/o/x/"{ended}'
            f' data-now="2026-01-01T12:00:00Z"{self.next}><h1 id="headline">Version {self.version}{self.words}</h1>'
            '<label><input type="radio" name="card" value="a">a</label>'
            '<a href="/cancel/">Cancel</a></section>'
        )

    def page(self) -> str:
        return (
            f"<!doctype html><title>Order</title>{self.part()}"
            '<p id="live-stale" hidden data-text="lost {n} s ago" data-behind="may be old"></p>'
            '<div class="toasts"><p class="notice">All done.</p></div>'
            '<div id="live-status" role="status"></div><script src="/live.js" defer></script>'
        )

    def change(self) -> None:
        with self.changed:
            self.version += 1
            self.changed.notify_all()


def handler_of(shop: Shop) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shop.requests.append(self.path)
            if self.path == "/events/o/x/":
                self.stream()
            elif self.path == "/live.js":
                self.answer("text/javascript", SCRIPT)
            elif self.path == "/order/progress/" and shop.is_moved:
                self.send_response(302)
                self.send_header("Location", "/order/elsewhere/")
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif self.path == "/order/progress/":
                shop.failures -= 1
                shop.seen.append(self.headers["Page-Visible"] == "yes")
                self.answer("text/html", shop.part().encode(), status=500 if shop.failures >= 0 else 200)
            elif self.path == "/order/":
                self.answer("text/html", shop.page().encode())
            else:
                self.answer("text/plain", b"", status=404)

        def answer(self, kind: str, body: bytes, *, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

        def stream(self) -> None:
            if shop.is_refusing:
                self.answer("text/plain", b"", status=503)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            version = 0
            while not shop.is_over:
                with shop.changed:
                    if version == shop.version:
                        shop.changed.wait(0.2)
                    is_news, version = version != shop.version, shop.version
                if shop.notice:
                    self.wfile.write(f"event: {shop.notice}\ndata: {{}}\n\n".encode())
                data = json.dumps({"version": str(version)})
                event = f"id: {version}\nevent: progress\ndata: {data}\n\n" if is_news else ": still here\n\n"
                self.wfile.write(event.encode())
                self.wfile.flush()

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def page(shop: Shop, browser: Browser) -> Iterator[Page]:
    """The order's page, with a clock that the test moves."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(shop))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # The tests make the stream and the order's part fail, so that the page has to get over it.
    expected = r"favicon|ERR_INCOMPLETE_CHUNKED|answered (500|503): .*/(progress|events)/|status of 50[03]"
    try:
        with quiet_context(browser, url=f"http://127.0.0.1:{server.server_port}", allow=expected) as context:
            page = context.new_page()
            page.add_init_script(LOST)
            page.clock.install(time="2026-01-01T00:00:00Z")
            page.clock.pause_at("2026-01-01T01:00:00Z")
            page.goto("/order/")
            yield page
    finally:
        shop.is_over = True
        server.shutdown()
        server.server_close()


def test_a_change_is_shown_and_announced_and_focus_and_choice_are_kept(shop: Shop, page: Page) -> None:
    page.get_by_label("a", exact=True).check()
    page.get_by_role("link", name="Cancel").focus()
    shop.change()
    expect(page.locator("#headline")).to_have_text("Version 2")
    expect(page.get_by_role("link", name="Cancel")).to_be_focused()
    expect(page.get_by_label("a", exact=True)).to_be_checked()
    page.clock.run_for(10)
    expect(page.locator("#live-status")).to_have_text("Version 2")


def test_a_toast_goes_when_what_it_says_may_no_longer_be_so(shop: Shop, page: Page) -> None:
    expect(page.locator(".notice")).to_have_text("All done.")
    shop.change()
    expect(page.locator("#headline")).to_have_text("Version 2")
    expect(page.locator(".notice")).to_have_count(0)


def test_what_time_alone_changes_is_shown_in_time(shop: Shop, page: Page) -> None:
    shop.next = ' data-next="2026-01-01T12:00:05Z"'
    shop.change()
    expect(page.locator("#headline")).to_have_text("Version 2")
    shop.next, shop.words = "", " is late"
    page.clock.run_for(5000)
    expect(page.locator("#headline")).to_have_text("Version 2")
    page.clock.run_for(1500)
    expect(page.locator("#headline")).to_have_text("Version 2 is late")


def test_announcements_are_at_least_five_seconds_apart(shop: Shop, page: Page) -> None:
    for version in (2, 3):
        shop.change()
        expect(page.locator("#headline")).to_have_text(f"Version {version}")
        page.clock.run_for(1)
    expect(page.locator("#live-status")).to_have_text("Version 2")
    page.clock.run_for(5100)
    expect(page.locator("#live-status")).to_have_text("Version 3")


def test_a_part_that_could_not_be_fetched_is_fetched_again(shop: Shop, page: Page) -> None:
    shop.failures = 1
    shop.change()
    until(lambda: "/order/progress/" in shop.requests, what="the fetch that fails")
    assert page.locator("#headline").inner_text() == "Version 1"
    until(lambda: caught_up(page), what="another fetch")
    assert shop.requests.count("/order/progress/") >= 2


def caught_up(page: Page) -> bool:
    """Lets the page's clock run for as long as it waits before it fetches the part again."""
    page.clock.run_for(5_000)
    return page.locator("#headline").inner_text() == "Version 2"


def test_without_a_stream_it_polls_and_says_so(shop: Shop, page: Page) -> None:
    shop.is_refusing = True
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-lost", "")
    shop.change()
    page.clock.run_for(6000)
    expect(page.locator("#headline")).to_have_text("Version 2")
    expect(page.locator("#live-stale")).to_be_hidden()
    page.clock.run_for(4000)
    expect(page.locator("#live-stale")).to_have_text("lost 10 s ago")
    shop.is_refusing = False
    page.clock.run_for(30_000)
    expect(page.locator("#live-stale")).to_be_hidden()


def test_a_page_whose_server_cannot_read_says_so_until_it_can(shop: Shop, page: Page) -> None:
    stale = page.locator("#live-stale")
    expect(page.locator("#headline")).to_have_text("Version 1")
    shop.notice = "behind"
    expect(stale).to_have_text("may be old")
    expect(stale).to_be_visible()
    page.clock.run_for(20_000)
    expect(stale).to_have_text("may be old")
    shop.notice = "up-to-date"
    expect(stale).to_be_hidden()


def test_a_page_that_was_told_and_has_lost_its_stream_takes_it_back_once_it_polls(
    shop: Shop, page: Page
) -> None:
    shop.notice = "behind"
    expect(page.locator("#live-stale")).to_have_text("may be old")
    shop.is_refusing = shop.is_over = True
    expect(page.locator("html")).to_have_attribute("data-lost", "")
    expect(page.locator("#live-stale")).to_be_visible()
    page.clock.run_for(5_000)
    expect(page.locator("#live-stale")).to_be_hidden()


def test_an_order_that_has_ended_is_left_alone_while_nobody_looks(shop: Shop, page: Page) -> None:
    shop.is_ended = True
    shop.change()
    expect(page.locator("#headline")).to_have_text("Version 2")
    page.evaluate(HIDE, True)
    before = len(shop.requests)
    shop.change()
    page.clock.run_for(120_000)
    page.wait_for_timeout(300)
    assert len(shop.requests) == before


def test_an_order_that_has_ended_is_looked_at_every_few_seconds_and_followed_again_once_it_is_refunded(
    shop: Shop, page: Page
) -> None:
    shop.is_ended = True
    shop.change()
    expect(page.locator("#headline")).to_have_text("Version 2")
    shop.is_ended = False
    shop.change()
    page.clock.run_for(16_000)
    expect(page.locator("#headline")).to_have_text("Version 3")
    shop.change()
    expect(page.locator("#headline")).to_have_text("Version 4")


def test_an_order_that_has_ended_is_looked_at_without_a_stream_when_its_page_is_shown_again(
    shop: Shop, page: Page
) -> None:
    until(lambda: STREAM in shop.requests, what="the stream of the order under way")
    shop.is_ended = True
    page.reload()
    shop.requests.clear()
    page.evaluate(HIDE, True)
    shop.change()
    page.evaluate(HIDE, False)
    expect(page.locator("#headline")).to_have_text("Version 2")
    assert STREAM not in shop.requests


def test_an_order_that_is_elsewhere_now_is_asked_for_no_more(shop: Shop, page: Page) -> None:
    shop.is_moved = True
    shop.change()
    until(lambda: "/order/progress/" in shop.requests, what="the request that is led elsewhere")
    page.clock.run_for(400_000)
    page.wait_for_timeout(300)
    assert shop.requests.count("/order/progress/") == 1 and "/order/elsewhere/" not in shop.requests


HIDE = """isHidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


HIDDEN_FROM_THE_START = "Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });"


@pytest.mark.parametrize("is_ended", [False, True])
def test_a_page_that_tells_something_says_once_that_it_is_seen(
    shop: Shop, page: Page, is_ended: bool
) -> None:
    shop.is_telling, shop.is_ended = True, is_ended
    page.reload()
    until(lambda: shop.seen == [True], what="the request of a page that is looked at")


@pytest.mark.parametrize("is_ended", [False, True])
def test_a_page_in_a_background_tab_is_seen_when_its_reader_comes_to_it(
    shop: Shop, page: Page, is_ended: bool
) -> None:
    shop.is_telling, shop.is_ended = True, is_ended
    page.add_init_script(HIDDEN_FROM_THE_START)
    page.reload()
    page.clock.run_for(30_000)
    assert shop.seen == []
    page.evaluate(HIDE, False)
    until(lambda: shop.seen == [True], what="the request of a page that is looked at")


def test_what_changed_while_the_page_was_hidden_is_seen_when_it_is_shown(shop: Shop, page: Page) -> None:
    shop.change()
    expect(page.locator("#headline")).to_have_text("Version 2")
    assert shop.seen == [True]
    page.evaluate(HIDE, True)
    shop.is_ended = True
    shop.change()
    expect(page.locator("#headline")).to_have_text("Version 3")
    assert shop.seen == [True, False]
    page.evaluate(HIDE, False)
    until(lambda: shop.seen == [True, False, True], what="the request of a page that is looked at")
