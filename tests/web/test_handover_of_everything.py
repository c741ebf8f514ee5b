"""A hand-over leaves out nothing that the next shift has to know, and says how large each outage was."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils.html import strip_tags

from orders.engine.alerts import close_outage, open_outage
from orders.models import Alert, AuditEntry, Circuit, Event
from orders.services.audit import Actor
from orders.services.operators import agents, alerts, approvals, snoozes
from orders.services.operators import bulk as bulk_services
from orders.vocabulary import ApprovalAct
from tests.support.desk import OLGA, failed_orders, group_of
from tests.support.factories import ago, ahead, make_order, make_purchase
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.helpers import assert_problem
from tests.web.test_console_alerts import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]
PAGE, TEXT, API = "/console/handover/", "/console/handover.txt", "/api/v1/handover"
ADA = Actor(name="ada", ip_address="192.0.2.9")


@pytest.fixture
def olga(db: None) -> Client:
    return signed_in(person("operator", "olga"))


def both(client: Client) -> tuple[str, str]:
    """The page and the text, each on one line."""
    return text_of(client.get(PAGE)), client.get(TEXT).content.decode()


def test_requests_for_approval_notes_on_causes_and_reasons_of_snoozes_are_handed_over(olga: Client) -> None:
    failed_orders(1, code="dns", message="no name")
    Circuit.objects.create(agent="van")
    asking = approvals.ask(
        act=ApprovalAct.FORCE_CIRCUIT,
        parameters={"agent": "van", "state": "open", "seconds": 600.0},
        actor=ADA,
        reason="it bills twice",
    )
    assert asking.request is not None
    group = group_of("dns")
    alerts.add_note(group_id=group.pk, actor=ADA, text="The provider\nknows.")
    snoozes.snooze(group_id=group.pk, actor=OLGA, until=ahead(7_200), reason="a fix is on its way")
    page, text = both(olga)
    for shown in (page, text):
        assert "Force the circuit of van open for 10 min" in shown and "it bills twice" in shown
        assert "a fix is on its way" in shown
        assert "knows." in shown
    body = api_client(token_of(person("viewer"))).get(API).json()
    assert body["waiting"]["approvals"] == len(body["waiting"]["next_approvals"]) == 1
    assert [note["text"] for note in body["cause_notes"]] == ["The provider\nknows."]


def test_each_hold_of_an_agent_names_who_did_it_and_why(olga: Client) -> None:
    Circuit.objects.create(agent="van")
    agents.limit_agent(agent="van", rate=2.5, capacity=3, actor=ADA, reason="they asked us to")
    agents.force_circuit(agent="van", state="closed", seconds=900.0, actor=OLGA, reason="false alarm")
    agents.pause_agent(agent="van", actor=ADA, reason="moving")
    holds = {
        (agent["state"], agent["by"], agent["reason"])
        for agent in api_client(token_of(person("viewer"))).get(API).json()["agents"]
    }
    assert holds == {
        ("paused", "ada", "moving"),
        ("forced closed", OLGA.name, "false alarm"),
        ("limited to 2.5 calls a second and 3 at once", "ada", "they asked us to"),
    }
    page, text = both(olga)
    assert "limited to 2.5 calls a second and 3 at once by ada" in page
    assert "limited to 2.5 calls a second and 3 at once by ada (they asked us to)" in text


def test_two_outages_of_one_agent_are_two_times_each_with_its_orders_money_and_duration(olga: Client) -> None:
    waited = []
    for began, ended, orders in ((1_200, 900, 2), (800, 700, 1)):
        open_outage("van", code="http_503", message="it is down")
        close_outage("van", by="the circuit", resolution="it answers again")
        newest = Alert.objects.order_by("-id").values("id")[:1]
        Alert.objects.filter(id__in=newest).update(opened_at=ago(began), closed_at=ago(ended))
        for _ in range(orders):
            order_id = make_order().order_id
            make_purchase(order_id, total=1_000)
            make_wait(order_id, "van", seconds_ago=began - 10)
            waited.append(order_id)
    make_wait(make_order().order_id, "oven", seconds_ago=1_100)
    times = api_client(token_of(person("viewer"))).get(API).json()["ended"]
    assert [(time["orders"], time["money"][0]["amount"]) for time in times] == [(1, 1_000), (2, 2_000)]
    page, text = both(olga)
    assert "2 orders waited, " in text and "(5 min)" in text and "(1 min 40 s)" in text
    assert "1 min 40 s" in page


def make_wait(order_id: object, agent: str, *, seconds_ago: float) -> None:
    """An order that began to wait for an agent so long ago."""
    Event.objects.create(
        order_id=order_id,
        at=ago(seconds_ago),
        kind="waiting_for_agent",
        step="mix",
        actor_kind="scheduler",
        actor_name="scheduler:test",
        detail={"agent": agent},
    )


def test_an_open_outage_counts_the_orders_that_wait_now(olga: Client) -> None:
    order_id = make_order({"mix": {"waiting_since": ago(300), "agent": "van"}}).order_id
    make_purchase(order_id, total=1_000)
    open_outage("van", code="http_503", message="it is down")
    page, text = both(olga)
    (now_open,) = [section for section in text.split("\n\n") if section.startswith("Open now")]
    assert "1 order waits, €10.00, since " in now_open and "owner nobody" in now_open
    assert re.search(r"it is down van · http_503 1 order waits, €10\.00, since \d\d:\d\d, owner nobody", page)


def test_a_cause_of_which_some_orders_were_helped_names_both_numbers(olga: Client) -> None:
    failed_orders(3, code="dns", message="no name")
    text = olga.get(TEXT).content.decode()
    assert "no name”): 3 orders, " in text
    newest = Alert.objects.order_by("-id").values("id")[:1]
    Alert.objects.filter(id__in=newest).update(closed_at=ago(0), closed_by="olga", resolution="resubmitted")
    assert "no name”): 2 of 3 orders, " in olga.get(TEXT).content.decode()


@pytest.mark.parametrize(
    ("since", "why"),
    [
        (timedelta(hours=1), "This is in the future. Choose a time before "),
        (timedelta(days=-9), "A hand-over reaches back 7 days. Choose a time after "),
    ],
)
def test_a_time_that_no_hand_over_has_is_refused_at_the_field(
    olga: Client, since: timedelta, why: str
) -> None:
    at = ago(0) + since
    query = f"?since={at:%Y-%m-%dT%H:%M}"
    page, text = olga.get(PAGE + query), olga.get(TEXT + query)
    assert page.status_code == text.status_code == 400
    words = unescape(strip_tags(page.content.decode()))
    assert why in words and f'value="{at:%Y-%m-%dT%H:%M}"' in page.content.decode()
    assert "Open now" not in words
    assert text.content.decode().startswith(why)
    api = api_client(token_of(person("operator", "petra")))
    answer = api.get(API, {"since": at.isoformat()})
    assert_problem(answer, "validation_failed")
    assert answer.json()["errors"][0]["parameter"] == "since" and why in answer.json()["errors"][0]["detail"]
    assert_problem(
        api.post(f"{API}/notes", {"text": "all well", "since": at.isoformat()}, format="json"), "act_refused"
    )
    assert AuditEntry.objects.filter(act="write handover", allowed=False).exists()


def test_the_text_has_the_words_of_the_console_right_plurals_and_whole_messages(olga: Client) -> None:
    message = "the remote service said that it could not do what it was asked for, because of a reason it left unnamed"
    order_ids = failed_orders(2, code="bad", message=message)
    bulk_services.create(
        kind="compensate", order_ids=order_ids, selection="some", actor=OLGA, reason="why", typed_count=2
    )
    make_order({"mix": {"state": "failed", "outcome": "unknown"}}, process_state="error")
    page, text = both(olga)
    assert "compensate" not in text and "Cancel 2 orders, by operator:olga at " in text
    assert "1 step to settle: nobody knows whether it was done" in text
    assert "1 step to settle: nobody knows whether it was done" in page
    assert message in text and message in page


def test_a_shift_that_leaves_nothing_says_so(olga: Client) -> None:
    page, text = both(olga)
    assert "Nothing waits for anybody." in page and "No cause is open." in page
    nothing = "No bulk actions, no changes of priority, no agents paused, forced or limited and no pauses."
    assert nothing in page and nothing in text
    assert "Waiting for people: nothing" in text
    make_order({"mix": {"state": "failed", "outcome": "unknown"}}, process_state="error")
    failed_orders(1)
    assert "No cause is open." not in text_of(olga.get(PAGE))
