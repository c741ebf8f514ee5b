"""The operators' REST API: what a token of each access level may do, and what happens then."""

import csv
import re
from typing import Any

import pytest
import yaml
from rest_framework.test import APIClient
from uuid_utils.compat import uuid7

from orders.engine.alerts import NewAlert, open_alerts, open_outage
from orders.engine.channels import submissions
from orders.models import Alert, AlertGroup, AuditEntry, BulkAction, Circuit, Event, OrderProcess
from orders.selectors.desk.confirmation import WORD
from tests.support.factories import make_order, make_purchase, step_of
from tests.support.people import api_client, person, signed_in, token_of
from tests.support.submissions import BODY, a_role
from tests.web.helpers import assert_problem, mistakes, place

pytestmark = pytest.mark.django_db

API = "/api/v1"


def client_of(role: str) -> APIClient:
    return api_client(token_of(person(role)))


def failed_order(message: str = "no stock") -> OrderProcess:
    """An order in Error, with its alert."""
    order = make_order({"mix": "failed"}, process_state="error")
    assert open_alerts([NewAlert(order.order_id, "step_failed", "refused", message, "mix", "kitchen")])
    return order


def acts() -> dict[str, dict[str, str]]:
    """The URL of every act, with a valid body."""
    order = failed_order()
    Circuit.objects.get_or_create(agent="kitchen")
    step, group = step_of(order, "mix").pk, AlertGroup.objects.get().pk
    why = {"reason": "the oven was fixed"}
    return {
        f"{API}/steps/{step}/resubmit": why,
        f"{API}/steps/{step}/skip": why,
        f"{API}/orders/{order.order_id}/compensate": why | {"confirm": "cancel"},
        f"{API}/alerts/groups/{group}/resubmit": why,
        f"{API}/orders/{order.order_id}/steps/mix/decision": {"choice": "accept"},
        f"{API}/orders/{order.order_id}/steps/mix/event": {"result": {}},
        f"{API}/agents/kitchen/pause": why,
        f"{API}/agents/kitchen/resume": {},
    }


def test_only_operators_may_act_and_every_refusal_is_recorded() -> None:
    bodies = acts()
    refused = {"viewer": client_of("viewer"), "customer": client_of("customer")}
    for path, body in bodies.items():
        assert_problem(APIClient().post(path, body), "not_authenticated")
        for client in refused.values():
            assert_problem(client.post(path, body), "permission_denied")
    entries = AuditEntry.objects.values_list("actor", "act", "target", "allowed", "result", "ip_address")
    order, group = f"order {OrderProcess.objects.get().pk}", f"group {AlertGroup.objects.get().pk}"
    expected = [
        *(("resubmit", order), ("skip", order), ("compensate", order), ("bulk resubmit", group)),
        *(("decide", order), ("report event", order)),
        *(("pause agent", "agent kitchen"), ("resume agent", "agent kitchen")),
    ]
    assert sorted(entries) == sorted(
        (name, *act, False, "needs orders.operate", "127.0.0.1") for name in refused for act in expected
    )
    assert OrderProcess.objects.get().process_state == "error"
    assert not Circuit.objects.get().paused
    assert not BulkAction.objects.exists()


@pytest.mark.parametrize("body", ["[]", "0", '""', "false", "null", '[{"reason": "it is fixed"}]'])
def test_a_body_that_is_no_object_is_refused(operator: APIClient, body: str) -> None:
    for path in acts():
        assert mistakes(operator.generic("POST", path, body, content_type="application/json")) == [""]
    assert not AuditEntry.objects.exists()


def test_only_where_nothing_must_be_said_is_there_no_need_of_a_body(operator: APIClient) -> None:
    answers = {
        path.rpartition("/")[2]: operator.post(path, content_type="application/json") for path in acts()
    }
    assert {act: answer.status_code for act, answer in answers.items() if answer.status_code == 400} == {
        "skip": 400,
        "compensate": 400,
        "decision": 400,
        "event": 400,
        "pause": 400,
    }
    assert mistakes(answers["pause"]) == ["/reason"]


def test_an_order_that_is_not_under_way_is_not_one_that_does_not_exist(
    operator: APIClient, ada: APIClient
) -> None:
    placed = place(ada)["id"]
    decision = {"choice": "approve", "note": "by phone"}
    problem = assert_problem(
        operator.post(f"{API}/orders/{placed}/steps/approve/decision", decision), "act_refused"
    )
    assert problem["detail"].startswith("The order is not under way")
    assert_problem(operator.post(f"{API}/orders/{uuid7()}/steps/approve/decision", decision), "not_found")


@pytest.mark.parametrize("path", ["alerts", "alerts/groups", "bulk-actions/1", "decisions"])
def test_a_viewer_may_read_and_a_customer_may_not(path: str) -> None:
    assert client_of("viewer").get(f"{API}/{path}").status_code in (200, 404)
    assert_problem(client_of("customer").get(f"{API}/{path}"), "permission_denied")
    assert_problem(APIClient().get(f"{API}/{path}"), "not_authenticated")
    assert not AuditEntry.objects.exists()


@pytest.mark.pattern("O1")
def test_alerts_are_listed_newest_first_and_can_be_filtered(operator: APIClient) -> None:
    orders = [failed_order(f"no stock of {number}") for number in (1, 2, 3)]
    open_outage("oven", code="connection", message="it does not answer")
    Alert.objects.filter(order_id=orders[0].order_id).update(closed_at="2026-11-20T12:00Z")
    alerts = operator.get(f"{API}/alerts").json()["results"]
    assert [(alert["kind"], alert["order_id"], alert["step_id"]) for alert in alerts] == [
        ("outage", None, None),
        ("step_failed", str(orders[2].order_id), step_of(orders[2], "mix").pk),
        ("step_failed", str(orders[1].order_id), step_of(orders[1], "mix").pk),
    ]
    first = operator.get(f"{API}/alerts?kind=step_failed&page_size=1").json()
    second = operator.get(first["next"]).json()
    assert [alert["id"] for alert in first["results"] + second["results"]] == [
        alert["id"] for alert in alerts[1:]
    ]
    assert second["next"] is None
    group = alerts[1]["group"]
    assert len(operator.get(f"{API}/alerts?group={group}").json()["results"]) == 2
    assert operator.get(f"{API}/alerts?agent=courier").json()["results"] == []
    make_purchase(orders[1].order_id, subject="table 7")
    about = operator.get(f"{API}/alerts?subject=table+7").json()["results"]
    assert [alert["order_id"] for alert in about] == [str(orders[1].order_id)]
    assert mistakes(operator.get(f"{API}/alerts?kind=nothing")) == ["kind"]


def test_groups_count_their_open_alerts(operator: APIClient) -> None:
    for number in (1, 2, 3):
        failed_order(f"no stock of {number}")
    failed_order("the card was declined")
    groups = operator.get(f"{API}/alerts/groups").json()
    assert [(group["agent"], group["code"], group["open"]) for group in groups["results"]] == [
        ("kitchen", "refused", 1),
        ("kitchen", "refused", 3),
    ]
    page = operator.get(f"{API}/alerts/groups?page_size=1").json()
    assert operator.get(page["next"]).json()["results"] == groups["results"][1:]
    Alert.objects.update(closed_at="2026-11-20T12:00Z")
    assert operator.get(f"{API}/alerts/groups").json() == {"results": [], "next": None}


def test_an_acknowledgement_older_than_the_alerts_does_not_count_in_api_or_console(
    operator: APIClient,
) -> None:
    failed_order()
    AlertGroup.objects.update(acknowledged_by="olga", acknowledged_at="2026-11-01T12:00Z")
    desk = signed_in(person("viewer"))
    for opened, by in (("2026-11-01T11:00Z", "olga"), ("2026-11-01T13:00Z", "")):
        Alert.objects.update(opened_at=opened)
        (group,) = operator.get(f"{API}/alerts/groups").json()["results"]
        assert (group["acknowledged_by"], group["acknowledged_at"] is not None) == (by, bool(by))
        assert ("not acknowledged" in desk.get("/console/alerts/").content.decode()) is not bool(by)
        (line,) = csv.DictReader(desk.get("/console/alerts.csv").getvalue().decode("utf-8-sig").splitlines())
        assert line["acknowledged_by"] == by
        assert ("acknowledged by olga</span>" in desk.get("/console/").content.decode()) is bool(by)


@pytest.mark.pattern("O2")
def test_a_failed_step_is_resubmitted_once(operator: APIClient) -> None:
    order = failed_order()
    path = f"{API}/steps/{step_of(order, 'mix').pk}/resubmit"
    first = operator.post(path, {"reason": "it was fixed"})
    assert (first.status_code, first.json()["result"]) == (200, "done")
    assert operator.post(path).json()["result"] == "already"
    order.refresh_from_db()
    assert (order.process_state, step_of(order, "mix").state) == ("pending", "not_started")
    assert Event.objects.get(kind="resubmitted").actor_name == "olga"
    assert {(entry.actor, entry.allowed) for entry in AuditEntry.objects.all()} == {("olga", True)}


def test_skipping_a_step_needs_a_reason(operator: APIClient) -> None:
    order = make_order({"heat-oven": "failed"}, process_state="error")
    path = f"{API}/steps/{step_of(order, 'heat-oven').pk}/skip"
    assert mistakes(operator.post(path)) == ["/reason"]
    assert mistakes(operator.post(path, {"reason": "x", "why": "y"})) == ["/why"]
    answer = operator.post(path, {"reason": "it was hot already"})
    if answer.status_code == 409:  # the service decides; this test only shows that it is called
        assert_problem(answer, "act_refused")
    else:
        assert step_of(order, "heat-oven").state == "skipped"
    running = make_order({"mix": "running"}, process_state="processing")
    refused = operator.post(f"{API}/steps/{step_of(running, 'mix').pk}/skip", {"reason": "why not"})
    assert "under way" in assert_problem(refused, "act_refused")["detail"]
    entry = AuditEntry.objects.get(target=f"order {running.pk}")
    assert (entry.act, entry.allowed) == ("skip", False)


@pytest.mark.pattern("C10")
@pytest.mark.parametrize("body", [BODY, {}], ids=["on the queue", "set aside"])
def test_an_order_is_compensated_before_it_is_inserted(operator: APIClient, body: dict[str, Any]) -> None:
    order_id = uuid7()
    submissions.post(order_id=order_id, client="guest", body=body)
    if not body:
        a_role().run_once()
    path = f"{API}/orders/{order_id}/compensate"
    assert_problem(operator.post(path, {"reason": "asked by phone", "confirm": "yes"}), "act_refused")
    answer = operator.post(path, {"reason": "asked by phone", "confirm": "cancel"})
    assert (answer.status_code, answer.json()["result"]) == (200, "done")
    assert operator.post(path, {"reason": "again", "confirm": "cancel"}).json()["result"] == "already"
    assert list(AuditEntry.objects.order_by("id").values_list("act", "allowed", "reason")) == [
        ("compensate", False, "asked by phone"),
        ("compensate", True, "asked by phone"),
        ("compensate", True, "again"),
    ]
    a_role().run_once()
    assert OrderProcess.objects.get(pk=order_id).goal == "compensate"


def test_an_order_is_compensated_only_when_confirmed(operator: APIClient) -> None:
    order = make_order({"mix": "completed"}, process_state="processing")
    path = f"{API}/orders/{order.order_id}/compensate"
    refused = assert_problem(operator.post(path, {"reason": "she changed her mind"}), "act_refused")
    assert refused["detail"].startswith("`confirm` is missing or wrong. ")
    assert AuditEntry.objects.values_list("act", "allowed").get() == ("compensate", False)
    order.refresh_from_db()
    assert order.goal == "complete"
    body = {"reason": "she changed her mind", "confirm": "cancel"}
    assert operator.post(path, body).json()["result"] == "done"
    assert operator.post(path, body).json()["result"] == "already"
    order.refresh_from_db()
    assert order.goal == "compensate"


@pytest.mark.pattern("O2")
def test_a_group_is_resubmitted_by_a_bulk_action(operator: APIClient) -> None:
    orders = {failed_order(f"no stock of {number}").order_id for number in range(51)}
    group = AlertGroup.objects.get().pk
    path = f"{API}/alerts/groups/{group}/resubmit"
    refused = operator.post(path, {"count": 50})
    assert_problem(refused, "count_not_confirmed")
    assert "51" not in str(refused.json() | {"request_id": ""}).replace(str(group), "")
    assert operator.get(f"{API}/alerts/groups").json()["results"][0]["open"] == 51
    response = operator.post(path, {"count": 51, "reason": "stock came in"})
    assert response.status_code == 202
    action = operator.get(response["Location"]).json()
    assert action == response.json()
    assert (action["kind"], action["state"], action["total"], action["by"]) == (
        *("resubmit", "running", 51, "olga"),
    )
    assert action["counts"] == {"waiting": 51, "acted": 0, "done": 0, "failed": 0, "nothing": 0}
    assert set(BulkAction.objects.get().items.values_list("order_id", flat=True)) == orders
    Alert.objects.update(closed_at="2026-11-20T12:00Z")
    assert_problem(operator.post(path), "act_refused")


@pytest.mark.pattern("A8")
def test_an_agent_is_paused_and_resumed(operator: APIClient) -> None:
    Circuit.objects.create(agent="kitchen")
    assert mistakes(operator.post(f"{API}/agents/kitchen/pause")) == ["/reason"]
    body = {"reason": "they are moving house"}
    answers = [operator.post(f"{API}/agents/kitchen/pause", body).json()["result"] for _ in range(2)]
    assert answers == ["done", "already"]
    assert Circuit.objects.get().paused
    body = {"reason": "the new kitchen works"}
    answers = [operator.post(f"{API}/agents/kitchen/resume", body).json()["result"] for _ in range(2)]
    assert answers == ["done", "already"]
    assert not Circuit.objects.get().paused
    reasons = AuditEntry.objects.filter(act="resume agent").values_list("reason", flat=True)
    assert set(reasons) == {"the new kitchen works"}


def test_acts_on_unknown_things_are_not_found(operator: APIClient) -> None:
    why: dict[str, Any] = {"reason": "why", "confirm": "cancel"}
    for path, body in (
        (f"steps/{10**30}/resubmit", {}),
        ("steps/1/skip", {"reason": "why"}),
        (f"orders/{uuid7()}/compensate", why),
        (f"alerts/groups/{10**30}/resubmit", {}),
        ("agents/nobody/pause", {"reason": "why"}),
        ("agents/nobody/resume", {}),
    ):
        assert_problem(operator.post(f"{API}/{path}", body), "not_found")
    assert_problem(operator.get(f"{API}/bulk-actions/7"), "not_found")


def test_the_api_description_says_how_to_confirm_and_has_no_internal_labels() -> None:
    document = yaml.safe_load(APIClient().get("/api/schema/").content)
    assert not re.search(r"\((?:[A-Z]\d|rule )", str(document))
    description = document["paths"][f"{API}/orders/{{order_id}}/compensate"]["post"]["description"]
    assert f"`{WORD}`" in description and "`39.00`" in description
