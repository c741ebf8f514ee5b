"""Lists of the console with everything that their rows can say: in a window of a laptop no row is cut off."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from orders.access import api_tokens
from orders.business import registry
from orders.models import AlertGroup, ApiToken, BulkAction, BulkItem, OrderProcess
from orders.vocabulary import TokenScope
from tests.browser.conftest import Opener
from tests.browser.running import PASSWORD, Shop
from tests.support.factories import ago, ahead, make_alert, make_order, make_purchase
from tests.support.roles import in_thread

LAPTOP = 1280
TABLETS = (768, 1024)
GRACE = "grace.hopper@navy.example.com"
MESSAGE = "we do not go there"
LISTS = ("/console/orders/", "/console/alerts/", "/console/tokens/")

CUT = """
    () => [...document.querySelectorAll('.table__wrap')]
        .filter(wrap => wrap.scrollWidth > wrap.clientWidth)
        .map(wrap => `${wrap.querySelector('caption').textContent}: ${wrap.scrollWidth} px of ${wrap.clientWidth}`)
"""
"""The tables of a page that are wider than their place."""

PLACE = "document.documentElement.scrollWidth"


def failed(**process: Any) -> OrderProcess:
    """An order in Error, with an alert whose code is long."""
    workflow = registry.newest_workflows()["fulfil-order"]
    error = {"code": "destination_unserved", "message": MESSAGE}
    before = {"reserve-stock": "completed", "authorise-payment": "completed"}
    steps = before | {
        "create-shipment": {"state": "failed", "outcome": "refused", "error": error, "attempt": 3}
    }
    order = make_order(steps, workflow=workflow, process_state="error", **process)
    make_purchase(order.pk, email=GRACE, total=1_234_567, title="12 × The Harbour at Night, in Fog")
    make_alert(order.pk, agent="carrier", step="create-shipment", **error)
    return order


def requested(
    order: OrderProcess,
    state: str,
    *,
    action: str = "paused",
    result: str = "",
    group: AlertGroup | None = None,
) -> None:
    """Has Grace's resubmission of an order stand like this."""
    stored = BulkAction.objects.create(
        kind="resubmit",
        state=action,
        selection="one order",
        group=group,
        by=GRACE,
        starts_at=ahead(3_600),
        waves=[1],
        total=1,
    )
    BulkItem.objects.create(action=stored, position=0, order_id=order.pk, state=state, result=result)


def under_way() -> None:
    """Orders with the widest words for where they stand, at which step, and when they were placed."""
    workflow = registry.newest_workflows()["fulfil-order"]
    awaits = {"awaits": {"kind": "decision", "choices": ["accept"]}, "awaits_until": ahead(3_550)}
    for steps in (
        {"reserve-stock": {"state": "awaiting", **awaits}},
        {"reserve-stock": "completed", "authorise-payment": "running"},
    ):
        order = make_order(
            steps, workflow=workflow, process_state="processing", locked_by="", complete_by=ahead(3_600)
        )
        make_purchase(order.pk, placed_at=ago(90 * 86_400))


def fill_lists() -> None:
    """Every kind of row that the lists can have."""
    owner, _ = User.objects.get_or_create(username=GRACE, email=GRACE)
    failed(priority=9, failure_count=12)
    under_way()
    requested(failed(), "waiting", action="running")
    requested(failed(), "waiting")
    answer = "the carrier has refused it again: destination_unserved"
    requested(failed(paused_at=ago(60)), "failed", result=answer)
    edited = failed()
    closing = {"closed_at": ago(60), "closed_by": GRACE, "resolution": "edited and resubmitted"}
    make_alert(edited.pk, agent="carrier", code="destination_unserved", message=MESSAGE, **closing)
    group = AlertGroup.objects.get(agent="carrier", code="destination_unserved", pattern=MESSAGE)
    AlertGroup.objects.filter(pk=group.pk).update(
        owner=owner,
        owned_at=ago(60),
        ticket_url="https://tickets.example/1",
        acknowledged_at=ahead(60),
        acknowledged_by=GRACE,
    )
    requested(failed(), "waiting", group=group)
    old, _ = api_tokens.mint(owner, scopes=list(TokenScope), by="test", label="nightly export")
    ApiToken.objects.filter(pk=old.pk).update(
        last_used_at=ago(3_000), replaced_by="sas_QCG4Ps9x", expires_at=ahead(80_000)
    )
    api_tokens.mint(User.objects.get(username="anna"), scopes=[TokenScope.READ], by="test")


@pytest.fixture
def lists(shop: Shop, open_page: Opener, django_db_blocker: Any) -> Page:
    """A page of an admin; the lists are full."""
    with django_db_blocker.unblock():
        in_thread(fill_lists).result(timeout=60)
    page = open_page(LISTS[0], viewport={"width": LAPTOP, "height": 900})
    page.get_by_label("Name", exact=True).fill("anna")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#main h1")).to_have_text("Orders")
    return page


def test_no_list_is_cut_off_on_a_laptop_and_no_page_is_wider_than_its_window(lists: Page) -> None:
    trouble = []
    for path in LISTS:
        lists.set_viewport_size({"width": LAPTOP, "height": 900})
        lists.goto(path)
        expect(lists.locator("main table").last).to_be_visible()
        trouble += lists.evaluate(CUT)
        for width in (*TABLETS, LAPTOP):
            lists.set_viewport_size({"width": width, "height": 900})
            needed = lists.evaluate(PLACE)
            trouble += [f"{path} is {needed} px wide in {width}"] if needed > width else []
    assert trouble == []


def test_the_version_of_a_token_can_be_read_where_it_is_chosen(lists: Page) -> None:
    lists.goto("/console/tokens/")
    version = lists.get_by_label("Version that answers").first
    for width in (*TABLETS, LAPTOP, 1440):
        lists.set_viewport_size({"width": width, "height": 900})
        box = version.bounding_box()
        assert box is not None and box["width"] >= 136, width
