"""static/js/console.js in a real browser, with a server whose stream and pages freeze as the test needs."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Browser, Page, expect

from sasweb.middleware import POLICY
from tests.browser.complaints import quiet_context
from tests.support.wait import until

SCRIPT = (Path(__file__).resolve().parents[2] / "static" / "js" / "console.js").read_bytes()
SILENCE = 20_000
"""Milliseconds without news after which the page says so."""


class Console:
    """A page of the console and its stream. While it is frozen, it takes connections and answers nothing."""

    def __init__(self) -> None:
        self.version = 1
        self.streams = 0
        self.failures = 0
        self.changed = threading.Condition()
        self.is_frozen = self.is_over = False

    def change(self) -> None:
        with self.changed:
            self.version += 1
            self.changed.notify_all()

    def page(self) -> str:
        return (
            '<!doctype html><html lang="en"><title>Console</title>'
            '<body data-events="/events/console/" data-newer="{n} new" data-gone="{n} gone">'
            '<span id="live-state" data-on="Live" data-paused="Updates paused" data-lost="Lost {n} s ago" hidden>'
            f"<span data-live-text></span></span>{render_to_string('console/frame/stale.html')}"
            f'<p id="figure" data-live>Version {self.version}</p>'
            f'<div id="fold" data-live><b>Version {self.version}</b><details class="fold"><summary>Stop new orders'
            '</summary><form><input name="reason"></form></details></div><script src="/console.js" defer></script>'
        )


def handler_of(console: Console) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/events/console/":
                self.stream()
            elif self.path == "/console.js":
                self.answer("text/javascript", SCRIPT)
            else:
                console.failures -= 1
                status = 503 if console.failures >= 0 else 200
                self.answer("text/html", console.page().encode(), status=status)

        def answer(self, kind: str, body: bytes, *, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

        def stream(self) -> None:
            console.streams += 1
            if not console.is_frozen:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
            version = 0
            with console.changed:
                while not console.is_over:
                    if version != console.version and not console.is_frozen:
                        version = console.version
                        data = json.dumps({"version": str(version)})
                        self.wfile.write(f"id: {version}\nevent: progress\ndata: {data}\n\n".encode())
                        self.wfile.flush()
                    console.changed.wait()

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture
def console() -> Console:
    return Console()


@pytest.fixture
def page(console: Console, browser: Browser) -> Iterator[Page]:
    """The page, with a clock that the test moves. It has shown version 2."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(console))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        with quiet_context(browser, url=url, allow="503|ERR_INCOMPLETE_CHUNKED", locale="en-GB") as context:
            page = context.new_page()
            page.clock.install()
            page.goto("/")
            until(lambda: console.streams == 1, what="the stream")
            see_the_next_version(console, page)
            yield page
    finally:
        console.is_over = True
        console.change()
        server.shutdown()
        server.server_close()


def see_the_next_version(console: Console, page: Page) -> None:
    console.change()
    page.clock.run_for(3_000)
    expect(page.locator("#figure")).to_have_text(f"Version {console.version}")


def test_a_page_whose_server_is_frozen_does_not_call_itself_live(console: Console, page: Page) -> None:
    expect(page.locator("#live-state")).to_have_text("Live")
    expect(page.locator("#live-stale")).to_be_hidden()
    console.is_frozen = True
    page.clock.run_for(SILENCE + 1_000)
    expect(page.locator("#live-state")).to_contain_text("Lost 2")
    stale = page.locator("#live-stale")
    expect(stale).to_contain_text("This page has had no updates since ")
    expect(stale).to_contain_text("It keeps trying.")
    assert "{" not in stale.inner_text()
    until(lambda: console.streams == 2, what="another stream: the first one is open, and silent")
    console.is_frozen = False
    page.clock.run_for(SILENCE)
    until(lambda: console.streams == 3, what="a stream that is answered")
    see_the_next_version(console, page)
    expect(page.locator("#live-state")).to_have_text("Live")
    expect(stale).to_be_hidden()


def test_a_page_that_cannot_be_read_again_says_of_when_its_figures_are(console: Console, page: Page) -> None:
    """The stream goes on, but what it announces cannot be fetched."""
    console.failures = 1_000
    for _ in range(6):
        console.change()
        page.clock.run_for(5_000)
    expect(page.locator("#live-stale")).to_contain_text("What it shows is as of ")
    expect(page.locator("#figure")).to_have_text("Version 2")
    console.failures = 0
    see_the_next_version(console, page)
    page.clock.run_for(1_000)
    expect(page.locator("#live-stale")).to_be_hidden()


def test_a_form_that_somebody_has_opened_stays_as_it_is_until_she_closes_it(
    console: Console, page: Page
) -> None:
    field, number = page.locator("[name=reason]"), page.locator("#fold b")
    page.get_by_text("Stop new orders").click()
    field.fill("wrong labels")
    field.blur()
    opened = number.inner_text()
    see_the_next_version(console, page)
    assert (field.input_value(), number.inner_text()) == ("wrong labels", opened)
    page.get_by_text("Stop new orders").click()
    see_the_next_version(console, page)
    expect(number).to_have_text(f"Version {console.version}")
