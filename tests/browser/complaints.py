"""What a browser complains about while a test runs: its console, errors of scripts, failed and outside requests."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext


@contextmanager
def quiet_context(browser: Browser, *, url: str, allow: str = "", **options: Any) -> Iterator[BrowserContext]:
    """A browser context in which every complaint fails the test, but those that match the pattern `allow`.

    A complaint is anything in the console, whatever its level (violations of the content security policy are errors in
    it), an exception of a script, a request that fails, is answered with an error or leaves `url`. The other options
    are those of a context.
    """
    complaints: list[str] = []

    def complain(what: str) -> None:
        if not (allow and re.search(allow, what)):
            complaints.append(what)

    context = browser.new_context(base_url=url, **options)
    _listen(context, url, complain)
    try:
        yield context
    finally:
        context.close()
    if complaints:
        raise AssertionError("the browser complains:\n" + "\n".join(complaints))


def _listen(context: BrowserContext, url: str, complain: Callable[[str], None]) -> None:
    context.on("console", lambda message: complain(f"console: {message.text}"))
    context.on("weberror", lambda error: complain(f"script: {error.error}"))
    # Leaving a page aborts the requests it has under way. That is no failure.
    context.on(
        "requestfailed",
        lambda request: (
            request.failure == "net::ERR_ABORTED" or complain(f"failed: {request.url} {request.failure}")
        ),
    )
    context.on(
        "response",
        lambda answer: answer.status < 400 or complain(f"answered {answer.status}: {answer.url}"),
    )
    context.on("request", lambda request: request.url.startswith(url) or complain(f"outside: {request.url}"))
