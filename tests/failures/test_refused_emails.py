"""Customers' emails that the mail server refuses or keeps waiting hold up neither a sweep nor an alert."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django_q.models import Success
from django_q.tasks import async_task

from orders.engine.alerts import NewAlert, open_alerts
from orders.engine.runtime.sql import database_now
from orders.models import OutgoingMessage
from orders.selectors.desk.supervisor import last_sweep_at
from orders.vocabulary import MessageKind, MessageState
from tests.support.mailbox import Mailbox, serving
from tests.support.system import System
from tests.support.wait import until

OPERATORS = "operators@example.org"
EMAILS = 10_000


class OperatorsOnly(Mailbox):
    """A mail server that takes emails to the operators alone: it refuses all others, after `wait` seconds."""

    wait = 0.0

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, recipient: str, options: Any
    ) -> str:
        if recipient == OPERATORS:
            return await super().handle_RCPT(server, session, envelope, recipient, options)
        await asyncio.sleep(self.wait)
        return "550 no such mailbox"


@pytest.fixture
def box(system: System) -> Iterator[OperatorsOnly]:
    with serving(OperatorsOnly()) as server:
        system.environment |= {"EMAIL_URL": f"smtp://127.0.0.1:{server.port}", "ALERT_EMAIL": OPERATORS}
        assert isinstance(server, OperatorsOnly)
        yield server


def post_sign_ups() -> None:
    """As many customers' emails as `EMAILS`, all of them due."""
    now = database_now()
    arguments = {"following": "", "language": "en"}
    OutgoingMessage.objects.bulk_create(
        OutgoingMessage(
            kind=MessageKind.SIGN_UP,
            recipient=f"nobody{number}@example.com",
            arguments=arguments,
            due_at=now,
            give_up_at=now + timedelta(days=1),
        )
        for number in range(EMAILS)
    )


def an_alert() -> None:
    open_alerts([NewAlert(None, "outage", "unreachable", "no answer", "", "carrier")])


def refused() -> int:
    return OutgoingMessage.objects.exclude(error="").filter(kind=MessageKind.SIGN_UP).count()


@pytest.mark.pattern("V1", "O1")
@pytest.mark.parametrize("wait", [0.0, 30.0], ids=["refused", "kept waiting"])
def test_sweeps_and_alerts_are_on_time_while_ten_thousand_emails_are(
    system: System, box: OperatorsOnly, wait: float
) -> None:
    box.wait = wait
    post_sign_ups()
    jobs = system.start("jobs")
    until(lambda: last_sweep_at() and refused(), what="a sweep and an email that is not taken")
    sweeps: list[datetime] = []

    def has_arrived() -> bool:
        sweep = last_sweep_at()
        if sweep and sweep not in sweeps[-1:]:
            sweeps.append(sweep)
        return bool(box.emails)

    an_alert()
    until(has_arrived, what="the alert")
    # The alert overtook nearly all of the emails, and the supervisor never stopped meanwhile.
    waiting = OutgoingMessage.objects.filter(kind=MessageKind.SIGN_UP, state=MessageState.QUEUED)
    assert waiting.count() > EMAILS / 2
    until(lambda: has_arrived() and len(sweeps) > 30, what="thirty sweeps")
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(sweeps)]
    assert max(gaps) < 15, "within the lease that a supervisor has, so that nobody else took over"
    assert not jobs.says("replacing")


@pytest.mark.pattern("V1", "O1")
def test_jobs_that_occupy_every_other_worker_leave_the_supervisor_and_alerts_theirs(
    system: System, box: OperatorsOnly
) -> None:
    jobs = system.start("jobs")
    until(last_sweep_at, what="the first sweep")
    for _ in range(30):
        async_task("time.sleep", 165)
    an_alert()
    until(lambda: box.emails, seconds=150, what="the alert")
    assert not Success.objects.filter(func="time.sleep").exists(), "the workers are free again"
    moment = last_sweep_at()
    assert moment is not None
    until(lambda: last_sweep_at() != moment, what="another sweep")
    assert not jobs.says("replacing")
