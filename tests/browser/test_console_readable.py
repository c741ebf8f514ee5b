"""The console's tables and its navigation can be read in windows of every width: nothing is covered, cut or broken."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from orders.models import AuditEntry, BulkAction, BulkItem, OrderProcess, OutgoingMessage
from tests.browser.axe import violations
from tests.browser.complaints import quiet_context
from tests.browser.conftest import Opener
from tests.browser.running import PASSWORD, Shop
from tests.support.factories import ago, ahead
from tests.support.roles import in_thread

WIDTHS = (1280, 1024, 390)

OVERLAPS = """
    table => [...table.tBodies[0].rows].flatMap(row => {
        const isShown = cell => cell.textContent.trim() && getComputedStyle(cell).display !== "none";
        const cells = [...row.cells].filter(isShown);
        const boxOf = node => {  // of a text, what an element that clips it does not show is left out
            const range = document.createRange();
            if (!(node instanceof Element)) range.selectNode(node);
            return (node instanceof Element ? node : range).getBoundingClientRect();
        };
        const boxes = cells.flatMap(cell => [...cell.childNodes, ...cell.querySelectorAll("*")]
            .map(node => [cell.textContent.trim().slice(0, 40), boxOf(node), cell]).filter(([, box]) => box.width));
        return boxes.flatMap(([name, box, cell], i) => boxes.slice(i + 1)
            .filter(([, other, of]) => of !== cell
                                && Math.min(box.right, other.right) - Math.max(box.left, other.left) > 1
                                && Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 1)
            .map(([other]) => `${name} / ${other}`));
    })
"""
"""The pairs of cells of a row whose contents cover one another."""
BROKEN = """
    table => {
        const words = [];
        const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            if (!texts.currentNode.parentElement.checkVisibility()) continue;  // in details that are closed
            for (const match of texts.currentNode.data.matchAll(/[A-Za-z]{2,16}/g)) {
                const range = document.createRange();
                range.setStart(texts.currentNode, match.index);
                range.setEnd(texts.currentNode, match.index + match[0].length);
                const boxes = [...range.getClientRects()].filter(box => box.width > 1);
                if (new Set(boxes.map(box => Math.round(box.top))).size > 1) words.push(match[0]);
            }
        }
        return words;
    }
"""
"""The words that are broken in the middle."""


SCROLLS = """table => {
    const part = table.closest(".table__wrap");
    return part.scrollWidth > part.clientWidth + 1;
}"""


@pytest.fixture(scope="module")
def anna(running: Shop, browser: Browser) -> Any:
    """The browser's state of an administrator who has signed in."""
    with quiet_context(browser, url=running.url) as context:
        page = context.new_page()
        page.goto("/console/sign-in/")
        page.get_by_label("Name", exact=True).fill("anna")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(lambda url: "/sign-in/" not in url)
        return context.storage_state()


@pytest.fixture
def full(shop: Shop, django_db_blocker: Any) -> None:
    """A failed order that failed again after a bulk action, a long audit entry, and messages of the outbox."""

    def make() -> None:
        order_id = OrderProcess.objects.filter(process_state="error").values_list("order_id", flat=True)[0]
        action = BulkAction.objects.create(
            **{"kind": "resubmit", "selection": "an order", "by": "operator:olga", "total": 1, "waves": [1]},
            **{"state": "finished", "starts_at": ago(60), "ended_at": ago(30)},
        )
        result = "failed again: refused: we do not go there"
        BulkItem.objects.create(
            action=action, position=0, order_id=order_id, state="failed", result=result, ended_at=ago(30)
        )
        AuditEntry.objects.create(
            **{"actor": "operator:grace.hopper@navy.example.com", "act": "second factor remove"},
            **{"target": f"order {order_id}", "reason": "the customer telephoned again"},
            result="cancelled the order, and compensation begins with the shipment",
        )
        OutgoingMessage.objects.create(
            **{"kind": "new_password", "recipient": "grace.hopper@navy.example.com", "attempts": 12},
            **{"state": "queued", "error": "connection refused by the mailserver", "due_at": ahead(600)},
            give_up_at=ahead(6_000),
        )

    with django_db_blocker.unblock():
        in_thread(make).result(timeout=60)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_in_a_table_is_covered_or_broken(
    full: None, open_page: Opener, anna: Any, width: int
) -> None:
    page = open_page("/console/", storage_state=anna, viewport={"width": width, "height": 900})
    for path, table in (
        ("orders/?state=error", "table.orders"),
        ("audit/", "main table"),
        ("outbox/", "main table"),
    ):
        page.goto(f"/console/{path}")
        expect(page.locator(table)).to_be_visible()
        assert page.locator(table).evaluate(OVERLAPS) == [], path
        assert not page.locator(table).evaluate(SCROLLS), path
        assert page.locator(table).evaluate(BROKEN) == [], path
        if width < 640 and table == "table.orders":
            heights = page.locator(f"{table} tbody tr").evaluate_all(
                "rows => rows.map(row => row.offsetHeight)"
            )
            assert max(heights) <= 844 / 5, (path, heights)  # five rows on a screen


def test_a_narrow_window_has_the_pages_behind_a_button_that_keys_open_and_close(
    open_page: Opener, anna: Any
) -> None:
    page = open_page("/console/audit/", storage_state=anna, viewport={"width": 390, "height": 844})
    side = page.locator("#side")
    button, current = side.locator("summary"), side.locator("[aria-current=page]")
    expect(side.locator("#menu-alerts")).to_have_text(re.compile(r"\d+ alerts?"))
    expect(current).to_be_hidden()
    button.focus()
    page.keyboard.press("Enter")
    expect(current).to_have_text("Audit")
    expect(current).to_be_in_viewport()
    expect(side.locator("#menu-alerts")).to_be_hidden()
    assert violations(page) == []
    page.keyboard.press("Tab")
    expect(side.get_by_role("link", name="Overview")).to_be_focused()
    page.keyboard.press("Escape")
    expect(current).to_be_hidden()
    expect(button).to_be_focused()
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(current).to_be_in_viewport()
    expect(button).to_be_hidden()
