"""Orders in the console, in a browser, with real workers: resubmitted, edited, compensated and settled by hand."""

import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from playwright.sync_api import Page, expect

from orders.business import registry
from tests.browser.axe import violations
from tests.browser.conftest import Opener
from tests.browser.running import PASSWORD, Shop
from tests.support.factories import ahead, make_order
from tests.support.roles import in_thread
from tests.support.wait import until

LONG = 60.0
"""Seconds that something may take on a busy machine."""

Failing = Callable[..., UUID]


@pytest.fixture
def failing(shop: Shop, django_db_blocker: Any) -> Iterator[Failing]:
    """Places an order that fails for good because the carrier refuses it; afterwards the carrier works again."""

    def place() -> UUID:
        (order_id,) = shop.system.place()
        return order_id

    def fail() -> UUID:
        shop.faults("carrier", refuse_rate=1.0)
        order_id = in_thread(place).result(timeout=LONG)
        until(lambda: state_of(shop, order_id) == "error", what="the failed order")
        shop.system.clear_faults()
        return order_id

    with django_db_blocker.unblock():
        yield fail


def query(shop: Shop, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(shop.database) as connection:
        return connection.execute(sql, values).fetchall()  # type: ignore[arg-type]


def state_of(shop: Shop, order_id: UUID) -> str:
    rows = query(shop, "SELECT process_state FROM orders_orderprocess WHERE order_id = %s", order_id)
    return str(rows[0][0]) if rows else "not inserted"


def happened(shop: Shop, order_id: UUID, kind: str) -> int:
    return shop.count("SELECT count(*) FROM orders_event WHERE order_id = %s AND kind = %s", order_id, kind)


def desk_of(open_page: Opener, name: str, path: str) -> Page:
    """A page of the console, opened by somebody who has signed in there."""
    page = open_page(path)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/sign-in/" not in url)
    page.goto(path)
    return page


def hold(shop: Shop, order_id: UUID) -> int:
    """Waits for the requested resubmission, and postpones it, so that it does not start even on a slow machine."""

    def held() -> list[tuple[Any, ...]]:
        return query(
            shop,
            """
            UPDATE orders_bulkaction AS a SET starts_at = now() + interval '10 min'
              FROM orders_bulkitem AS i
             WHERE i.action_id = a.id AND i.order_id = %s AND i.state = 'waiting' AND a.state = 'running'
            RETURNING a.id
            """,
            order_id,
        )

    ((action,),) = until(held, what="the resubmission")
    return int(action)


@pytest.mark.pattern("O2")
def test_a_step_is_edited_compared_and_resubmitted(shop: Shop, open_page: Opener, failing: Failing) -> None:
    order_id = failing()
    page = desk_of(open_page, "otto", f"/console/orders/{order_id}/")
    page.locator("#steps").get_by_role("link", name="Edit and resubmit…").click()
    page.get_by_label("City").fill("Den Haag")
    page.get_by_label("Reason").fill("she moved")
    page.get_by_role("button", name="Review changes").click()
    for table in page.locator("table").all():  # of the order, and of each step that follows
        expect(table.locator("del")).to_contain_text("Delft")
        expect(table.locator("ins")).to_contain_text("Den Haag")
    page.get_by_role("button", name="Save and resubmit").click()
    expect(page.locator("#status")).to_contain_text("Edited ")
    until(lambda: state_of(shop, order_id) == "processed", what="the end of the order")
    page.reload()
    expect(page.locator("#events")).to_contain_text("The order was edited (ship_to)")
    expect(page.locator("#steps")).to_contain_text("edited")
    assert sorted(shop.system.effects(order_id)) == ["authorise", "capture", "create", "reserve"]


def test_the_result_of_an_act_never_lies_on_the_open_menu_and_can_be_closed(
    open_page: Opener, failing: Failing
) -> None:
    page = desk_of(open_page, "otto", f"/console/orders/{failing()}/")
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("summary", has_text="Priority").click()
    page.get_by_role("button", name="Set priority").click()
    result = page.locator("#status .notice")
    expect(result).to_contain_text("The priority is ")
    page.locator(".side__button").click()
    expect(result).to_be_hidden()
    page.locator(".side__button").click()
    result.get_by_role("button", name="Close").click()
    expect(result).to_have_count(0)


def test_on_a_phone_what_failed_comes_before_the_acts_and_the_number_of_alerts_leads_to_them(
    open_page: Opener, failing: Failing
) -> None:
    page = desk_of(open_page, "otto", f"/console/orders/{failing()}/")
    page.set_viewport_size({"width": 390, "height": 844})
    alert = page.locator("#facts .notice--bad").bounding_box()
    acts = page.locator(".desk__actions").bounding_box()
    assert alert and acts and alert["y"] + alert["height"] <= acts["y"]
    page.locator("#menu-alerts").click()
    expect(page).to_have_url(re.compile("/console/alerts/$"))


@pytest.mark.pattern("O2", "F33")
def test_two_simultaneous_operators_cause_one_effect_and_either_can_undo_it(
    shop: Shop, open_page: Opener, failing: Failing
) -> None:
    order_id = failing()
    path = f"/console/orders/?q={order_id}"
    otto, anna = desk_of(open_page, "otto", path), desk_of(open_page, "anna", path)
    anna.locator("[data-row]").hover()  # nothing moves under her pointer, so her button stays what it was
    otto.get_by_role("button", name="Resubmit").click(no_wait_after=True)
    action = hold(shop, order_id)
    anna.get_by_role("button", name="Resubmit").click()
    expect(anna.locator("[data-row]")).to_contain_text("will be resubmitted")
    expect(otto.locator("[data-row]")).to_contain_text("will be resubmitted")
    acts = "SELECT count(*) FROM orders_bulkitem WHERE order_id = %s"
    assert shop.count(acts, order_id) == 1
    anna.get_by_role("button", name="Undo").click()
    expect(anna.get_by_role("button", name="Resubmit")).to_be_visible()
    otto.goto(path)
    expect(otto.get_by_role("button", name="Resubmit")).to_be_visible()
    assert query(shop, "SELECT state FROM orders_bulkaction WHERE id = %s", action) == [("undone",)]
    assert (state_of(shop, order_id), happened(shop, order_id, "resubmitted")) == ("error", 0)

    # What was undone never happens, and a new resubmission happens once.
    otto.get_by_role("button", name="Resubmit").click()
    until(lambda: state_of(shop, order_id) == "processed", what="the end of the order")
    assert happened(shop, order_id, "resubmitted") == 1
    assert sorted(shop.system.effects(order_id)) == ["authorise", "capture", "create", "reserve"]


@pytest.mark.pattern("O2")
def test_an_order_is_found_and_resubmitted_and_that_is_undone_with_the_keyboard_alone(
    shop: Shop, open_page: Opener, failing: Failing
) -> None:
    order_id = failing()
    page = desk_of(open_page, "otto", "/console/orders/")
    page.keyboard.press("/")
    page.keyboard.type(str(order_id)[-10:])
    page.keyboard.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(1)
    page.locator("#main").focus()
    page.keyboard.press("j")
    expect(page.locator("[data-row]")).to_be_focused()
    page.keyboard.press("x")
    expect(page.locator("[data-row] input[type=checkbox]")).to_be_checked()
    page.keyboard.press("x")
    page.keyboard.press("r")
    hold(shop, order_id)
    expect(page.locator("[data-row]")).to_contain_text("will be resubmitted")
    page.keyboard.press("u")
    expect(page.get_by_role("button", name="Resubmit")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.get_by_role("heading", name=re.compile(str(order_id)))).to_be_visible()
    assert (state_of(shop, order_id), happened(shop, order_id, "resubmitted")) == ("error", 0)


@pytest.mark.pattern("C10", "F34")
def test_a_failed_compensation_appears_on_the_desk_and_is_settled_by_hand(
    shop: Shop, open_page: Opener, failing: Failing
) -> None:
    order_id = failing()
    shop.faults("warehouse", refuse_rate=1.0)
    page = desk_of(open_page, "anna", f"/console/orders/{order_id}/")
    page.get_by_role("link", name=re.compile("^Cancel and release €.*…$")).click()
    page.get_by_label("Reason").fill("she asked for it")
    page.get_by_label("Type cancel to confirm").fill("cancel")
    page.get_by_role("button", name=re.compile("^Cancel the order and release €")).click()
    until(
        lambda: happened(shop, order_id, "compensation_failed") == 1,
        what="the compensation that fails",
    )
    until(lambda: state_of(shop, order_id) == "error", what="the failed compensation")
    page.goto("/console/compensation/")
    row = page.locator("#failed [data-row]", has_text=str(order_id)[-8:])
    row.get_by_role("link", name="Settle reserve-stock…").click()
    page.get_by_label("Proof").fill("the warehouse's letter of today")
    page.get_by_role("button", name="Settle the step").click()
    expect(page.locator("#status")).to_contain_text("reversed outside the system")
    shop.system.clear_faults()
    until(lambda: state_of(shop, order_id) == "compensated", what="the compensation")
    page.reload()
    expect(page.locator("#events")).to_contain_text(
        "settled by hand as reversed outside the system: the warehouse's letter of today"
    )


def to_decide() -> UUID:
    """An order that waits for a person. The shop has none of its own, and its workers leave this one alone."""
    awaits = {"kind": "decision", "choices": ["accept", "reject"]}
    workflow = registry.newest_workflows()["fulfil-order"]
    step = {"state": "awaiting", "awaits": awaits}
    return make_order({"reserve-stock": step}, workflow=workflow, not_before=ahead(9_000)).pk


def test_the_order_pages_are_accessible(shop: Shop, open_page: Opener, failing: Failing) -> None:
    at = f"/console/orders/{failing()}/"
    waiting = f"/console/orders/{in_thread(to_decide).result(timeout=LONG)}/"
    page = desk_of(open_page, "anna", "/console/orders/")
    trouble = []
    for path in (
        "/console/orders/",
        "/console/orders/?state=error&older=soon",
        at,
        waiting,
        f"{waiting}steps/reserve-stock/decide/confirm/?choice=reject",
        f"{at}steps/create-shipment/edit/",
        f"{at}steps/capture-payment/skip/",
        f"{at}steps/create-shipment/settle/",
        f"{at}compensate/",
        "/console/compensation/",
        "/console/set-aside/",
        "/console/decisions/",
    ):
        for colours, width in (("light", 1280), ("dark", 360)):
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # type: ignore[arg-type]
            page.goto(path)
            trouble += [f"{path} {colours}: {line}" for line in violations(page)]
            needed = page.evaluate("document.documentElement.scrollWidth")
            trouble += [f"{path} is {needed} px wide"] if needed > width else []
    assert trouble == []


def test_a_viewer_is_offered_no_acts(shop: Shop, open_page: Opener, failing: Failing) -> None:
    order_id = failing()
    page = desk_of(open_page, "vera", f"/console/orders/{order_id}/")
    expect(page.locator("#steps")).to_contain_text("create-shipment")
    for name in ("Resubmit", "Set priority"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    for name in (re.compile("^Cancel and"), "Edit and resubmit…", "Skip…"):
        expect(page.get_by_role("link", name=name)).to_have_count(0)


def test_on_a_phone_an_order_in_error_takes_three_screens_and_begins_with_its_failing_step(
    shop: Shop, open_page: Opener, failing: Failing
) -> None:
    at = f"/console/orders/{failing()}/"
    page = desk_of(open_page, "otto", at)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(at)
    assert page.evaluate("document.documentElement.scrollHeight") < 3 * 844
    alert = page.locator("#facts .notice--bad")
    expect(alert).to_contain_text("create-shipment (carrier)")
    for part in (alert, alert.get_by_role("link", name="Edit and resubmit…")):
        box = part.bounding_box()
        assert box is not None and box["y"] + box["height"] <= 844
    expect(page.locator("#chart svg")).to_be_hidden()
    page.locator("#chart summary").first.click()
    expect(page.locator("#chart svg")).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(at)
    for part in ("#chart svg", "#spent table"):  # a wide window folds nothing of this
        expect(page.locator(part)).to_be_visible()
