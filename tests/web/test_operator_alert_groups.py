"""The operators' REST API: alert groups, their notes, and who deals with them."""

import pytest
from rest_framework.test import APIClient
from uuid_utils.compat import uuid7

from orders.models import Alert, AlertGroup, AuditEntry, GroupNote
from orders.vocabulary import TokenScope
from tests.support.factories import ago, make_alert
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.console_orders import in_error
from tests.web.helpers import assert_problem, mistakes

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]

GROUPS = "/api/v1/alerts/groups"
ACTS = {"acknowledge": {}, "reopen": {}, "notes": {"text": "I called them.\nThey know."}}
NAMES = {"acknowledge": "acknowledge", "reopen": "unacknowledge", "notes": "note"}


@pytest.fixture
def group() -> AlertGroup:
    in_error()
    return AlertGroup.objects.get()


def test_acts_on_groups_need_permission_and_scope(group: AlertGroup) -> None:
    viewer = api_client(token_of(person("viewer")))
    reader = api_client(token_of(person("operator", "otto"), *(set(TokenScope) - {TokenScope.OPERATE})))
    for act, body in ACTS.items():
        assert_problem(viewer.post(f"{GROUPS}/{group.pk}/{act}", body), "permission_denied")
        assert_problem(reader.post(f"{GROUPS}/{group.pk}/{act}", body), "scope_missing")
        entries = AuditEntry.objects.filter(act=NAMES[act], target=f"group {group.pk}")
        assert {(entry.actor, entry.allowed) for entry in entries} == {("viewer", False), ("otto", False)}
    assert not GroupNote.objects.exists()


@pytest.mark.parametrize("body", ["[]", "0", '""', "false", "null"])
def test_a_body_that_is_no_object_is_refused(operator: APIClient, group: AlertGroup, body: str) -> None:
    for act in ACTS:
        path = f"{GROUPS}/{group.pk}/{act}"
        assert mistakes(operator.generic("POST", path, body, content_type="application/json")) == [""]
        assert_problem(operator.post(f"{GROUPS}/{10**30}/{act}", ACTS[act]), "not_found")


def test_an_acknowledgement_is_seen_by_others_and_withdrawn(operator: APIClient, group: AlertGroup) -> None:
    path = f"{GROUPS}/{group.pk}"
    assert operator.post(f"{path}/reopen").json()["result"] == "already"
    assert operator.post(f"{path}/acknowledge", {"reason": "on it"}).json()["result"] == "done"
    assert operator.get(path).json()["alerts"]["acknowledged_by"] == "olga"
    assert "olga" in signed_in(person("viewer")).get(f"/console/alerts/{group.pk}/").content.decode()
    assert [len(groups(operator, acknowledged=each)) for each in ("true", "false")] == [1, 0]
    assert operator.post(f"{path}/reopen", {"reason": "gone home"}).json()["result"] == "done"
    assert operator.get(path).json()["alerts"]["acknowledged_at"] is None
    assert [len(groups(operator, acknowledged=each)) for each in ("true", "false")] == [0, 1]
    entries = AuditEntry.objects.order_by("id").values_list("act", "reason", "allowed")
    assert list(entries) == [("acknowledge", "on it", True), ("unacknowledge", "gone home", True)]


def groups(client: APIClient, **query: str) -> list[str]:
    """The agents of the groups that a query selects."""
    return [group["agent"] for group in client.get(GROUPS, query).json()["results"]]


def test_groups_and_alerts_are_found_by_what_has_caused_them(operator: APIClient) -> None:
    for agent, code in (("kitchen", "refused"), ("kitchen", "broken"), ("oven", "refused")):
        make_alert(uuid7(), agent=agent, code=code, kind="set_aside")
    assert groups(operator, agent="kitchen") == ["kitchen", "kitchen"]
    assert groups(operator, code="refused") == ["oven", "kitchen"]
    assert groups(operator, code="refused", agent="kitchen", kind="set_aside") == ["kitchen"]
    assert groups(operator, kind="step_failed") == []
    assert len(operator.get("/api/v1/alerts?code=broken").json()["results"]) == 1
    for parameter in ("kind", "acknowledged"):
        assert mistakes(operator.get(f"{GROUPS}?{parameter}=perhaps")) == [parameter]
    assert mistakes(operator.get(f"{GROUPS}?subject=7")) == ["subject"]


def test_a_note_is_kept_with_its_group(operator: APIClient, group: AlertGroup) -> None:
    path = f"{GROUPS}/{group.pk}"
    for text in (*("", " \n ", "a\0b", "x" * 2_001), None, 7):
        assert mistakes(operator.post(f"{path}/notes", {"text": text})) == ["/text"]
    assert operator.post(f"{path}/notes", ACTS["notes"]).json()["result"] == "done"
    (note,) = operator.get(path).json()["notes"]
    assert (note["by"], note["text"]) == ("olga", "I called them.\nThey know.")
    assert AuditEntry.objects.get().act == "note"


def test_a_group_has_what_the_console_shows_of_it(operator: APIClient, group: AlertGroup) -> None:
    body = operator.get(f"{GROUPS}/{group.pk}").json()
    assert (body["id"], body["kind"], body["agent"], body["code"]) == (
        *(group.pk, "step_failed", "carrier", "no_route"),
    )
    assert (body["alerts"]["count"], body["alerts"]["step"]) == (1, "create-shipment")
    assert body["alerts"]["at_risk"] == {
        "customers": 1,
        "money": [{"amount": 3900, "currency": "EUR"}],
        "is_more": False,
    }
    assert (body["notes"], body["bulk_actions"], body["notifications"]) == ([], [], [])
    action = operator.post(f"{GROUPS}/{group.pk}/resubmit", {"reason": "it goes there now"}).json()
    (running,) = operator.get(f"{GROUPS}/{group.pk}").json()["bulk_actions"]
    assert (running["id"], running["reason"]) == (action["id"], "it goes there now")
    Alert.objects.update(closed_at=ago(1))
    assert operator.get(f"{GROUPS}/{group.pk}").json()["alerts"] is None
    assert_problem(operator.get(f"{GROUPS}/{10**30}"), "not_found")


def test_closed_alerts_are_listed_page_by_page(operator: APIClient, group: AlertGroup) -> None:
    alerts = [in_error() for _ in range(4)]
    at = ago(60)
    for number, order in enumerate(alerts):  # two of them at the same time
        Alert.objects.filter(order_id=order.pk).update(
            closed_at=at if number < 2 else ago(50 - number), closed_by="ada", resolution="resubmitted"
        )
    path = f"{GROUPS}/{group.pk}/closed"
    pages = [operator.get(f"{path}?page_size=1").json()]
    while pages[-1]["next"]:
        pages.append(operator.get(pages[-1]["next"]).json())
    rows = [row for page in pages for row in page["results"]]
    assert [row["order_id"] for row in rows] == [str(alerts[number].pk) for number in (3, 2, 1, 0)]
    assert {(row["closed_by"], row["resolution"]) for row in rows} == {("ada", "resubmitted")}
    assert operator.get(path).json() == {"results": rows, "next": None}
    assert mistakes(operator.get(f"{path}?cursor=1")) == ["cursor"]
    assert operator.get(f"{path}?cursor=1-{'f' * 32}").json() == {"results": [], "next": None}
    assert_problem(operator.get(f"{GROUPS}/{10**30}/closed"), "not_found")
