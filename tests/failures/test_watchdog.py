"""What dies is told by a process that does not depend on it: real processes, a real webhook (O1)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orders.models import LeaderLease
from tests.support.proxy import DatabaseProxy
from tests.support.system import System
from tests.support.wait import until
from tests.support.webhook import Webhook, webhook
from tests.web.server import Server

pytestmark = pytest.mark.pattern("O1", "V6")
BOUND = 150.0
"""Seconds; on an idle machine it takes 40."""


@pytest.fixture
def hook() -> Iterator[Webhook]:
    with webhook() as receiver:
        yield receiver


@pytest.fixture
def heart() -> Iterator[Webhook]:
    """What is called while all is well."""
    with webhook() as receiver:
        yield receiver


@pytest.fixture
def web(
    system: System, proxy: DatabaseProxy, hook: Webhook, heart: Webhook, tmp_path: Path
) -> Iterator[Server]:
    """A web process that watches; it reaches the database through a proxy."""
    names = ("VAR_DIR", "SECRET_KEY", "SANDBOX_BIND")
    server = Server(
        tmp_path / "web.log",
        database_url=proxy.url,
        WATCHDOG="true",
        ALERT_WEBHOOK_URL=hook.url,
        HEARTBEAT_URL=heart.url,
        WEBHOOK_NETWORKS="127.0.0.1",
        **{name: system.environment[name] for name in names},
    )
    yield server
    server.end()


def report(web: Server) -> bytes:
    """What the web answers to whoever probes the whole system."""
    return web.request("GET", "/readyz/system").body


def test_dead_jobs_and_a_lost_database_are_told_by_the_web(
    system: System, web: Server, proxy: DatabaseProxy, hook: Webhook, heart: Webhook
) -> None:
    jobs = system.start("jobs")
    until(lambda: LeaderLease.objects.exclude(swept_at=None).exists(), what="a sweep")
    jobs.kill()
    until(lambda: hook.received, seconds=BOUND, what="the alert that nobody sweeps")
    assert [(call["kind"], call["code"]) for call in hook.received] == [("stalled", "no_sweep")]
    until(lambda: b"no supervisor has swept" in report(web), what="the report to whoever probes")
    assert web.request("GET", "/readyz/system").status == 503
    assert web.request("GET", "/readyz").status == 200
    beats = len(heart.received)
    system.start("jobs")
    until(lambda: len(heart.received) > beats, seconds=BOUND, what="the heartbeat")
    until(lambda: report(web) == b"well\n", what="the report that all is well")
    proxy.close()
    until(lambda: len(hook.received) == 2, seconds=BOUND, what="the notice about the database")
    assert hook.received[1]["text"] == "sasweb: database: the database does not answer"
