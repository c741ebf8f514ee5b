"""What holds for every page: probes, security headers, static files, the API's own description."""

import json
import re
import threading
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.test import Client
from drf_spectacular import validation
from drf_spectacular.generators import SchemaGenerator
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from orders.api.problems import PROBLEMS
from sasweb import database, readiness
from sasweb.readiness import Readiness

DOCS = "/api/docs/"
OPENAPI = jsonschema_rs.validator_for(
    json.loads(Path(validation.__file__).with_name("openapi_3_1_schema.json").read_text())
)
"""What `spectacular --validate` asks of the document, which takes it most of a minute."""


def test_healthz_needs_no_database_and_no_host_name(client: Client) -> None:
    response = client.get("/healthz", headers={"Host": "10.0.0.7"})
    assert (response.status_code, response.text) == (200, "ok\n")


@pytest.mark.django_db(transaction=True)
def test_readyz_says_ready_when_the_database_is_as_this_release_needs_it(client: Client) -> None:
    response = client.get("/readyz", headers={"Host": "10.0.0.7"})
    assert (response.status_code, response.text) == (200, "ready\n")


@pytest.mark.django_db(transaction=True)
def test_readyz_names_what_is_missing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "READINESS", Readiness())
    monkeypatch.setattr(readiness.MigrationExecutor, "migration_plan", lambda *_: [("orders", "0002")])
    response = client.get("/readyz")
    assert (response.status_code, response.text) == (503, "migrations still to be applied: 1\n")


@pytest.mark.django_db(transaction=True)
def test_readyz_says_what_to_change_in_a_database_that_is_unfit(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "READINESS", Readiness())
    monkeypatch.setattr(database, "OLDEST_POSTGRES", 990_000)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.text.endswith("17 or newer is needed\n")


@pytest.mark.django_db(transaction=True)
def test_readyz_still_says_so_while_the_check_takes_longer_than_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = Readiness()
    monkeypatch.setattr(database, "OLDEST_POSTGRES", 990_000)
    problem = answers.find_problem()
    assert "17 or newer" in problem
    release = threading.Event()
    monkeypatch.setattr(readiness, "_find_unfitness", lambda: release.wait(30) and "")
    monkeypatch.setattr(readiness, "ANSWER_TIMEOUT", 0.01)
    try:
        assert answers.find_problem() == problem
    finally:
        release.set()


@pytest.mark.django_db
def test_every_answer_has_the_security_headers(anybody: APIClient) -> None:
    for path in ("/api/v1/products", "/api/v1/orders", "/nothing", "/admin/login/", "/healthz"):
        headers = anybody.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        if path != "/healthz":
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Referrer-Policy"] == "same-origin"
            assert headers["X-Frame-Options"] == "DENY"


@pytest.mark.django_db
def test_the_documentation_loads_nothing_from_elsewhere_and_no_inline_script(client: Client) -> None:
    page = client.get(DOCS)
    assert page.status_code == 200
    assert not re.findall(r"<script(?![^>]*src=)", page.text)
    assert "script-src" not in page["Content-Security-Policy"]
    sources = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(sources) == 7
    for source in sources:
        assert source.startswith("/")
        response = client.get(source)
        assert response.status_code == 200, source
        response.close()
    assert 'data-schema="/api/schema/"' in page.text


@pytest.mark.django_db
def test_static_files_are_served_without_collecting_them(client: Client, settings: Any) -> None:
    settings.WHITENOISE_AUTOREFRESH = False
    name = "drf_spectacular_sidecar/swagger-ui-dist/swagger-ui.css"
    assert finders.find(name)
    response = client.get(f"/static/{name}")
    assert (response.status_code, response["Content-Type"].partition(";")[0]) == (200, "text/css")
    assert b"".join(response.streaming_content)
    response.close()
    assert client.get("/static/../sasweb/settings.py").status_code == 404


def test_the_description_of_the_api_is_valid_and_complete(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("spectacular", "--fail-on-warn")
    described = yaml.safe_load(capsys.readouterr().out)
    assert list(OPENAPI.iter_errors(described)) == []
    operations = {
        operation["operationId"]: operation
        for path in described["paths"].values()
        for operation in path.values()
    }
    assert operations.keys() == {
        "list_products",
        "get_product",
        "list_orders",
        "place_order",
        "get_order",
        "follow_order",
        "cancel_order",
        "pay_for_order",
        "correct_order",
        "list_order_events",
        "list_messages",
        "delete_message",
        "get_order_progress",
        "answer_call",
        *("list_alerts", "list_alert_groups", "resubmit_alert_group", "get_bulk_action"),
        *("resubmit_step", "skip_step", "compensate_order", "pause_agent", "resume_agent", "limit_agent"),
        *("list_decisions", "get_deadlines", "decide", "report_event"),
        *("resubmit_order", "retry_order", "set_order_priority", "edit_step", "settle_step"),
        *("edit_order", "preview_order_edit", "pause_order", "resume_order", "add_order_note"),
        *("erase_customer", "replay_submission", "get_alert_group", "list_closed_alerts"),
        *("acknowledge_alert_group", "reopen_alert_group", "add_alert_group_note"),
        *("take_alert_group", "assign_alert_group", "snooze_alert_group", "wake_alert_group"),
        *("link_alert_group_ticket", "write_runbook", "list_open_times", "list_open_times_of_group"),
        *("get_handover", "add_handover_note", "send_handover", "list_incidents", "list_processes"),
        *("list_approvals", "get_approval", "ask_for_approval", "approve", "decline", "withdraw"),
        *("get_order_figures", "list_agent_figures", "list_cause_figures", "list_step_figures"),
        *("search_orders", "list_compensations", "list_set_aside", "get_order_details"),
        *("list_bulk_actions", "preview_bulk_action", "create_bulk_action", "list_bulk_action_orders"),
        *("pause_bulk_action", "resume_bulk_action", "stop_bulk_action", "undo_bulk_action"),
        *(
            "get_status",
            "get_supervisor",
            "list_workflows",
            "list_agents",
            "force_circuit",
            "unforce_circuit",
        ),
        *("list_views", "create_view", "change_view", "delete_view"),
        *(
            "get_pauses",
            "pause_intake",
            "resume_intake",
            "pause_step",
            "resume_step",
            "rehearse_resubmission",
        ),
        *("list_outbox", "retry_outgoing_message", "list_audit_entries"),
        *("list_requests", "get_request"),
        *("place_orders", "quote_order", "list_changes"),
        *("list_queues", "lease_messages", "acknowledge_messages", "release_messages"),
        *("list_webhooks", "create_webhook", "get_webhook", "change_webhook", "delete_webhook"),
        *("rotate_webhook_secret", "test_webhook", "enable_webhook", "list_webhook_deliveries"),
        *("redeliver_webhook_delivery", "redeliver_webhook_deliveries"),
    }
    assert {"202", "400", "401", "413", "415", "422", "429", "500", "503"} <= operations["place_order"][
        "responses"
    ].keys()
    examples = {
        code
        for operation in operations.values()
        for response in operation["responses"].values()
        for code in response.get("content", {}).get("application/problem+json", {}).get("examples", {})
    }
    assert examples == PROBLEMS.keys() - {"method_not_allowed"}


@pytest.mark.django_db
def test_the_description_is_served(client: Client, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    response = client.get("/api/schema/")
    assert response.status_code == 200
    assert yaml.safe_load(response.text)["info"]["title"] == "sasweb orders"


@pytest.mark.django_db
@pytest.mark.parametrize("query", ["version=%0a", "version=%22;filename*=UTF-8''setup.bat;x=%22", "lang=xx"])
def test_a_query_changes_nothing_of_the_description(query: str, client: Client) -> None:
    response = client.get(f"/api/schema/?{query}")
    assert response.status_code == 200
    assert response["Content-Disposition"] == 'inline; filename="sasweb orders.yaml"'
    assert response.content == client.get("/api/schema/").content


@pytest.mark.django_db
@pytest.mark.parametrize(("method", "accept", "status"), [("get", "text/html", 406), ("post", "*/*", 405)])
def test_a_problem_with_the_description_is_json(
    method: str, accept: str, status: int, client: Client
) -> None:
    response = client.generic(method.upper(), "/api/schema/", headers={"Accept": accept})
    assert (response.status_code, response["Content-Type"]) == (status, "application/problem+json")
    assert response.json()["status"] == status


@pytest.mark.django_db
def test_the_description_is_made_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    document = client.get("/api/schema/", headers={"Accept": "application/json"})
    monkeypatch.setattr(SchemaGenerator, "get_schema", None)
    assert client.get("/api/schema/", headers={"Accept": "application/json"}).content == document.content
    assert (document["Content-Type"], "Accept" in document["Vary"]) == ("application/json", True)
