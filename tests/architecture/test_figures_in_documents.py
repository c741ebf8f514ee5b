"""A figure that a document states is the one in the code."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from orders import jobs
from orders.access import api_tokens
from orders.agents import transport
from orders.engine.agent_host.records import HostConfig
from orders.engine.channels import leases
from orders.engine.circuits.rules import BreakerRules
from orders.engine.circuits.store import HEARTBEAT_LIMIT
from orders.engine.retry_rules import RetryRules
from orders.engine.runtime.age_turns import AGED, EVERY
from orders.engine.scheduler.config import SchedulerConfig
from orders.engine.supervisor.role import SupervisorConfig
from orders.live.following import StreamsConfig
from orders.live.hub import HubConfig
from orders.live.places import Caps, RoomCaps
from orders.management.commands import run_jobs
from orders.models import AgentRequest
from orders.outbox import queue
from orders.selectors.desk import supervisor as supervisor_page
from orders.services.operators import bulk, notifications
from orders.vocabulary import MessageKind
from sandbox.app import PAGE, SLOW_SECONDS
from sasweb import database, descriptors, logs, web_server, worker
from sasweb.launcher import jobs_watch
from sasweb.limits import DEFAULTS
from tests.architecture.source import ROOT
from tests.support.invariants import Limits

NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "eight": 8, "ten": 10, "a": 1}
BREAKER = BreakerRules()
# Read, not imported: the import would switch on the pool of connections for this process and its children.
WEB = dict(re.findall(r"^([A-Z_]+) = ([\d.]+)$", (ROOT / "sasweb/asgi.py").read_text(), re.MULTILINE))
HOST = HostConfig(instance="")


def text_of(document: Path) -> str:
    """A document on one line, since a sentence may wrap anywhere."""
    return " ".join(document.read_text().split())


FIGURES = [
    ("docs/architecture.md", r"handles up to (\d+) orders", SchedulerConfig(instance="").batch),
    ("docs/architecture.md", r"by claim (\d+) × ", EVERY),
    ("docs/architecture.md", r"has waited for (\w+) minute is taken", AGED.total_seconds() / 60),
    ("docs/operations.md", r"expires after (\d+) days; `--days`", api_tokens.DAYS),
    ("docs/operations.md", r"`--days` takes up to (\d+)", api_tokens.MOST_DAYS),
    ("docs/operations.md", r"its first (\w+) characters", api_tokens.BEGINNING),
    ("docs/architecture.md", r"leases a request for (\d+) s", HOST.lease),
    ("docs/architecture.md", r"renews the lease every (\d+) s", HOST.lease / 4),
    ("docs/architecture.md", r"(\w+) failures that are at least half of the calls", BREAKER.least_failures),
    ("docs/architecture.md", r"calls in a window of (\d+) s", BREAKER.window),
    ("docs/architecture.md", r"now and then: after (\d+) s", BREAKER.first_probe),
    ("docs/architecture.md", r"is lost is sent again after (\d+) s", BREAKER.probe_patience),
    ("docs/architecture.md", r"heartbeat older than (\d+) s", HEARTBEAT_LIMIT),
    ("docs/architecture.md", r"poll every (\d+) s", HubConfig().poll),
    ("docs/architecture.md", r"at most (\w+) times a second", 1 / HubConfig().gap),
    ("docs/architecture.md", r"it ends after (\w+) minute", StreamsConfig().lifetime / 60),
    ("docs/architecture.md", r"the job is a shift of (\d+) s", jobs.SHIFT),
    ("docs/architecture.md", r"holds the leader lease \((\d+) s\)", SupervisorConfig(instance="").lease),
    ("docs/architecture.md", r"in the database is older than (\d+) s", jobs_watch.STALE_AFTER),
    ("docs/architecture.md", r"no job has ended for (\d+) s", run_jobs.NO_JOB_ENDED),
    ("docs/architecture.md", r"transaction timeout of (\d+) s", 5),
    ("docs/failure-modes.md", r"nothing is read beyond (\d+) KB", transport.LARGEST_ANSWER / 1024),
    ("docs/failure-modes.md", r"lease lapses after (\d+) s", HOST.lease),
    ("docs/failure-modes.md", r"after (\w+) lapses", leases.SUSPECT_LAPSES),
    ("docs/failure-modes.md", r"escalated within (\d+) minutes", Limits().ends_within / 60),
    ("docs/failure-modes.md", r"lease plus the sweep period: (\d+) s", HOST.lease + 2),
    (
        "docs/failure-modes.md",
        r"up to (\d+) s of delay \| `test_when_the_leading",
        SupervisorConfig(instance="").lease + 2,
    ),
    ("docs/operations.md", r"less than (\w+) minutes old", notifications.QUIET / timedelta(minutes=1)),
    ("docs/operations.md", r"at most (\d+) minutes apart", queue.LONGEST_WAIT / 60),
    ("docs/operations.md", r"apart, for (\d+) days", queue.patience(MessageKind.ALERT) / timedelta(days=1)),
    (
        "docs/operations.md",
        r"to customers: (\d+) day",
        queue.GIVE_UP_CUSTOMERS_AFTER / timedelta(days=1),
    ),
    ("docs/operations.md", r"more than (\d+) orders", bulk.COUNT_FROM),
    ("docs/operations.md", r"undo the bulk action for (\d+) seconds", bulk.GRACE / timedelta(seconds=1)),
    ("docs/operations.md", r"in waves of (\d+) \(the canary\)", bulk.WAVES[0]),
    ("docs/operations.md", r"\(the canary\), (\d+), \d+ and all", bulk.WAVES[1]),
    ("docs/operations.md", r"\(the canary\), \d+, (\d+) and all", bulk.WAVES[2]),
    ("docs/operations.md", r"at least (\w+) of its calls fail", BREAKER.least_failures),
    ("docs/operations.md", r"opens when, within (\d+) seconds", BREAKER.window),
    ("docs/operations.md", r"heartbeat in the last (\d+) s", HEARTBEAT_LIMIT),
    (
        "docs/operations.md",
        r"after (\d+) minutes without a request",
        settings.OPERATOR_IDLE / timedelta(minutes=1),
    ),
    ("docs/operations.md", r"after (\d+) hours in any case", settings.OPERATOR_SESSION / timedelta(hours=1)),
    (
        "docs/operations.md",
        r"older than (\w+) minutes\. The same",
        settings.SECOND_FACTOR_FRESH / timedelta(minutes=1),
    ),
    ("docs/operations.md", r"after (\d+) s it is late", supervisor_page.LATE),
    ("docs/operations.md", r"takes connections \| (\d+,\d+) \|", descriptors.MOST_CONNECTIONS),
    ("docs/operations.md", r"too low for (\d+,\d+) connections", descriptors.MOST_CONNECTIONS),
    ("docs/operations.md", r"takes (\d+) fewer than it may open files", descriptors.SPARE),
    ("docs/operations.md", r"waits for the head of a request \| (\d+) s", worker.HEAD_TIMEOUT),
    ("docs/operations.md", r"waits for the body \| (\d+) s", float(WEB["BODY_TIMEOUT"])),
    ("sasweb/problems.py", r"body must arrive within (\d+) seconds", float(WEB["BODY_TIMEOUT"])),
    ("docs/proxy/Caddyfile", r"read_body (\d+)s", float(WEB["BODY_TIMEOUT"]) + 5),
    ("docs/operations.md", r"with a password \| (\d+), for", float(WEB["PASSWORDS_AT_ONCE"])),
    ("docs/operations.md", r"the others wait up to (\d+) s \|", float(WEB["PATIENCE"])),
    ("docs/operations.md", r"`posts.address`, which allows (\d+) a minute", DEFAULTS["posts.address"].most),
    ("docs/operations.md", r"`posts.account`, (\d+,\d+) a minute", DEFAULTS["posts.account"].most),
    ("docs/operations.md", r"does not read its answer \| (\d+) s", worker.READ_TIMEOUT),
    ("docs/operations.md", r"an idle one after (\d+) s", web_server.keepalive),
    ("docs/operations.md", r"has live updates \| (\d+,\d+), of which", Caps().total),
    ("docs/operations.md", r", of which (\d+) are for operators only", Caps().operators),
    ("docs/operations.md", r"live updates of one order \| (\d+)", Caps().order),
    ("docs/operations.md", r"live updates of one IP address \| (\d+)", Caps().address),
    ("docs/operations.md", r"and (\d+) streams would be for all", Caps().address),
    ("docs/operations.md", r"or an operator's\) \| (\d+)", Caps().reader),
    ("docs/operations.md", r"lets requests of the API wait [^|]+ \| (\d+,\d+), of which", RoomCaps().total),
    ("docs/operations.md", r", of which (\d+) of one account", RoomCaps().share),
    ("docs/operations.md", r"has streams of the API [^|]+ \| (\d+,\d+)", Caps().total - Caps().operators),
    ("docs/operations.md", r"count as live updates; (\d+) of one account", RoomCaps().share),
    ("docs/operations.md", r"warnings and errors of one kind \| (\d+) a minute", logs.MOST_OF_A_KIND),
    ("docs/your-business.md", r"has at most (\d+) KB", transport.LARGEST_ANSWER / 1024),
    ("docs/sandbox.md", r"oldest first, (\d+) a page", PAGE),
    ("docs/sandbox.md", r"`card_slow` \((\d+) s\)", SLOW_SECONDS),
    (
        "docs/your-business.md",
        r"Keys have at most (\d+) characters",
        AgentRequest._meta.get_field("key").max_length,
    ),
    ("docs/state-machines.md", r"── (\d+) failures in a window", BREAKER.least_failures),
    ("docs/state-machines.md", r"may fail (twice) as often", RetryRules().compensation_patience),
    ("README.md", r"after at least (\w+) failed calls it waits", BREAKER.least_failures),
    ("README.md", r"waits (\w+) minutes for its customer", 120 / 60),
    ("README.md", r"your own server \((\d+) or newer\)", database.OLDEST_POSTGRES / 10_000),
]
"""Document, pattern with the figure as its group, the code's figure."""


@pytest.mark.parametrize(("document", "pattern", "figure"), FIGURES, ids=lambda value: str(value)[:40])
def test_a_figure_in_a_document_matches_the_code(document: str, pattern: str, figure: float) -> None:
    shown = re.findall(pattern, text_of(ROOT / document))
    assert len(set(shown)) == 1, f"{document} says {pattern!r} as {shown}"
    number = {**NUMBERS, "twice": 2}.get(shown[0].lower())
    assert float(number if number is not None else shown[0].replace(",", "")) == float(figure)
