"""What keeps somebody from using a page, by axe-core's rules for WCAG 2.2 AA."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "resultTypes": ["violations"],
}


def found(page: Page) -> list[str]:
    """What axe has against a page, one line each."""
    answer = Axe().run(page, options=RULES).response
    assert answer["violations"] or answer["passes"], "axe looked at nothing"
    return [
        f"{one['id']}: {node['html']} ({node['failureSummary']})"
        for one in answer["violations"]
        for node in one["nodes"]
    ]
