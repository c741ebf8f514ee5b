"""The pages of alerts and bulk actions: what they show, what a form may do, and who is refused."""

import csv
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from orders.engine.alerts import close_alerts, open_outage
from orders.models import AuditEntry, BulkAction, GroupNote, OutgoingMessage, StepState
from orders.services.operators import alerts as alert_services
from orders.services.operators import bulk as bulk_services
from tests.support.desk import (
    OLGA,
    carry_on,
    fail,
    failed_orders,
    group_of,
    items_in,
    now_of,
    stop,
    succeed,
    times_resubmitted,
)
from tests.support.factories import ago, make_alert, make_order, make_purchase
from tests.support.people import person, signed_in

pytestmark = pytest.mark.django_db

Desk = Callable[..., Client]


@pytest.fixture
def desk(db: None) -> Desk:
    """Signs in somebody with this access level, and returns the browser."""

    def sign_in(role: str, name: str = "olga") -> Client:
        return signed_in(person(role, name))

    return sign_in


def text_of(answer: Any) -> str:
    """The words of a page, without its tags."""
    assert answer.status_code == 200, answer.status_code
    body = re.sub(r"<(script|style)\b.*?</\1>", "", answer.content.decode(), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def form_of(page: Any) -> dict[str, Any]:
    """The fields of the bulk action's form on a page."""
    body = page.content.decode()
    form = body[body.index('action="/console/bulk/create/"') :]
    fields: dict[str, Any] = {}
    for tag in re.findall(r"<input\b[^>]*>", form[: form.index("</form>")]):
        name = re.search(r'name="([^"]*)"', tag)
        value = re.search(r'value="([^"]*)"', tag)
        if name is not None and name[1] != "csrfmiddlewaretoken":
            fields.setdefault(name[1], []).append(value[1] if value else "")
    return fields


def ask_for(client: Client, query: str, **changes: Any) -> Any:
    """Opens the form of a bulk action, and sends it."""
    page = client.get(f"/console/bulk/new/?{query}")
    assert page.status_code == 200
    return client.post("/console/bulk/create/", form_of(page) | changes)


@pytest.mark.pattern("O1")
def test_the_inbox_shows_each_cause_once_with_what_is_at_risk(desk: Desk) -> None:
    ids = failed_orders(3, message="<b>it</b> said no to 17")
    for order_id, email, total in zip(ids, ("a@x.org", "A@x.org", "b@x.org"), (100, 200, 50), strict=True):
        make_purchase(order_id, email=email, total=total, placed_at=ago(60))
    failed_orders(1, code="key_expired", message="too old")
    close_alerts(failed_orders(1, message="<b>it</b> said no to 4"), by="otto", resolution="resubmitted")
    client = desk("viewer")
    text = text_of(client.get("/console/alerts/"))
    assert text.count("http_503") == 1
    assert "€3.50" in text
    assert "resubmitted by otto" in text
    assert "not seen before" in text
    assert text.index("http_503") < text.index("key_expired")
    alert_services.acknowledge(group_id=group_of().pk, actor=OLGA)
    text = text_of(client.get("/console/alerts/"))
    assert text.index("key_expired") < text.index("http_503")
    assert "operator:olga" in text
    page = client.get(f"/console/alerts/{group_of().pk}/")
    assert escape("<b>it</b>") in page.content.decode()
    assert b"<b>it</b>" not in page.content


@pytest.mark.pattern("A8")
def test_an_outage_says_how_many_wait_and_offers_nothing_to_resubmit(desk: Desk) -> None:
    open_outage("kitchen", code="unreachable", message="no answer")
    for _ in range(3):
        order = make_order({"mix": "not_started"}, process_state="pending")
        StepState.objects.filter(process=order, name="mix").update(waiting_since=ago(5))
    make_alert(None, kind="late", code="deadlines", message="slow", subject="kitchen", agent="kitchen")
    client = desk("operator")
    text = text_of(client.get("/console/alerts/"))
    assert "3 steps waiting" in text and "deadlines · not seen before 3 orders" in text
    page = client.get(f"/console/alerts/{group_of('unreachable').pk}/")
    assert "Steps waiting 3" in text_of(page)
    html = page.content.decode()
    assert "/console/bulk/new/" not in html
    assert 'href="/console/orders/?q=waiting%3Akitchen">Show the orders that wait</a>' in " ".join(
        html.split()
    )
    assert '<th scope="col">Customer</th>' not in html  # an outage is no order's
    assert re.search(r"<h1>\s*<span[^>]*>kitchen: no answer</span>\s*</h1>", html)


def test_an_empty_inbox_says_so(desk: Desk) -> None:
    client = desk("viewer")
    assert "No alerts are open." in text_of(client.get("/console/alerts/"))
    assert "No bulk actions yet." in text_of(client.get("/console/bulk/"))
    assert client.get("/console/alerts/4711/").status_code == 404
    assert client.get("/console/bulk/4711/").status_code == 404


@pytest.mark.pattern("O1")
def test_a_group_shows_its_acknowledgement_its_notes_and_who_was_notified(desk: Desk) -> None:
    failed_orders(1)
    group = group_of()
    OutgoingMessage.objects.create(
        kind="alert",
        group=group,
        channel="webhook",
        recipient="chat.example",
        arguments={"alerts": 1},
        attempts=2,
        error="refused",
        due_at=ago(0),
        give_up_at=ago(-60),
    )
    client = desk("operator")
    at = f"/console/alerts/{group.pk}/"
    assert client.post(f"{at}acknowledge/").status_code == 302
    client.post(f"{at}note/", {"text": "  the carrier was <told>\r\nat noon  "})
    client.post(f"{at}note/", {"text": "   "})
    assert GroupNote.objects.get().text == "the carrier was <told>\nat noon"
    text = text_of(client.get(at))
    assert "Acknowledged by olga" in text
    assert escape("the carrier was <told>") in text
    assert "chat.example" in text
    assert "not yet, after 2 attempts: refused" in text
    client.post(f"{at}reopen/")
    assert "Nobody has acknowledged it yet." in text_of(client.get(at))
    acts = AuditEntry.objects.order_by("id").values_list("act", "target", "before", "after")
    assert [entry[0] for entry in acts] == ["acknowledge", "note", "unacknowledge"]
    assert acts[0] == (
        "acknowledge",
        f"group {group.pk}",
        {"acknowledged_by": ""},
        {"acknowledged_by": "olga"},
    )


@pytest.mark.pattern("O2")
def test_a_group_is_resubmitted_as_a_whole_and_later_alerts_are_shown_separately(desk: Desk) -> None:
    ids = failed_orders(3)
    group = group_of()
    client = desk("operator")
    page = client.get(f"/console/alerts/{group.pk}/")
    (query,) = re.findall(r'/console/bulk/new/\?(group=[^"]*?upto=\d+)"', page.content.decode())
    (later,) = failed_orders(1, message="it said no")
    response = ask_for(client, query.replace("&amp;", "&"), reason="fixed")
    action = BulkAction.objects.get()
    assert response.headers["Location"] == f"/console/bulk/{action.pk}/"
    assert (action.total, action.group, action.by, action.reason) == (3, group, "olga", "fixed")
    assert items_in(action, "waiting") == ids
    carry_on(action)
    (joined,) = failed_orders(1, message="it said no")
    page = client.get(f"/console/alerts/{group.pk}/").content.decode()
    apart = page[page.index("New failures since it started") : page.index('id="orders-of"')]
    assert f"/console/orders/{joined}/" in apart
    assert all(f"/console/orders/{order_id}/" not in apart for order_id in (*ids, later))


@pytest.mark.pattern("O2", "F33")
def test_a_form_that_is_sent_twice_begins_one_action(desk: Desk) -> None:
    failed_orders(2)
    client = desk("operator")
    form = form_of(client.get(f"/console/bulk/new/?group={group_of().pk}"))
    first, second = (client.post("/console/bulk/create/", form).headers["Location"] for _ in range(2))
    assert first == second
    assert BulkAction.objects.count() == 1


@pytest.mark.pattern("O2")
def test_more_than_fifty_orders_need_the_count_typed(desk: Desk) -> None:
    failed_orders(51)
    client = desk("operator")
    query = f"group={group_of().pk}"
    for typed in ("", "50", "fifty-one"):
        refused = ask_for(client, query, typed=typed)
        assert refused.status_code == 422
        assert "Type 51 to confirm." in refused.content.decode()
    assert not BulkAction.objects.exists()
    assert ask_for(client, query, typed=" 51 ").status_code == 302
    assert BulkAction.objects.get().waves == [1, 10, 40]


@pytest.mark.pattern("C10")
def test_a_refund_of_many_needs_the_count_typed_too(desk: Desk) -> None:
    failed_orders(2)
    client = desk("operator")
    query = f"group={group_of().pk}&do=compensate"
    assert ask_for(client, query, typed="").status_code == 422
    assert ask_for(client, query, typed="2").status_code == 302
    assert BulkAction.objects.get().kind == "compensate"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"waves": "one, all"}, "Enter whole numbers with commas"),
        ({"waves": "0, 1"}, "Only the last may be 0"),
        ({"waves": ",".join("1" * 21)}, "Enter at most 20 sizes"),
        ({"waves": "1, 50001"}, "each of at most 50,000 orders"),
        ({"rate": "fast"}, "Enter a number from 0.1"),
        ({"rate": "0"}, "Enter a number from 0.1"),
        ({"stop_percent": "nan"}, "Enter a number from 0 to 100"),
        ({"seen": "1"}, "More orders match now than when"),
    ],
)
def test_an_invalid_form_begins_nothing_and_keeps_its_input(
    desk: Desk, changes: dict[str, str], message: str
) -> None:
    failed_orders(2)
    client = desk("operator")
    refused = ask_for(client, f"group={group_of().pk}", reason="fixed <it>", **changes)
    assert refused.status_code == 422
    assert message in refused.content.decode()
    assert escape("fixed <it>") in refused.content.decode()
    assert not BulkAction.objects.exists()


@pytest.mark.pattern("O2")
def test_filtered_and_selected_orders_are_resubmitted_if_they_are_in_error(desk: Desk) -> None:
    ids = failed_orders(2)
    failed_orders(1, code="key_expired")
    pending = make_order({}, process_state="pending").order_id
    client = desk("operator")
    ask_for(client, "code=http_503")
    assert sorted(items_in(BulkAction.objects.latest("id"), "waiting")) == sorted(ids)
    assert BulkAction.objects.latest("id").query["code"] == "http_503"
    stop(BulkAction.objects.get())
    ask_for(client, f"orders={ids[1]}&orders={pending}")
    assert items_in(BulkAction.objects.latest("id"), "waiting") == [ids[1]]
    page = client.get(f"/console/bulk/new/?orders={pending}")
    assert "nothing to resubmit" in text_of(page)
    for nothing in ("", "orders=4711", "group=4711", "group=x", "group=²"):
        assert client.get(f"/console/bulk/new/?{nothing}").status_code == 404


@pytest.mark.pattern("O2")
def test_an_action_is_paused_resumed_and_stopped_and_shows_the_result_of_each_order(desk: Desk) -> None:
    ids = failed_orders(4)
    action = bulk_services.create(
        kind="resubmit", order_ids=ids, selection="them", actor=OLGA, waves=(2, 0), rate=1000
    )
    client = desk("operator")
    at = f"/console/bulk/{action.pk}/"
    assert "You can undo it until then" in text_of(client.get(at))
    carry_on(action)
    succeed(ids[0])
    fail(ids[1], message="still no")
    carry_on(action)
    text = text_of(client.get(at))
    assert "1 of the 2 orders of wave 1 failed again. The last: http_503: still no" in text
    assert 'aria-label="2 of 2 ended, 1 failed again"' in client.get(at).content.decode()
    assert "still no" in text_of(client.get(f"{at}?state=failed"))
    client.post(f"{at}resume/")
    assert now_of(action).state == "running"
    client.post(f"{at}pause/")
    assert now_of(action).pause_reason == "by olga"
    back = client.post(f"{at}stop/", headers={"Referer": "http://testserver/console/bulk/"})
    assert back.headers["Location"] == "http://testserver/console/bulk/"
    assert now_of(action).state == "stopped"
    client.post(f"{at}undo/")
    assert "You can stop it" in text_of(client.get(at))
    assert client.post(f"{at}burn/").status_code == 404
    lines = list(csv.reader(client.get(f"{at}?format=csv").getvalue().decode("utf-8-sig").splitlines()))
    assert [line[2] for line in lines[1:]] == ["done", "failed", "nothing", "nothing"]


@pytest.mark.pattern("O2", "F33")
def test_two_operators_in_two_browsers_cause_one_effect(desk: Desk) -> None:
    (order_id,) = failed_orders(1)
    action = bulk_services.resubmit_one(order_id=order_id, actor=OLGA)
    olga, otto = desk("operator"), desk("operator", "otto")
    at = f"/console/bulk/{action.pk}/"
    assert 'data-key="u"' in otto.get(at).content.decode()
    otto.post(f"{at}undo/")
    olga.post(f"{at}undo/")
    assert now_of(action).state == "undone"
    assert AuditEntry.objects.filter(act="undo action").count() == 1
    carry_on(action)
    assert times_resubmitted(order_id) == 0


@pytest.mark.parametrize(
    "address",
    [
        "alerts/{group}/note/",
        "alerts/{group}/acknowledge/",
        "alerts/{group}/reopen/",
        "bulk/create/",
        "bulk/{action}/pause/",
        "bulk/{action}/stop/",
        "bulk/{action}/undo/",
    ],
)
def test_a_viewer_sees_everything_and_can_change_nothing(desk: Desk, address: str) -> None:
    ids = failed_orders(1)
    action = bulk_services.resubmit_one(order_id=ids[0], actor=OLGA)
    client = desk("viewer")
    group_id = group_of().pk
    for shown in ("alerts/", f"alerts/{group_id}/", "bulk/", f"bulk/{action.pk}/"):
        page = client.get(f"/console/{shown}")
        assert page.status_code == 200
        assert not re.search(r'method="post" action="/console/|bulk/new', page.content.decode())
    assert client.get(f"/console/bulk/new/?group={group_id}").status_code == 403
    path = "/console/" + address.format(group=group_id, action=action.pk)
    assert client.post(path, {"group": group_id, "text": "x"}).status_code == 403
    assert client.get(path).status_code == 403
    assert now_of(action).state == "running"
    refused = AuditEntry.objects.filter(allowed=False)
    assert refused.values_list("actor", flat=True)[0] == "olga"
    assert desk("customer", "nobody").get("/console/alerts/").status_code == 403


def test_the_exported_alerts_are_safe_in_a_spreadsheet(desk: Desk) -> None:
    failed_orders(1, message="=cmd|' /C calc'!A0")
    answer = desk("viewer").get(f"/console/alerts.csv?group={group_of().pk}")
    head, line = csv.reader(answer.getvalue().decode("utf-8-sig").splitlines())
    assert head[:3] == ["opened_at", "group", "kind"]
    assert line[head.index("message")] == "'=cmd|' /C calc'!A0"
    assert "attachment" in answer.headers["Content-Disposition"]
