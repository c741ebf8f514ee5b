"""The state of the system over REST: health, supervisor, agents, workflows and the outbox."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from orders.models import AgentInstance, AuditEntry, Circuit, LeaderLease, OutgoingMessage, SweepRecord
from orders.vocabulary import TokenScope
from tests.support.factories import ago, ahead, make_alert, make_order, step_of
from tests.support.people import api_client, person, token_of
from tests.support.workflows import CAKE
from tests.web.helpers import assert_problem, mistakes

pytestmark = pytest.mark.django_db

API = "/api/v1"
FIGURES = ("figures/orders", "figures/agents", "figures/causes", "figures/steps")
READS = ("status", *FIGURES, "supervisor", "processes", "workflows", "agents", "outbox", "audit")
FORCE = {"state": "open", "seconds": 900, "reason": "their night"}


def client_of(role: str, *scopes: TokenScope) -> APIClient:
    return api_client(token_of(person(role), *scopes))


@pytest.fixture
def viewer() -> APIClient:
    return client_of("viewer")


def a_failure(**fields: Any) -> OutgoingMessage:
    """An email to a customer that was given up."""
    failed = {"kind": "sign_up", "recipient": "ada@example.com", "state": "failed", "error": "451 not now"}
    return OutgoingMessage.objects.create(**(failed | {"give_up_at": ago(60), "ended_at": ago(60)} | fields))


# --- who may do what


@pytest.mark.parametrize("path", READS)
def test_a_viewer_reads_and_a_customer_does_not(path: str, viewer: APIClient) -> None:
    assert viewer.get(f"{API}/{path}").status_code == 200
    assert_problem(client_of("customer").get(f"{API}/{path}"), "permission_denied")
    assert_problem(APIClient().get(f"{API}/{path}"), "not_authenticated")
    assert not AuditEntry.objects.exists()


def acts() -> dict[str, tuple[str, dict[str, Any], str, str]]:
    """The URL of each act, with the permission that it needs, a valid body, and its name and target in the log."""
    Circuit.objects.create(agent="kitchen")
    message = a_failure()
    circuit = f"{API}/agents/kitchen"
    return {
        f"{circuit}/force": ("orders.administer", FORCE, "force circuit", "agent kitchen"),
        f"{circuit}/unforce": ("orders.administer", {}, "unforce circuit", "agent kitchen"),
        f"{API}/outbox/{message.pk}/retry": (
            *("orders.operate", {}, "retry message", f"message {message.pk}"),
        ),
    }


def test_each_act_needs_the_access_level_and_the_scope_and_every_refusal_is_recorded() -> None:
    places = acts()
    levels = {"customer": (), "viewer": (), "operator": ("orders.operate",)}
    expected = []
    for role, permissions in levels.items():
        client = client_of(role)
        for path, (needed, body, act, target) in places.items():
            assert_problem(APIClient().post(path, body), "not_authenticated")
            if needed not in permissions:
                assert_problem(client.post(path, body), "permission_denied")
                expected.append((role, act, target, f"needs {needed}"))
    admin = person("admin")
    others = api_client(token_of(admin, *(set(TokenScope) - {TokenScope.OPERATE})))
    for path, (_, body, act, target) in places.items():
        assert assert_problem(others.post(path, body), "scope_missing")["needed_scope"] == "operate"
        expected.append(("admin", act, target, "needs a token with the scope operate"))
    refused = AuditEntry.objects.filter(allowed=False).values_list("actor", "act", "target", "result")
    assert sorted(refused) == sorted(expected)
    assert not AuditEntry.objects.filter(allowed=True).exists()
    allowed = api_client(token_of(admin, TokenScope.OPERATE))
    for path, (_, body, _, _) in places.items():
        assert allowed.post(path, body).status_code == 200, path


@pytest.mark.parametrize("body", ["[]", "0", '""', "false", "null"])
def test_a_body_that_is_no_object_is_refused(body: str) -> None:
    admin = client_of("admin")
    for path in acts():
        assert mistakes(admin.generic("POST", path, body, content_type="application/json")) == [""]
    assert not AuditEntry.objects.exists()


# --- health


@pytest.mark.pattern("V6")
def test_a_quiet_system_is_healthy_and_says_what_the_overview_shows(viewer: APIClient) -> None:
    LeaderLease.objects.create(
        name="supervisor", holder="supervisor:a", term=4, expires_at=ahead(8), swept_at=ago(2)
    )
    make_order({"mix": "running"}, process_state="processing")
    status = viewer.get(f"{API}/status").json()
    assert (status["health"], status["concerns"]) == ("good", [])
    assert (status["open_alerts"], status["open_decisions"]) == (0, 0)
    assert (status["orders"]["processing"], status["orders"]["queued"]) == (1, 0)
    assert (status["orders"]["oldest_queued"], status["orders"]["per_minute"]) == (None, 0.0)
    assert status["time_to_done"] == {"sample": 0, "p50": None, "p95": None}


@pytest.mark.pattern("O1")
def test_each_concern_has_its_severity_and_the_worst_come_first(viewer: APIClient) -> None:
    order = make_order({"mix": "failed"}, process_state="error")
    make_alert(order.pk)
    Circuit.objects.create(agent="kitchen", paused=True, held_by="olga")
    AgentInstance.objects.create(
        agent="kitchen", instance="a", capacity=8, seen_at=ago(1), started_at=ago(60)
    )
    status = viewer.get(f"{API}/status").json()
    assert status["health"] == "bad"
    assert [(each["severity"], each["page"], each["message"]) for each in status["concerns"]] == [
        ("bad", "supervisor", "The supervisor has never swept."),
        ("bad", "alerts", "1 alert is open."),
        ("warn", "agents", "The agent kitchen was paused by olga; 0 steps are waiting for it."),
    ]
    assert (status["open_alerts"], status["orders"]["error"], status["swept_at"]) == (1, 1, None)


@pytest.mark.pattern("V6")
def test_the_supervisor_names_its_leader_and_what_its_sweeps_found(viewer: APIClient) -> None:
    assert viewer.get(f"{API}/supervisor").json()["is_late"]
    LeaderLease.objects.create(
        name="supervisor",
        holder="supervisor:a",
        term=4,
        expires_at=ahead(8),
        swept_at=ago(2),
        last_sweep={"found": 1, "recovered": 1, "escalated": 0, "steps_timed_out": 1},
    )
    sweep = {"holder": "supervisor:a", "term": 4, "recovered": 2, "escalated": 1, "steps_timed_out": 5}
    SweepRecord.objects.create(found=3, **sweep)
    make_order({"mix": {"state": "running", "complete_by": ago(30)}}, process_state="processing")
    shown = viewer.get(f"{API}/supervisor").json()
    totals = {"overdue": 3, "recovered": 2, "escalated": 1, "steps_timed_out": 5}
    assert (shown["leader"], shown["term"], shown["is_late"]) == ("supervisor:a", 4, False)
    assert shown["last"] == {"overdue": 1, "recovered": 1, "escalated": 0, "steps_timed_out": 1}
    assert shown["last_hour"] == totals
    (only,) = shown["sweeps"]
    assert {name: only[name] for name in only if name != "at"} == totals | {
        "leader": "supervisor:a",
        "term": 4,
    }
    assert (shown["overdue_orders"], shown["overdue_steps"]) == (1, 1)
    assert shown["lag"] >= 30


def test_each_step_of_a_workflow_has_its_orders(viewer: APIClient) -> None:
    workflows = {each["name"]: each for each in viewer.get(f"{API}/workflows").json()["results"]}
    steps = {step["name"]: step for step in workflows["fulfil-order"]["steps"]}
    assert steps["authorise-payment"]["agent"] == "payments"
    assert steps["capture-payment"]["after"] == ["create-shipment"]
    assert {steps["capture-payment"][name] for name in ("running", "waiting", "put_off", "failed")} == {0}


# --- agents


@pytest.mark.pattern("A8")
def test_an_agent_has_its_circuit_its_queue_and_its_processes(viewer: APIClient) -> None:
    Circuit.objects.create(
        agent="kitchen", state="open", cause_code="connection", cause_message="no answer", opened_at=ago(60),
        probe_at=ahead(60), held_by="olga", held_reason="night", rate=2.5,
    )  # fmt: skip
    calls = {"calls": 9, "failed_calls": 3, "recent_calls": 4, "recent_failures": 2, "p95_seconds": 0.5}
    AgentInstance.objects.create(
        agent="kitchen", instance="a", capacity=8, in_flight=2, seen_at=ago(1), started_at=ago(60), **calls
    )
    AgentInstance.objects.create(
        agent="kitchen", instance="b", capacity=4, seen_at=ago(999), started_at=ago(9999)
    )
    order = make_order({"mix": {"waiting_since": ago(5)}})
    assert step_of(order, "mix").agent == CAKE.by_name["mix"].agent == "kitchen"
    (agent,) = viewer.get(f"{API}/agents").json()["results"]
    shown = {name: agent[name] for name in agent if name not in ("instances", "opened_at", "probe_at")}
    assert shown == {
        "name": "kitchen",
        "circuit": "open",
        "is_down": False,
        "is_paused": False,
        "is_forced": False,
        "forced_until": None,
        "held_by": "olga",
        "held_reason": "night",
        "cause_code": "connection",
        "cause_message": "no answer",
        "ramp": agent["ramp"],
        "rate": 2.5,
        "set_rate": None,
        "set_capacity": None,
        "waiting": 1,
        "requests": 0,
        "in_hand": 0,
        "oldest_seconds": None,
        "capacity": 8,
        "in_flight": 2,
        "recent_calls": 4,
        "recent_failures": 2,
        "p95_seconds": 0.5,
    }
    assert [(each["name"], each["alive"]) for each in agent["instances"]] == [("a", True), ("b", False)]
    assert agent["instances"][0].items() >= calls.items()


@pytest.mark.pattern("A8")
def test_an_administrator_forces_a_circuit_for_a_time_and_lets_it_go() -> None:
    Circuit.objects.create(agent="kitchen")
    admin = client_of("admin")
    at = f"{API}/agents/kitchen"
    wrong: dict[str, Any] = {"state": "half_open", "seconds": 86_401, "reason": " "}
    assert sorted(mistakes(admin.post(f"{at}/force", wrong))) == ["/reason", "/seconds", "/state"]
    assert mistakes(admin.post(f"{at}/force", FORCE | {"seconds": 900.5})) == ["/seconds"]
    answer = admin.post(f"{at}/force", FORCE)
    assert answer.json() == {"result": "done", "message": "The circuit of kitchen is forced open for 15 min."}
    (agent,) = admin.get(f"{API}/agents").json()["results"]
    assert (agent["circuit"], agent["is_forced"], agent["held_reason"]) == ("open", True, "their night")
    until = Circuit.objects.get().forced_until
    assert until is not None and ahead(800) < until < ahead(910)
    answers = [admin.post(f"{at}/unforce", {"reason": "day"}).json()["result"] for _ in range(2)]
    assert answers == ["done", "already"]
    assert Circuit.objects.get().forced == ""
    entries = AuditEntry.objects.order_by("id").values_list("act", "target", "allowed", "reason")
    assert list(entries) == [
        ("force circuit", "agent kitchen", True, "their night"),
        *[("unforce circuit", "agent kitchen", True, "day")] * 2,
    ]
    for act, body in (("force", FORCE), ("unforce", {})):
        assert_problem(admin.post(f"{API}/agents/nobody/{act}", body), "not_found")


# --- the outbox


def test_the_outbox_is_listed_by_state_without_customers_email_addresses(viewer: APIClient) -> None:
    failed = a_failure()
    sent, skipped = a_failure(state="sent", error=""), a_failure(state="skipped", error="")
    queued = a_failure(state="queued", ended_at=None, due_at=ahead(60))
    newest_first = [queued.pk, skipped.pk, sent.pk, failed.pk]
    shown = viewer.get(f"{API}/outbox").json()
    assert [message["id"] for message in shown["results"]] == newest_first
    assert "ada@" not in str(shown)
    assert [message["skipped_because"] for message in shown["results"]] == [
        *(None, "An earlier email to this address has a link that is still valid.", None, None)
    ]
    assert (
        shown["results"][3].items()
        >= {
            "kind": "sign_up",
            "channel": "email",
            "recipient": "a…@example.com",
            "state": "failed",
            "error": "451 not now",
            "due_at": None,
        }.items()
    )
    for state, pk in (
        *(("failed", failed.pk), ("sent", sent.pk), ("skipped", skipped.pk)),
        *(("waiting", queued.pk), ("queued", queued.pk)),
    ):
        page = viewer.get(f"{API}/outbox?state={state}").json()["results"]
        assert [message["id"] for message in page] == [pk]
    page = viewer.get(f"{API}/outbox?page_size=2").json()
    assert [
        each["id"] for each in page["results"] + viewer.get(page["next"]).json()["results"]
    ] == newest_first
    assert viewer.get(f"{API}/outbox?state=sending").json()["results"] == []
    assert mistakes(viewer.get(f"{API}/outbox?state=lost")) == ["state"]


@pytest.mark.pattern("O1")
def test_what_failed_is_sent_again_once_and_what_was_sent_is_not() -> None:
    operator = client_of("operator")
    failed, sent = a_failure(), a_failure(state="sent", error="")
    for _ in range(2):
        answer = operator.post(f"{API}/outbox/{failed.pk}/retry", {"reason": "they are back"})
        assert (answer.status_code, answer.json()["state"]) == (200, "queued")
    problem = assert_problem(operator.post(f"{API}/outbox/{sent.pk}/retry"), "act_refused")
    assert problem["detail"] == "The message is sent, so it was not sent again."
    for number in (sent.pk + 1, 10**30):
        assert_problem(operator.post(f"{API}/outbox/{number}/retry"), "not_found")
    entries = AuditEntry.objects.order_by("id").values_list("act", "target", "allowed", "reason")
    assert list(entries) == [
        ("retry message", f"message {failed.pk}", True, "they are back"),
        ("retry message", f"message {sent.pk}", False, ""),
    ]
