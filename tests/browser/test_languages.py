"""Every page that a customer may see, in every state and language: accessible, and never too wide for its window."""

from collections.abc import Sequence

import pytest
from playwright.sync_api import Page
from pytest_django.plugin import DjangoDbBlocker

from sasweb.languages import LANGUAGES, SOURCE
from tests.browser.axe import violations
from tests.browser.conftest import Opener
from tests.browser.customer_screen import NARROW, Screen, pages_in
from tests.browser.running import Shop
from tests.web.customer_pages import Shown

TOO_WIDE = """width => [...document.querySelectorAll("body *")]
    .filter(element => element.getBoundingClientRect().right > width + 0.5 && !element.closest(".chips"))
    .map(element => element.outerHTML.replace(/\\s+/g, ' ').slice(0, 150))"""


@pytest.fixture
def pages(shop: Shop, language: str, django_db_blocker: DjangoDbBlocker) -> Sequence[Shown]:
    """Every page in a language: English in every state, another language in the one that says most."""
    pages = pages_in(language, django_db_blocker)
    return pages if language == SOURCE else longest_states(pages)


def longest_states(pages: Sequence[Shown]) -> Sequence[Shown]:
    """Of each page the state with the longest HTML. A page's name ends at its first comma, where its state begins."""
    by_length = sorted(pages, key=lambda page: len(page.html))
    return list({page.name.partition(",")[0]: page for page in by_length}.values())


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
