"""The accessibility of a page, by axe-core's rules for WCAG 2.2 AA."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize

RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "resultTypes": ["violations"],
}
PHONE: ViewportSize = {"width": 360, "height": 740}


def violations(page: Page, *, has_other_colours: bool = True) -> list[str]:
    """The violations that axe finds on a page, one line each. Contrast, which takes longest, is left out where the
    page has been checked with other words in the same colours."""
    rules = RULES if has_other_colours else {**RULES, "rules": {"color-contrast": {"enabled": False}}}
    answer = Axe().run(page, options=rules).response
    assert answer["violations"] or answer["passes"], "axe checked nothing"
    return [
        f"{violation['id']}: {node['html']} ({node['failureSummary']})"
        for violation in answer["violations"]
        for node in violation["nodes"]
    ]


def barriers(page: Page) -> list[str]:
    """What is inaccessible on a page, wide and light, then narrow and dark, and whether it is too wide for a phone.

    The window then has its size again.
    """
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    lines = violations(page)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.set_viewport_size(PHONE)
    lines += violations(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size(size)
    return lines if width <= PHONE["width"] else [*lines, f"it is {width} px wide"]
