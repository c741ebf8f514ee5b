"""The overview's incidents, in the console and over REST: what, since when, why, how much is at risk, what to do."""

import re
from typing import Any
from uuid import uuid4

import pytest

from orders.models import AgentInstance, AlertGroup, Circuit, LeaderLease, OrderProcess, SetAside
from orders.selectors.desk.incidents import MOST_ORDERS
from orders.wording.runbooks import find_runbook
from tests.support.factories import ago, ahead, make_alert, make_order, make_purchase
from tests.support.people import api_client, person, signed_in, token_of
from tests.support.workflows import CAKE

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]
DUE = r"due by \d\d:\d\d UTC(, the first by \d\d:\d\d)?\."
"""Two promises made one after another may be in different minutes."""
NONE_LATE = DUE.removesuffix(r"\.") + r"; none is late yet\."


@pytest.fixture(autouse=True)
def healthy() -> None:
    LeaderLease.objects.create(name="supervisor", holder="s", term=1, expires_at=ahead(60), swept_at=ago(1))
    AgentInstance.objects.create(agent="oven", instance="agents:1", capacity=8)
    Circuit.objects.create(agent="oven")


def waiting(count: int, *, promised_in: float = 86_400.0) -> list[OrderProcess]:
    """Orders that wait for the oven."""
    orders = []
    for _ in range(count):
        order = make_order(
            {"mix": {"agent": "oven", "waiting_since": ago(60)}},
            process_state="pending",
            not_before=ahead(60),
        )
        make_purchase(order.pk, promised_by=ahead(promised_in))
        orders.append(order)
    return orders


def failed(total: int = 3_900, **alert: Any) -> OrderProcess:
    order = make_order({"mix": "failed"}, process_state="error")
    make_purchase(order.pk, total=total, promised_by=ahead(60))
    make_alert(
        order.pk, **({"step": "mix", "agent": "oven", "code": "burnt", "message": "it is burnt"} | alert)
    )
    return order


def results(name: str = "") -> list[dict[str, Any]]:
    answer = api_client(token_of(person("operator", name))).get("/api/v1/incidents")
    assert answer.status_code == 200
    return list(answer.json()["results"])


def overview() -> str:
    return " ".join(signed_in(person("viewer", "vera")).get("/console/").content.decode().split())


def test_nothing_wrong_is_no_incident() -> None:
    assert results() == []
    assert "Everything is working." in overview()


def test_an_outage_names_the_service_its_cause_and_who_waits_and_says_that_they_go_on_by_themselves() -> None:
    Circuit.objects.update(
        state="open",
        opened_at=ago(61),
        probe_at=ahead(30),
        cause_code="connection_lost",
        cause_message="reset",
    )
    waiting(2, promised_in=60)
    (outage,) = results()
    assert outage["title"].startswith("Oven has been down for 1 min")
    assert outage["title"].endswith("(connection lost).")
    assert (outage["kind"], outage["severity"], outage["why"]) == ("outage", "bad", "Reset.")
    assert outage["by_itself"] == "2 orders wait and will continue by themselves."
    assert re.fullmatch(f"€78.00 is at stake. 2 orders are {NONE_LATE}", outage["impact"])
    assert (outage["orders"], outage["money"], outage["promises"], outage["has_more"]) == (
        2,
        [{"amount": 7_800, "currency": "EUR"}],
        2,
        False,
    )
    page = overview()
    assert "Oven has been down for 1 min" in page
    assert outage["by_itself"] in page
    assert 'href="/console/orders/?waiting=oven">Show the waiting orders</a>' in page
    assert "Everything is working" not in page


def test_one_order_waits_in_the_singular_and_promises_far_off_are_not_at_risk() -> None:
    Circuit.objects.update(state="open", opened_at=ago(61), probe_at=ahead(30))
    waiting(1)
    (outage,) = results()
    assert outage["by_itself"] == "1 order waits and will continue by itself."
    assert outage["impact"] == "€39.00 is at stake."


def test_steps_that_wait_are_not_called_orders_and_both_numbers_say_what_they_count() -> None:
    """The table of the agents beside it says 6, which is steps: an order may have several."""
    Circuit.objects.update(state="open", opened_at=ago(61), probe_at=ahead(30))
    waits = {"agent": "oven", "waiting_since": ago(60)}
    for _ in range(2):
        make_order(
            {step.name: waits for step in CAKE.steps[:3]}, process_state="pending", not_before=ahead(60)
        )
    (outage,) = results()
    assert outage["by_itself"] == "2 orders (6 steps) wait and will continue by themselves."
    assert re.search(r'data-label="Steps waiting"> <a href="[^"]*">6</a>', overview())


def test_more_than_are_read_are_said_as_the_steps_that_they_were_counted_by(monkeypatch: Any) -> None:
    Circuit.objects.update(state="open", opened_at=ago(61), probe_at=ahead(30))
    monkeypatch.setattr("orders.selectors.desk.incidents.MOST_ORDERS", 1)
    monkeypatch.setattr("orders.selectors.desk.incidents.LEAST_ORDERS", 1)
    waiting(3)
    (outage,) = results()
    assert outage["by_itself"] == "3 steps wait and will continue by themselves."


def test_our_own_failures_come_first_then_cancellations_outages_failed_orders_by_money_and_decisions() -> (
    None
):
    awaits = {"kind": "decision", "choices": ["serve"]}
    late = make_order(
        {"mix": {"state": "awaiting", "awaits": awaits, "complete_by": ago(5)}}, process_state="processing"
    )
    make_purchase(late.pk)
    failed(1_000, code="cheap", message="cheap")
    failed(9_000, code="dear", message="dear")
    Circuit.objects.update(state="open", opened_at=ago(61), probe_at=ahead(30))
    failed(kind="compensation_failed", code="gone", message="gone")
    make_alert(
        None, kind="stalled", code="undelivered", message="alerts have not been delivered", subject="outbox"
    )
    LeaderLease.objects.update(swept_at=ago(600))
    titles = [incident["title"] for incident in results()]
    beginnings = (
        "The supervisor last swept 10 min",
        "Alerts have not been delivered.",
        "1 cancellation failed at oven: “gone”",
        "Oven has been down",
        "1 order failed at oven: “dear”",
        "1 order failed at oven: “cheap”",
        "A decision is past its deadline.",
    )
    own = sorted(titles[:2], reverse=True)
    for title, beginning in zip([*own, *titles[2:]], beginnings, strict=True):
        assert title.startswith(beginning)


def test_orders_that_will_be_late_are_an_incident_unless_the_service_itself_is_one() -> None:
    waiting(1)
    make_alert(None, kind="late", code="deadlines", message="oven is slow", subject="oven", agent="oven")
    (incident,) = results()
    assert (incident["kind"], incident["title"]) == (
        "late",
        "Orders waiting for oven will be late at its current pace.",
    )
    assert incident["by_itself"] == "If nothing else goes wrong, they will be done, but late."
    Circuit.objects.filter(agent="oven").update(state="open", opened_at=ago(61), probe_at=ahead(30))
    assert [incident["kind"] for incident in results("olga")] == ["outage"]


def test_no_order_that_failed_meanwhile_is_promised_to_be_done_late() -> None:
    make_alert(None, kind="late", code="deadlines", message="oven is slow", subject="oven", agent="oven")
    (incident,) = results()
    assert (incident["title"], incident["by_itself"]) == (
        "Orders that waited for oven were going to be late. None waits for it now.",
        "The next check closes this.",
    )


def test_what_an_operator_has_limited_is_said_where_orders_will_be_late_because_of_it() -> None:
    make_alert(None, kind="late", code="deadlines", message="oven is slow", subject="oven", agent="oven")
    Circuit.objects.filter(agent="oven").update(set_rate=1.0)
    (incident,) = results()
    assert incident["why"] == "An operator has limited it to 1 call a second."
    assert "limited" in overview()


@pytest.mark.parametrize(
    ("code", "does"),
    [
        ("undelivered", "They are tried again for three days, and the console shows them in any case."),
        ("part_failed", "It goes on with the other parts, and tries this one again."),
        ("disk_nearly_full", "Orders go on until the disk is full."),
        ("quarantined", "It takes no new requests; the other hosts do its work."),
        ("slow_order", "It is tried again from time to time, and the other orders go on."),
    ],
)
def test_an_incident_of_the_system_says_what_its_runbook_says(code: str, does: str) -> None:
    make_alert(None, kind="stalled", code=code, message="something is wrong", subject="outbox")
    (incident,) = results()
    assert incident["by_itself"].startswith(does)
    runbook = find_runbook(kind="stalled", code=code, agent="")
    assert runbook is not None
    assert incident["why"] == f"What to do: {runbook.todo}"


def test_submissions_that_were_set_aside_are_one_incident_and_no_failed_orders() -> None:
    order_id = uuid4()
    SetAside.objects.create(
        order_id=order_id, client="guest", body={}, reason="the size is none", posted_at=ago(60)
    )
    make_alert(order_id, kind="set_aside", code="cannot_be_inserted", message="the size is none")
    (incident,) = results()
    assert (incident["kind"], incident["title"]) == (
        "failed",
        "1 submission was set aside: the size is none",
    )
    assert incident["by_itself"] == "It stays set aside until an operator replays it."
    assert [link["text"] for link in incident["links"]] == ["Show 1 submission", "Open the cause"]
    group = AlertGroup.objects.get()
    page = signed_in(person("operator", "otto")).get(f"/console/alerts/{group.pk}/").content.decode()
    assert "Resubmit 1 order" not in page
    assert "Show 1 submission" in page


def test_a_snoozed_alert_is_not_said_to_be_closed() -> None:
    make_alert(None, kind="stalled", code="slow", message="the database is slow", subject="scheduler")
    AlertGroup.objects.update(snoozed_by="olga", snoozed_at=ago(5), snoozed_until=ahead(600))
    page = overview()
    assert "Everything is working." in page
    assert "every open alert is snoozed" in page
    assert "no alerts are open" not in page


def test_failed_orders_lead_an_operator_to_the_preview_and_a_viewer_to_the_alert_alone() -> None:
    failed()
    failed()
    (incident,) = results()
    assert incident["title"] == "2 orders failed at oven: “it is burnt”"
    assert re.fullmatch(f"€78.00 is at stake. 2 orders are {NONE_LATE}", incident["impact"])
    assert [link["text"] for link in incident["links"]] == ["Resubmit 2 orders…", "Open the cause"]
    assert "/console/bulk/new/?group=" not in overview()
    page = signed_in(person("operator", "otto")).get("/console/").content.decode()
    assert "/console/bulk/new/?group=" in page


def test_what_is_not_added_up_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_ORDERS > 50
    monkeypatch.setattr("orders.selectors.desk.incidents.MOST_ORDERS", 1)
    monkeypatch.setattr("orders.selectors.desk.incidents.LEAST_ORDERS", 1)
    failed()
    failed()
    (incident,) = results()
    assert (incident["orders"], incident["has_more"]) == (2, True)
    assert re.fullmatch(f"€39.00 or more is at stake. 1 or more orders are {DUE}", incident["impact"])


@pytest.mark.parametrize(
    ("promised", "sentence"),
    [
        ((-60, -60), "2 orders are late."),
        ((-60, 60, 60), f"1 order is late; 2 are {DUE}"),
        ((60,), f"1 order is {DUE}"),
        ((7_200,), ""),
    ],
)
def test_orders_that_are_late_are_told_from_those_that_are_due_soon(
    promised: tuple[int, ...], sentence: str
) -> None:
    Circuit.objects.update(state="open", opened_at=ago(61), probe_at=ahead(30))
    for seconds in promised:
        waiting(1, promised_in=seconds)
    (incident,) = results()
    assert re.fullmatch(sentence, incident["impact"].partition(" at stake.")[2].strip())


def test_a_paused_service_says_who_paused_it_and_why() -> None:
    Circuit.objects.update(paused=True, held_by="olga", held_reason="the oven is cleaned")
    waiting(1)
    (incident,) = results()
    assert (incident["title"], incident["why"]) == (
        "Oven was paused by olga.",
        "Reason: the oven is cleaned.",
    )
    assert incident["by_itself"] == "1 order waits until an operator lets it continue."
