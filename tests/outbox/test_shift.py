"""The job that sends what is in the outbox: it starts automatically, and survives a lost connection."""

import threading
from typing import Any

import pytest
from django_q.models import OrmQ, Schedule

from orders import jobs
from orders.services import accounts as account_services
from tests.support.mailbox import mailbox
from tests.support.roles import end_other_connections, in_thread
from tests.support.wait import until

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


def test_the_cluster_starts_with_the_jobs_of_this_release_and_no_others() -> None:
    Schedule.objects.create(name="tell_operators", func="orders.jobs.tell_operators", schedule_type="I")
    jobs.prepare()
    jobs.prepare()
    assert set(Schedule.objects.values_list("name", flat=True)) == set(jobs.EVERY_MINUTES)
    queued = sorted(job.func() for job in OrmQ.objects.all())
    assert queued == [f"orders.jobs.{name}_shift" for name in ("desk", "outbox", "supervisor", "supervisor")]
