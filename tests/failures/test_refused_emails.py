"""Customers' emails that the mail server refuses or keeps waiting hold up neither a sweep nor an alert."""

import asyncio
import inspect
import os
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django_q.models import OrmQ, Success
from django_q.tasks import async_task

from orders import jobs
from orders.engine.alerts import NewAlert, open_alerts
from orders.engine.runtime.sql import database_now
from orders.jobs import GENERAL, JOBS, SUPERVISION
from orders.models import OutgoingMessage
from orders.selectors.desk.supervisor import last_sweep_at
from orders.vocabulary import MessageKind, MessageState
from tests.support.mailbox import Mailbox, serving
from tests.support.system import System
from tests.support.wait import until

OPERATORS = "operators@example.org"
EMAILS = 10_000
SWEEPS = 20
WIDE = 8
"""Times as long as without emails that sweeps and alerts may take: what other processes do to the machine meanwhile
comes on top, and a worker that had to be waited for would cost more."""


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


def refused() -> int:
    return OutgoingMessage.objects.exclude(error="").filter(kind=MessageKind.SIGN_UP).count()


def pace() -> float:
    """Seconds that `SWEEPS` sweeps take, by the database's clock."""
    sweeps: list[datetime] = []

    def has_swept() -> bool:
        sweep = last_sweep_at()
        if sweep and sweep not in sweeps[-1:]:
            sweeps.append(sweep)
        return len(sweeps) > SWEEPS

    until(has_swept, what=f"{SWEEPS} sweeps")
    return (sweeps[-1] - sweeps[0]).total_seconds()


def delay(box: Mailbox, agent: str) -> float:
    """Seconds from an alert about an agent to the email about it."""
    emails, begun = len(box.emails), time.monotonic()
    open_alerts([NewAlert(None, "outage", "unreachable", "no answer", "", agent)])
    until(lambda: len(box.emails) > emails, what="the alert")
    return time.monotonic() - begun


@pytest.mark.pattern("V1", "O1")
@pytest.mark.parametrize("wait", [0.0, 30.0], ids=["refused", "kept waiting"])
def test_sweeps_and_alerts_are_as_soon_as_before_while_ten_thousand_emails_are(
    system: System, box: OperatorsOnly, wait: float
) -> None:
    running = system.start("jobs")
    until(last_sweep_at, what="the first sweep")
    pace_alone, delay_alone = pace(), delay(box, "carrier")
    box.wait = wait
    post_sign_ups()
    until(refused, what="an email that is not taken")
    pace_beside, delay_beside = pace(), delay(box, "payments")
    # The alert overtook nearly all of the emails.
    waiting = OutgoingMessage.objects.filter(kind=MessageKind.SIGN_UP, state=MessageState.QUEUED)
    assert waiting.count() > EMAILS / 2
    print(f"{SWEEPS} sweeps: {pace_alone:.1f} s alone, {pace_beside:.1f} s beside the emails")
    print(f"an alert: {delay_alone:.1f} s alone, {delay_beside:.1f} s beside the emails")
    assert pace_beside < WIDE * pace_alone
    assert delay_beside < WIDE * delay_alone
    assert not running.says("replacing")


@pytest.mark.pattern("V1", "O1")
def test_jobs_that_never_end_leave_the_supervisor_and_alerts_their_workers(
    system: System, box: OperatorsOnly, tmp_path: Path
) -> None:
    silent = tmp_path / "silent"
    os.mkfifo(silent)
    running = system.start("jobs")
    until(last_sweep_at, what="the first sweep")
    until(OrmQ.objects.filter(key=GENERAL).exists, what="the other cluster's own jobs")
    for _ in range(30):
        async_task("os.open", str(silent), os.O_RDONLY)  # waits for somebody who writes
    for cluster in (GENERAL, SUPERVISION):
        async_task("math.sqrt", 4, task_name=f"behind them in {cluster}", cluster=cluster)
    until(Success.objects.filter(name=f"behind them in {SUPERVISION}").exists, what="a worker of supervision")
    delay(box, "carrier")
    moment = last_sweep_at()
    until(lambda: last_sweep_at() != moment, what="another sweep")
    assert not Success.objects.filter(name=f"behind them in {GENERAL}").exists(), "the workers are free again"
    assert not running.says("replacing")


def test_supervision_has_a_worker_for_each_of_its_shifts_and_runs_nothing_else() -> None:
    workers = settings.Q_CLUSTER["ALT_CLUSTERS"][SUPERVISION]["workers"]
    ours = {function for function, job in JOBS.items() if job.cluster == SUPERVISION}
    assert ours == {"supervisor_shift", "alert_shift"}
    assert sum(most_at_once(function) for function in ours) <= workers


def most_at_once(function: str) -> int:
    """The most shifts of a job that run at once: the first ones, and one that starts after each period."""
    job = JOBS[function]
    seconds = inspect.signature(getattr(jobs, function)).parameters["seconds"].default
    starts = [0] * len(job.first) + [number * job.minutes * 60 for number in range(1, 10)]
    return max(sum(start <= moment < start + seconds for start in starts) for moment in starts)
