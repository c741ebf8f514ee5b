"""Console, commands and API read the same selectors: a fact is the same in all of them."""

import re

import pytest

from orders.engine.alerts import NewAlert, open_alerts
from orders.models import Alert, AlertGroup, BulkItem
from tests.commands.running import run
from tests.support.factories import ago, ahead, make_order
from tests.support.people import api_client, person, signed_in, token_of

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]


def fail(*messages: str) -> None:
    """An order in Error for each message, all with the same kind of alert, agent and code."""
    for message in messages:
        order = make_order({"mix": "failed"}, process_state="error")
        assert open_alerts([NewAlert(order.order_id, "step_failed", "refused", message, "mix", "kitchen")])


def in_console() -> list[tuple[str, int]]:
    """The groups of the inbox, as messages and numbers of open alerts."""
    page = signed_in(person("viewer")).get("/console/alerts/").content.decode()
    rows = re.findall(r'class="cause__message"[^>]*>“([^<]*)”</a>.*?</tr>', page, re.DOTALL)
    return [(message, Alert.objects.filter(message=message).count()) for message in rows]


def by_command() -> list[tuple[str, int]]:
    return [(group["message"], group["open"]) for group in run("alerts", "--json").json()["groups"]]


def in_api() -> list[tuple[str, int]]:
    client = api_client(token_of(person("operator")))
    return [
        (group["pattern"], group["open"]) for group in client.get("/api/v1/alerts/groups").json()["results"]
    ]


def test_two_patterns_under_one_code_are_two_groups_everywhere() -> None:
    fail("no stock", "no stock", "the card was declined")
    groups = [("no stock", 2), ("the card was declined", 1)]
    assert in_console() == groups
    assert by_command() == groups
    assert sorted(in_api()) == groups
    words = run("alerts").words
    assert "2 orders: a step failed for good – kitchen: refused" in words
    assert "pattern no stock" in words and "pattern the card was declined" in words
    assert words.endswith("3 open alerts of 2 causes")


def test_an_acknowledged_group_comes_last_in_console_and_command() -> None:
    fail("no stock", "no stock", "the card was declined")
    AlertGroup.objects.filter(pattern="no stock").update(acknowledged_at=ago(-60), acknowledged_by="olga")
    groups = [("the card was declined", 1), ("no stock", 2)]
    assert in_console() == groups
    assert by_command() == groups
    assert "acknowledged by olga, " in run("alerts").words
    AlertGroup.objects.update(
        owner=person("operator", "otto"),
        owned_at=ago(300),
        snoozed_at=ago(60),
        snoozed_by="otto",
        snoozed_until=ahead(3_700),
        snooze_most=9_000,
    )
    words = run("alerts").words
    assert "owner otto, for 5 min" in words
    assert "snoozed by otto for another 1 h 1 min, or until 9,000 orders are open" in words


def test_a_group_says_everywhere_when_its_cause_first_occurred_and_which_alert_is_the_oldest_open() -> None:
    fail("no stock")
    AlertGroup.objects.update(first_at=ago(90_000))
    Alert.objects.update(opened_at=ago(7_300))
    assert "seen first 1 d 1 h ago, last 2 h 1 min ago" in run("alerts").words
    page = signed_in(person("viewer")).get("/console/alerts/").content.decode()
    assert "2 hours ago" in page and ">1 day ago</time>" in page
    (alert,) = Alert.objects.all()
    assert run("alerts", "--json").json()["groups"][0]["first_at"] == alert.opened_at.isoformat()


@pytest.mark.pattern("O2")
def test_the_command_that_a_group_recommends_resubmits_that_group_alone() -> None:
    fail("no stock", "no stock", "the card was declined")
    group = AlertGroup.objects.get(pattern="no stock")
    assert f"manage.py resubmit --all --group {group.pk}\n" in run("alerts").out
    assert run("resubmit", "--all", "--group", group.pk, "--yes").code == 0
    orders = set(BulkItem.objects.values_list("order_id", flat=True))
    assert orders == set(Alert.objects.filter(group=group).values_list("order_id", flat=True))
