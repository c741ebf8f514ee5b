"""The accessibility of a page, by axe-core's rules for WCAG 2.2 AA."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "resultTypes": ["violations"],
}


def violations(page: Page) -> list[str]:
    """The violations that axe finds on a page, one line each."""
    answer = Axe().run(page, options=RULES).response
    assert answer["violations"] or answer["passes"], "axe checked nothing"
    return [
        f"{violation['id']}: {node['html']} ({node['failureSummary']})"
        for violation in answer["violations"]
        for node in violation["nodes"]
    ]
