"""The web looks at the other roles, the queues, the outbox and the database, and tells operators (O1)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from orders import retention
from orders.engine.alerts import NewAlert, open_alerts
from orders.engine.role_health import Trouble
from orders.engine.runtime.sql import fetch, run
from orders.models import (
    AgentInstance,
    Alert,
    LeaderLease,
    OutgoingMessage,
    RoleInstance,
    SubmissionMessage,
)
from orders.retention import records
from orders.services.operators.notifications import notify_operators
from orders.watchdog.notices import TOLERANCE
from orders.watchdog.vitals import LIMIT, Vitals, find_troubles, read_vitals
from orders.watchdog.watch import HEARTBEAT, Watch
from sasweb.readiness import REPORT_LIMIT, SystemReport
from tests.support.clock import Clock
from tests.support.factories import ago, make_order, make_reply, make_request, step_of
from tests.support.mailbox import Mailbox, mailbox
from tests.support.roles import in_thread
from tests.support.two_sessions import Session
from tests.support.wait import until
from tests.support.webhook import Webhook

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]
WELL = Vitals(sweep=2.0, waiting={}, seen={}, late=0, undelivered=0)


@pytest.fixture
def inbox(settings: Any, tmp_path: Path) -> Iterator[Mailbox]:
    with mailbox(settings) as box:
        settings.CONFIG = replace(settings.CONFIG, alert_email="ops@example.org", var_dir=tmp_path)
        yield box


def a_watch(clock: Clock) -> Watch:
    """A watch that has been in contact with the database for long enough."""
    watch = Watch(instance="web:a", clock=clock)
    watch.look()
    clock.now += LIMIT
    return watch


def swept(seconds: float) -> None:
    LeaderLease.objects.update_or_create(name="supervisor", defaults={"swept_at": ago(seconds)})


def codes(troubles: list[Trouble]) -> list[tuple[str, str]]:
    return [(trouble.subject, trouble.code) for trouble in troubles]


# --- what the database says


def test_a_system_at_rest_has_no_troubles() -> None:
    vitals = read_vitals()
    assert (vitals.sweep, vitals.late, vitals.undelivered) == (None, 0, 0)
    assert set(vitals.waiting.values()) | set(vitals.seen.values()) == {None}
    assert find_troubles(vitals) == []


def test_ages_are_read_from_each_queue_and_each_role() -> None:
    swept(10)
    order = make_order({"mix": "running"}, process_state="processing")
    SubmissionMessage.objects.create(order_id=order.pk, client="shop", body={}, posted_at=ago(20))
    make_request(step_of(order, "mix"), posted_at=ago(30))
    make_reply(step_of(order, "mix"), posted_at=ago(40))
    make_order(created_at=ago(50))
    RoleInstance.objects.create(instance="submission:a", role="submission", seen_at=ago(60))
    RoleInstance.objects.create(instance="scheduler:a", role="scheduler", seen_at=ago(70))
    AgentInstance.objects.create(instance="agents:a", agent="oven", capacity=1, seen_at=ago(80))
    vitals = read_vitals()
    ages = [vitals.sweep, *vitals.waiting.values(), *vitals.seen.values()]
    assert [round((age or 0) / 10) for age in ages] == [1, 2, 5, 3, 6, 7, 8]
    assert list(vitals.waiting) == list(vitals.seen) == ["submission", "scheduler", "agents"]


@pytest.mark.parametrize("role", ["submission", "scheduler", "agents"])
@pytest.mark.parametrize(
    ("waiting", "seen", "is_trouble"),
    [
        (None, None, False),
        (None, LIMIT + 1, False),
        (LIMIT - 1, None, False),
        (LIMIT + 1, None, True),
        (LIMIT + 1, LIMIT + 1, True),
        (10 * LIMIT, LIMIT - 1, False),
    ],
)
def test_a_role_is_missed_once_work_waits_and_no_process_of_it_reports(
    role: str, waiting: float | None, seen: float | None, is_trouble: bool
) -> None:
    """A queue that is long but served is no trouble, nor is a role that has nothing to do."""
    vitals = WELL._replace(waiting={role: waiting}, seen={role: seen})
    assert codes(find_troubles(vitals)) == ([(role, "no_process")] if is_trouble else [])


@pytest.mark.parametrize(("sweep", "is_trouble"), [(None, False), (LIMIT - 1, False), (LIMIT + 1, True)])
def test_a_supervisor_is_missed_once_it_has_not_swept(sweep: float | None, is_trouble: bool) -> None:
    expected = [("supervisor", "no_sweep")] if is_trouble else []
    assert codes(find_troubles(WELL._replace(sweep=sweep))) == expected


def test_parts_of_retention_that_fail_are_one_trouble() -> None:
    failing = [("finished orders", "disk"), ("sweeps", "disk")]
    (trouble,) = find_troubles(WELL._replace(failing=failing))
    assert codes([trouble]) == [("retention", "part_failed")]
    assert "fails at finished orders and at 1 more," in trouble.message
    assert trouble.message.endswith(": disk")


# --- the look


def test_a_dead_supervisor_is_told_without_the_jobs_and_told_once(clock: Clock, hook: Webhook) -> None:
    swept(LIMIT + 5)
    watch, other = a_watch(clock), Watch(instance="web:b", clock=clock)
    other.look()
    clock.now += LIMIT
    assert ["no supervisor has swept" in problem for problem in watch.look()] == [True]
    other.look()
    clock.now += 10
    watch.look()
    (call,) = hook.received
    assert (call["kind"], call["code"]) == ("stalled", "no_sweep")
    assert Alert.objects.get().subject == "supervisor"
    swept(1)
    clock.now += 10
    assert [each.look() for each in (watch, other)] == [[], []]
    alert = Alert.objects.get()
    assert (alert.closed_by, alert.resolution) == ("the web", "it works again")


@pytest.mark.django_db(transaction=True)
def test_operators_get_one_alert_of_retention_that_fails_and_it_is_closed_when_it_works_again(
    clock: Clock, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept(1)
    watch = a_watch(clock)
    with monkeypatch.context() as patch:
        patch.setitem(records.RULES, "sweeps", replace(records.RULES["sweeps"], condition="at < 'soon'"))
        for _ in range(2):
            retention.delete_old_records()
            clock.now += 10
            watch.look()
    alert = Alert.objects.get()
    assert (alert.kind, alert.subject, alert.closed_at) == ("stalled", "retention", None)
    assert "retention fails at sweeps" in alert.message
    assert [call["code"] for call in hook.received] == ["part_failed"]
    retention.archive_orders()  # another job, which says nothing about this one
    watch.look()
    assert Alert.objects.get().closed_at is None
    retention.delete_old_records()
    clock.now += 10
    assert watch.look() == []
    alert.refresh_from_db()
    assert (alert.closed_by, alert.resolution) == ("the web", "it works again")


def test_nothing_is_told_before_the_database_has_answered_for_a_while(clock: Clock, hook: Webhook) -> None:
    """Everything may have been down together, and be only starting."""
    swept(10_000)
    watch = Watch(instance="web:a", clock=clock)
    for _ in range(3):
        assert watch.look() == []
        clock.now += LIMIT / 3 - 0.1
    assert not Alert.objects.exists()


def test_alerts_that_the_jobs_do_not_deliver_are_delivered_by_the_web(clock: Clock, hook: Webhook) -> None:
    swept(1)
    open_alerts([NewAlert(make_order().pk, "step_failed", "no", "no", "mix", "kitchen")])
    notify_operators()
    watch = a_watch(clock)
    watch.look()
    assert hook.received == []
    OutgoingMessage.objects.update(due_at=ago(LIMIT + 1))
    watch.look()
    assert [call["code"] for call in hook.received] == ["no"]


def test_alerts_that_cannot_be_delivered_are_told_by_the_other_channel(
    clock: Clock, hook: Webhook, inbox: Mailbox, settings: Any
) -> None:
    settings.CONFIG = replace(settings.CONFIG, alert_webhook_url=hook.url)
    swept(1)
    hook.status = 500
    open_alerts([NewAlert(make_order().pk, "step_failed", "no", "no", "mix", "kitchen")])
    watch = a_watch(clock)
    OutgoingMessage.objects.update(due_at=ago(LIMIT + 1))
    notify_operators()
    OutgoingMessage.objects.update(due_at=ago(LIMIT + 1), created_at=ago(LIMIT + 1))
    watch.look()
    clock.now += 10
    assert ["alerts have not been delivered" in problem for problem in watch.look()] == [True]
    assert [str(email["Subject"]) for email in inbox.emails][1:] == ["sasweb: alerts have not been delivered"]


def test_the_heartbeat_url_is_called_only_while_all_is_well(
    clock: Clock, hook: Webhook, settings: Any
) -> None:
    settings.CONFIG = replace(settings.CONFIG, heartbeat_url=hook.url, alert_webhook_url="")
    swept(1)
    watch = a_watch(clock)
    assert hook.received == []  # it has only just begun to look
    for _ in range(9):
        watch.look()
        clock.now += HEARTBEAT / 4
    assert len(hook.received) == 3
    swept(LIMIT + 5)
    clock.now += HEARTBEAT
    assert watch.look() != []
    assert len(hook.received) == 3
    settings.CONFIG = replace(settings.CONFIG, heartbeat_url="http://127.0.0.1:1/")
    swept(1)
    assert watch.look() == []  # what cannot be called is only logged


# --- a database that cannot hold an alert


@pytest.mark.django_db(transaction=True)
def test_a_database_that_takes_no_writes_is_told_directly_and_told_over(
    clock: Clock, hook: Webhook, inbox: Mailbox, settings: Any
) -> None:
    settings.CONFIG = replace(settings.CONFIG, alert_webhook_url=hook.url)
    watches = [Watch(instance=f"web:{name}", clock=clock) for name in "ab"]
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    for _ in range(2):
        for watch in watches:
            with connection.cursor() as cursor:  # a failed heartbeat closes the connection
                cursor.execute("SET default_transaction_read_only = on")
            assert watch.look() == ["the database takes no writes"]
        assert len(hook.received) == len(inbox.emails)
        clock.now += TOLERANCE
    assert [call["text"] for call in hook.received] == ["sasweb: database: the database takes no writes"]
    assert len(inbox.emails) == 1
    connection.close()
    for watch in watches:
        assert watch.look() == []
    assert [call["text"] for call in hook.received][1:] == ["sasweb: database: it works again"]
    assert len(inbox.emails) == 2
    assert list(Path(settings.CONFIG.var_dir).glob("*.told")) == []


@pytest.mark.django_db(transaction=True)
def test_a_database_that_hangs_during_a_look_is_told_although_the_look_does_not_end(
    clock: Clock, hook: Webhook, new_session: Callable[[], Session]
) -> None:
    """A server whose disk stands still keeps the connection, so the look itself can tell nothing."""
    watch, holder = Watch(instance="web:a", clock=clock), new_session()
    assert watch.note_hang() == []
    holder.begin()
    holder.do(lambda: run("LOCK TABLE orders_roleinstance"))
    look = in_thread(watch.look)
    until(lambda: fetch("SELECT 1 FROM pg_locks WHERE NOT granted"), what="the look")
    assert watch.note_hang() == []
    for _ in range(2):
        clock.now += TOLERANCE
        assert watch.note_hang() == ["the database does not answer"]
    assert [call["text"] for call in hook.received] == ["sasweb: database: the database does not answer"]
    holder.commit()
    assert look.result(timeout=60) == []
    assert watch.note_hang() == []
    assert [call["text"] for call in hook.received][1:] == ["sasweb: database: it works again"]


# --- /readyz/system


def test_a_report_counts_for_a_minute(clock: Clock) -> None:
    report = SystemReport(clock=clock)
    assert list(report.find_problems()) == ["this process has not looked at the system yet"]
    report.report(["no supervisor"])
    assert list(report.find_problems()) == ["no supervisor"]
    report.report([])
    assert list(report.find_problems()) == []
    clock.now += REPORT_LIMIT + 1
    assert list(report.find_problems()) == ["this process has not looked at the system for 61 s"]
