"""The job that sends what is in the outbox: it starts automatically, and survives a lost connection."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from django_q.models import OrmQ, Schedule

from orders import jobs
from orders.engine.alerts import NewAlert, open_alerts
from orders.models import OutgoingMessage
from orders.services import accounts as account_services
from orders.services.operators.notifications import notify_operators
from tests.support.factories import ago
from tests.support.mailbox import mailbox
from tests.support.roles import end_other_connections, in_thread
from tests.support.two_sessions import all_at_once
from tests.support.wait import until
from tests.support.webhook import LOOPBACK, webhook

pytestmark = pytest.mark.django_db(transaction=True)


def ask_for_an_email(recipient: str) -> None:
    account_services.ask_to_sign_up(email=recipient, following="", language="en")


def test_a_shift_sends_what_is_posted_and_survives_its_connection_being_ended(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    monkeypatch.setattr(jobs, "is_stopping", over.is_set)
    with mailbox(settings) as box:
        shift = in_thread(lambda: jobs.outbox_shift(600))
        ask_for_an_email("ada@example.com")
        until(lambda: len(box.emails) == 1, what="the first email")
        end_other_connections()
        ask_for_an_email("bob@example.com")
        until(lambda: len(box.emails) >= 2, what="an email on a new connection")
        over.set()
        shift.result(timeout=60)


def test_the_clusters_start_with_the_jobs_of_this_release_and_no_others() -> None:
    for function in ("notify_operators", "supervisor_shift"):  # as earlier releases scheduled them
        Schedule.objects.create(name=function, func=f"orders.jobs.{function}", schedule_type="I")
    for _ in range(2):
        for cluster in (jobs.SUPERVISION, jobs.GENERAL):
            jobs.prepare(cluster)
    scheduled = Schedule.objects.filter(func__startswith="orders.jobs.").values_list("func", "cluster")
    assert sorted(scheduled) == sorted(
        (f"orders.jobs.{name}", job.cluster) for name, job in jobs.JOBS.items()
    )
    queued = sorted((job.key, job.func()) for job in OrmQ.objects.all())
    assert queued == [
        ("sasweb", "orders.jobs.announcement_shift"),
        ("sasweb", "orders.jobs.desk_shift"),
        ("sasweb", "orders.jobs.outbox_shift"),
        ("sasweb", "orders.jobs.webhook_shift"),
        ("supervision", "orders.jobs.alert_shift"),
        ("supervision", "orders.jobs.supervisor_shift"),
        ("supervision", "orders.jobs.supervisor_shift"),
    ]


def test_clusters_that_start_at_the_same_time_schedule_each_job_once() -> None:
    all_at_once(4, lambda _: jobs.prepare(jobs.SUPERVISION))
    assert Schedule.objects.filter(func="orders.jobs.supervisor_shift").count() == 1


def test_an_alert_is_sent_by_the_webhook_while_the_mail_server_does_not_answer(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    monkeypatch.setattr(jobs, "is_stopping", over.is_set)
    with mailbox(settings) as box, webhook() as hook:
        box.delay = 3600
        settings.CONFIG = replace(
            settings.CONFIG,
            alert_email="ops@example.org",
            alert_webhook_url=hook.url,
            webhook_networks=LOOPBACK,
        )
        open_alerts([NewAlert(None, "outage", "unreachable", "no answer", "", "carrier")])
        shift = in_thread(lambda: jobs.alert_shift(600))
        try:
            until(lambda: box.emails, what="the email that the server does not acknowledge")
            open_alerts([NewAlert(None, "outage", "unreachable", "no answer", "", "payments")])
            until(lambda: len(hook.received) == 2, what="both alerts by the webhook")
        finally:
            over.set()
            shift.result(timeout=60)


def test_customers_emails_are_not_sent_by_alert_shifts_nor_alerts_by_outbox_shifts(
    settings: Any,
) -> None:
    with mailbox(settings) as box:
        settings.CONFIG = replace(settings.CONFIG, alert_email="ops@example.org")
        open_alerts([NewAlert(None, "outage", "unreachable", "no answer", "", "carrier")])
        notify_operators()
        ask_for_an_email("ada@example.com")
        jobs.alert_shift(0.1)
        assert [email["To"] for email in box.emails] == ["ops@example.org"]
        OutgoingMessage.objects.update(state="queued", due_at=ago(1), ended_at=None)
        jobs.outbox_shift(0.1)
        assert [email["To"] for email in box.emails] == ["ops@example.org", "ada@example.com"]
