"""What is recorded of an order's pages: until when each stood there, and whether it follows its order."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.browser.complaints import quiet_context
from tests.browser.truth.moments import CATCHES_UP, FINISHED_CATCHES_UP, Recorder

URL = "https://shop.example"
FORM = "<h1>Cancel this order?</h1>"
REPLACE = "(part) => { document.querySelector('#progress').outerHTML = part; }"


def part(version: int, more: str = "") -> str:
    return (
        f'<section id="progress" data-events="/events/" data-now="2026-01-01T12:00:0{version}Z"{more}>'
        f'<h1 id="headline">Version {version}</h1></section>'
    )


PAGES = {
    "/o/x/": part(1),
    "/o/x/cancel/": FORM,
    "/contact/": "<h1>Contact</h1>",
    "/posters/": "<h1>Posters</h1>",
}


def answer(route: Route) -> None:
    words = PAGES[route.request.url.removeprefix(URL)]
    body = f"<!doctype html><title>Shop</title><main id=main>{words}</main>"
    route.fulfill(body=body, content_type="text/html")


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """On a machine with twice as much to do as it has cores."""
    monkeypatch.setattr("os.getloadavg", lambda: (2.0 * (os.cpu_count() or 1), 0.0, 0.0))
    return Recorder()


@pytest.fixture
def page(browser: Browser, recorder: Recorder) -> Iterator[Page]:
    """The page of an order, which is recorded."""
    with quiet_context(browser, url=URL, allow="favicon") as context:
        context.route("**/*", answer)
        recorder.listen(context)
        page = context.new_page()
        page.goto("/o/x/")
        yield page


def test_a_page_stands_there_until_it_changes(page: Page, recorder: Recorder) -> None:
    page.evaluate(REPLACE, part(2))
    recorder.look_at(page)
    first, second = recorder.moments
    assert [words.text for words in (*first.words, *second.words)] == ["Version 1", "Version 2"]
    assert first.until <= first.closed_at == second.until <= second.closed_at
    assert first.catches_up == second.catches_up == 2 * CATCHES_UP


def test_a_page_of_an_order_that_has_ended_has_longer_to_catch_up(page: Page, recorder: Recorder) -> None:
    page.evaluate(REPLACE, part(2, more=" data-ended"))
    recorder.look_at(page)
    assert recorder.moments[-1].catches_up == 2 * FINISHED_CATCHES_UP


def test_a_form_follows_nothing(page: Page, recorder: Recorder) -> None:
    page.goto("/o/x/cancel/")
    recorder.look_at(page)
    assert recorder.moments[-1].source == "cancel/"
    assert recorder.moments[-1].catches_up == 0


def test_a_page_that_was_left_stands_there_no_longer(page: Page, recorder: Recorder) -> None:
    page.goto("/contact/")
    recorder.look_at(page)
    (moment,) = recorder.moments
    assert moment.closed_at >= moment.until
    page.goto("/posters/")
    recorder.look_at(page)
    assert recorder.moments == [moment]
