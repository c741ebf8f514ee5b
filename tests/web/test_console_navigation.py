"""The console's pages in groups, and what a narrow window shows of them while they are behind their button."""

import re
from typing import Any

import pytest

from tests.web.conftest import Desk
from tests.web.console_orders import in_error

pytestmark = pytest.mark.django_db


def groups(html: str) -> dict[str, list[str]]:
    """The labels of the pages under the name of each group."""
    side = html[html.index('<nav class="side"') : html.index("</nav>")]
    parts = re.split(r'<p class="side__name" id="side-\w+">(\w+)</p>', side)[1:]
    labels = [re.findall(r"</svg>\s*<span>([^<]+)</span>", part) for part in parts[1::2]]
    return dict(zip(parts[::2], labels, strict=True))


@pytest.mark.parametrize("is_demonstration", [True, False])
def test_the_pages_are_in_groups_and_chaos_stands_apart_in_a_demonstration_only(
    desk: Desk, settings: Any, is_demonstration: bool
) -> None:
    settings.IS_DEMONSTRATION = is_demonstration
    shown = groups(desk("viewer").get("/console/audit/").content.decode())
    assert list(shown) == ["Work", "System", *(["Training"] if is_demonstration else [])]
    assert shown["Work"][:4] == ["Overview", "Alerts", "Orders", "Decisions"]
    assert "Audit" in shown["System"]
    assert shown.get("Training", ["Chaos"]) == ["Chaos"]


def test_the_closed_menu_has_the_number_of_open_alerts(desk: Desk) -> None:
    client = desk("viewer")
    assert menu_counts(client.get("/console/").content.decode()) == []
    in_error()
    assert menu_counts(client.get("/console/").content.decode()) == ["1 alert"]
    in_error()
    assert menu_counts(client.get("/console/").content.decode()) == ["2 alerts"]


def menu_counts(html: str) -> list[str]:
    """What is counted beside the button of the menu and is not hidden. Each leads to its page."""
    beside = html[html.index('<p class="side__counts">') : html.index('<div class="side__groups">')]
    counts = re.findall(r'id="menu-(\w+)"\s+href="([^"]+)"\s+data-live\s*(hidden)?>([^<]+)<', beside)
    assert [(name, url) for name, url, _, _ in counts] == [
        (name, f"/console/{name}/") for name in ("alerts", "decisions", "approvals")
    ]
    return [text for _, _, hidden, text in counts if not hidden]
