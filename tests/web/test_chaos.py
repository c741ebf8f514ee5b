"""The chaos panel: it exists only in development, and its buttons do what they say to the sandbox and to workers."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from orders.console.drills import SCENARIOS
from orders.models import Alert, AuditEntry
from sasweb import webhooks
from sasweb.launcher import running
from sasweb.mail_server import NotSentError
from tests.support.factories import make_alert, make_order
from tests.support.people import person, signed_in
from tests.support.system import System
from tests.support.wait import until

pytestmark = pytest.mark.django_db

PANEL = "/console/chaos/"
WELL = {"latency": 0, "errors": 0, "hangs": 0, "lost": 0, "refusals": 0}


@pytest.fixture
def system(tmp_path: Path, settings: Any) -> Iterator[System]:
    """A sandbox, with settings as if it were this installation's own; DEBUG is on."""
    installation = System(tmp_path, forks=False)
    settings.DEBUG = settings.IS_DEMONSTRATION = True
    settings.CONFIG = replace(
        settings.CONFIG, var_dir=tmp_path, sandbox_bind=installation.environment["SANDBOX_BIND"]
    )
    yield installation
    installation.end()


@pytest.fixture
def admin(system: System) -> Client:
    return signed_in(person("admin", "ann"))


def test_it_is_absent_without_debug_and_without_a_sandbox(
    admin: Client, system: System, settings: Any
) -> None:
    assert admin.get(PANEL).status_code == 200
    settings.DEBUG = settings.IS_DEMONSTRATION = False
    assert admin.get(PANEL).status_code == 404
    assert admin.post(f"{PANEL}kill/scheduler/").status_code == 404
    settings.DEBUG = settings.IS_DEMONSTRATION = True
    system.end()
    assert admin.get(PANEL).status_code == 404
    assert admin.post(f"{PANEL}clear/").status_code == 404
    assert not AuditEntry.objects.exists()


def test_it_sets_a_services_faults_and_clears_them(admin: Client, system: System) -> None:
    faults = WELL | {"down": "on", "latency": 250, "errors": 30}
    page = admin.post(f"{PANEL}faults/carrier/", faults, follow=True)
    assert "The faults of carrier have been set." in page.content.decode()
    (form,) = [form for form in page.context["forms"] if form.service == "carrier"]
    assert form.initial == {"down": True} | WELL | {"latency": 250, "errors": 30, "unserved": ""}
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.act, entry.target) == ("ann", "chaos faults", "carrier")
    assert (entry.before["down"], entry.after["down"]) == (False, True)
    assert entry.after["latency_ms"] == [0, 250]
    page = admin.post(f"{PANEL}clear/", follow=True)
    assert [form.initial["down"] for form in page.context["forms"]] == [False] * 4
    assert AuditEntry.objects.filter(act="chaos clear").get().before["carrier"]["error_rate"] == 0.3


def test_it_sets_what_a_service_cannot_do(admin: Client, system: System) -> None:
    admin.post(f"{PANEL}faults/warehouse/", WELL | {"stock": "tidal-lines=0, first-sun=2"})
    admin.post(f"{PANEL}faults/carrier/", WELL | {"unserved": "is, NO", "stock": "moon=1"})
    page = admin.get(PANEL).content.decode()
    assert 'value="tidal-lines=0, first-sun=2"' in page
    assert 'value="IS, NO"' in page
    assert "moon=1" not in page
    wrong = admin.post(f"{PANEL}faults/warehouse/", WELL | {"stock": "tidal-lines"})
    assert "such as tidal-lines=0" in wrong.content.decode()


@pytest.mark.parametrize("wrong", [{"errors": 101}, {"latency": -1}, {"hangs": "many"}, {"lost": ""}])
def test_it_refuses_invalid_faults_and_keeps_the_input(admin: Client, wrong: dict[str, Any]) -> None:
    page = admin.post(f"{PANEL}faults/mail/", WELL | {"down": "on"} | wrong)
    assert page.status_code == 422
    assert "Enter a whole number" in page.content.decode()
    assert [form.is_bound for form in page.context["forms"]] == [False, False, False, True]
    assert page.context["forms"][3]["down"].value() is True  # what was entered is kept
    assert not any(form.initial["down"] for form in admin.get(PANEL).context["forms"])
    assert admin.post(f"{PANEL}faults/moon/", WELL).status_code == 404
    assert not AuditEntry.objects.exists()


def test_it_kills_a_process_of_this_installation_and_of_no_other(
    admin: Client, system: System, tmp_path: Path
) -> None:
    scheduler = system.start("scheduler")
    other = system.start("scheduler", VAR_DIR=str(tmp_path / "other"))
    until(lambda: running.pids_of("scheduler", var_dir=tmp_path) == [scheduler.pid], what="the scheduler")
    until(
        lambda: running.pids_of("scheduler", var_dir=tmp_path / "other") == [other.pid],
        what="the other installation's scheduler",
    )
    assert admin.get(PANEL).context["workers"] == {"submission": 0, "scheduler": 1, "agents": 0, "jobs": 0}
    page = admin.post(f"{PANEL}kill/scheduler/", follow=True)
    assert f"Killed process {scheduler.pid} of scheduler." in page.content.decode()
    until(lambda: running.pids_of("scheduler", var_dir=tmp_path) == [], what="the end of the scheduler")
    assert running.pids_of("scheduler", var_dir=tmp_path / "other") == [other.pid]
    assert AuditEntry.objects.get().result == f"killed process {scheduler.pid}"
    page = admin.post(f"{PANEL}kill/scheduler/", follow=True)
    assert "No scheduler process is running on this machine." in page.content.decode()
    assert admin.post(f"{PANEL}kill/web/").status_code == 404


def test_it_counts_orders_and_effects(admin: Client) -> None:
    make_order(process_state="error")
    make_order(process_state="processed", finished_at="2020-01-01T00:00Z")
    page = admin.get(PANEL)
    assert page.context["orders"]["error"] == 1
    assert page.context["orders"]["processed"] == 0  # it did not finish within the last hour
    assert page.context["effects"] == {"warehouse": 0, "payments": 0, "carrier": 0, "mail": 0}


def test_a_viewer_watches_and_has_no_buttons(system: System) -> None:
    client = signed_in(person("viewer", "vic"))
    page = client.get(PANEL).content.decode()
    assert "chaos/kill/" not in page
    assert "Set faults" not in page
    assert 'name="latency"' not in page
    assert "Latency, ms" in page
    assert "Only admins can change anything here." in page
    assert client.post(f"{PANEL}kill/scheduler/").status_code == 403
    assert client.post(f"{PANEL}clear/").status_code == 403


def test_a_drill_is_started_by_an_administrator_and_its_times_are_measured(
    admin: Client, system: System, settings: Any
) -> None:
    settings.DEBUG, settings.IS_DEMONSTRATION = False, True
    page = admin.post(f"{PANEL}drills/carrier-down/", follow=True)
    assert "The drill has begun: The carrier is down." in page.content.decode()
    assert admin.post(f"{PANEL}drills/refused-payments/", follow=True).status_code == 200  # in its place
    downs = {form.service: form.initial["down"] for form in admin.get(PANEL).context["forms"]}
    assert not any(downs.values())
    alert = make_alert(make_order({"mix": "failed"}, process_state="error").pk)
    ((newest, title), (first, _)) = admin.get(PANEL).context["drills"]
    assert (title, newest.by, newest.open_alerts, newest.ended_seconds) == (
        "Payments are refused",
        "ann",
        1,
        None,
    )
    assert newest.noticed_seconds is not None and first.noticed_seconds is None
    admin.post(f"{PANEL}clear/")
    Alert.objects.filter(pk=alert.pk).update(closed_at=Now())
    ((newest, _), _) = admin.get(PANEL).context["drills"]
    assert newest.noticed_seconds <= newest.well_seconds and newest.ended_seconds <= newest.well_seconds
    assert newest.open_alerts == 0
    assert admin.post(f"{PANEL}drills/no-such-drill/").status_code == 404


def test_every_drill_sets_faults_that_the_sandbox_takes(admin: Client, system: System) -> None:
    for scenario in SCENARIOS:
        text = admin.post(f"{PANEL}drills/{scenario.name}/", follow=True).content.decode()
        assert "The drill has begun" in text, scenario.name


def test_in_a_drill_nothing_is_sent_and_each_page_says_so(admin: Client, settings: Any) -> None:
    assert "nothing is sent" not in admin.get("/console/").content.decode()
    settings.CONFIG = replace(settings.CONFIG, drill=True)
    for page in ("/console/", "/"):
        assert "demo orders; nothing is sent" in admin.get(page).content.decode()
    with pytest.raises(NotSentError, match="this is a drill"):
        webhooks.call("https://hooks.example.com/")
