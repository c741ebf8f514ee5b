"""A page that the browser complains about fails its test."""

import pytest
from playwright.sync_api import Browser, Route

from sasweb.middleware import POLICY
from tests.browser.complaints import quiet_context

URL = "https://shop.example"
PAGE = "<!doctype html><title>Shop</title><script>hidden()</script><script src='/shop.js'></script>"
SCRIPT = "console.warn('an odd thing'); throw new Error('broken')"


def answer(route: Route) -> None:
    is_script = route.request.url.endswith(".js")
    route.fulfill(
        body=SCRIPT if is_script else PAGE,
        content_type="text/javascript" if is_script else "text/html",
        headers={"Content-Security-Policy": POLICY},
    )


def open_page(browser: Browser, *, allow: str = "") -> None:
    with quiet_context(browser, url=URL, allow=allow) as context:
        context.route("**/*", answer)
        context.new_page().goto("/")


def test_warnings_errors_of_scripts_and_violations_of_the_policy_fail_the_test(browser: Browser) -> None:
    with pytest.raises(AssertionError) as failure:
        open_page(browser)
    for complaint in ("console: an odd thing", "script: broken", "Content Security Policy"):
        assert complaint in str(failure.value)


def test_only_what_a_test_expects_is_let_pass(browser: Browser) -> None:
    open_page(browser, allow="an odd thing|broken|Content Security Policy")
    with pytest.raises(AssertionError, match="broken"):
        open_page(browser, allow="an odd thing|Content Security Policy")
