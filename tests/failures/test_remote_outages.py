"""Remotes that misbehave, go away for long, or come back; and steps that expire together."""

import http.client
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from orders.engine.runtime.sql import database_now
from orders.models import AgentInstance, Alert, Event, OrderProcess, OutgoingMessage, StepState
from orders.services.act_results import ResultStatus
from orders.services.order_changes import resubmit_order
from tests.support.ports import free_ports
from tests.support.system import System
from tests.support.wait import until
from tests.support.webhook import webhook


class HostileWarehouse(ThreadingHTTPServer):
    """A warehouse in front of the sandbox that misbehaves at the first call with each key, in turn in every way."""

    daemon_threads = True

    def __init__(self, sandbox: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.sandbox = sandbox.removeprefix("http://")
        self.manners: dict[str, str] = {}
        self.lock = threading.Lock()
        self.is_over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/warehouse"

    def manner(self, key: str) -> str:
        """The manner in which to answer this call."""
        with self.lock:
            if key in self.manners:
                return "well"
            self.manners[key] = list(MANNERS)[len(self.manners) % len(MANNERS)]
            return self.manners[key]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that leave."""


class Handler(BaseHTTPRequestHandler):
    server: HostileWarehouse
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Idempotency-Key"]
        MANNERS.get(self.server.manner(key), Handler.well)(self, body)

    def well(self, body: bytes) -> None:
        """Passes on the sandbox's answer."""
        self.answer(*self.forward(body))

    def forward(self, body: bytes) -> tuple[int, bytes]:
        client = http.client.HTTPConnection(self.server.sandbox, timeout=30)
        headers = {name: self.headers[name] for name in ("Idempotency-Key", "Content-Type")}
        client.request("POST", self.path, body, headers)
        answer = client.getresponse()
        reply = answer.status, answer.read()
        client.close()
        return reply

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def fails_after_the_effect(self, body: bytes) -> None:
        self.forward(body)
        self.answer(500, b"{}")

    def says_that_it_still_runs(self, body: bytes) -> None:
        self.answer(409, b'{"error": {"code": "in_progress", "message": "wait"}}')

    def has_too_much_to_do(self, body: bytes) -> None:
        self.answer(429, b"{}", Retry_After="1")

    def speaks_nonsense(self, body: bytes) -> None:
        self.forward(body)
        self.answer(200, b"<html>welcome</html>")

    def speaks_no_http(self, body: bytes) -> None:
        self.wfile.write(b"220 mail.example.com ESMTP\r\n\r\n")
        self.close_connection = True

    def trickles(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        with suppress(OSError):
            while not self.server.is_over.wait(0.2):
                self.wfile.write(b" ")

    def sends_a_gigabyte(self, body: bytes) -> None:
        self.forward(body)
        self.send_response(200)
        self.send_header("Content-Length", str(2**30))
        self.end_headers()
        with suppress(OSError):
            for _ in range(2**14):
                self.wfile.write(b" " * 2**16)

    def sends_elsewhere(self, body: bytes) -> None:
        self.answer(307, b"", Location=f"http://{self.server.sandbox}{self.path}")

    def refuses(self, body: bytes) -> None:
        self.answer(422, b'{"error": {"code": "no_such_shelf", "message": "no"}}')

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""


MANNERS: dict[str, Callable[[Handler, bytes], None]] = {
    "fails after the effect": Handler.fails_after_the_effect,
    "409": Handler.says_that_it_still_runs,
    "429": Handler.has_too_much_to_do,
    "bad JSON": Handler.speaks_nonsense,
    "no HTTP": Handler.speaks_no_http,
    "a trickle": Handler.trickles,
    "a gigabyte": Handler.sends_a_gigabyte,
    "a redirect": Handler.sends_elsewhere,
    "a refusal": Handler.refuses,
}
FOR_A_PERSON = {"a gigabyte": "answer_too_large", "a redirect": "redirected", "a refusal": "no_such_shelf"}


@pytest.fixture
def hostile(system: System) -> Iterator[HostileWarehouse]:
    server = HostileWarehouse(system.sandbox_url)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.is_over.set()
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.mark.pattern("A2", "A6", "C7", "O2", "F15")
def test_a_remote_that_misbehaves_in_every_way_does_each_thing_once(
    system: System, hostile: HostileWarehouse
) -> None:
    """A transient fault is retried with the same key; any other opens an alert, and an operator resubmits the order."""
    system.environment |= {"WAREHOUSE_URL": hostile.url, "STEP_COMPLETE_BY": "15"}
    system.start_all()
    orders = system.place(len(MANNERS))
    assert Counter(system.wait_until_ended()) == {"processed": 6, "error": 3}
    assert set(hostile.manners.values()) == set(MANNERS)
    alerts = dict(Alert.objects.filter(closed_at=None).values_list("order_id", "code"))
    manners = {UUID(key.split("/")[0]): manner for key, manner in hostile.manners.items()}
    assert {manners[order_id]: code for order_id, code in alerts.items()} == FOR_A_PERSON
    for order_id in alerts:
        hostile.manners |= {f"{order_id}/reserve-stock/2": "again"}
        assert resubmit_order(order_id=order_id, by="operator:test").status is ResultStatus.DONE
    assert system.wait_until_ended(orders) == ["processed"] * len(MANNERS)
    system.check()


@pytest.mark.pattern("A2", "F15")
def test_missing_tls_and_an_unknown_host_name_are_outages_that_end(
    system: System, hostile: HostileWarehouse
) -> None:
    """A server without TLS and an unknown host name: nothing was sent, and the call is retried."""
    wrong = {
        "WAREHOUSE_URL": hostile.url.replace("http:", "https:"),
        "PAYMENTS_URL": "http://payments.invalid/payments",
    }
    system.start_all("submission", "scheduler", "jobs")
    host = system.start("agents", **wrong)
    system.place(3)
    until(
        lambda: (
            set(Event.objects.filter(kind="call_failed").values_list("detail__code", flat=True))
            >= {"tls", "dns"}
        ),
        what="a record of both faults",
    )
    host.terminate()
    system.start("agents")
    assert system.wait_until_ended() == ["processed"] * 3
    system.check()


def _calls_in_the_busiest_second(system: System, service: str) -> int:
    times = sorted(datetime.fromisoformat(entry["at"]).timestamp() for entry in system.ledger(service))
    return max(sum(at <= other < at + 1 for other in times[place:]) for place, at in enumerate(times))


@pytest.mark.pattern("A8", "A9", "O1", "F29")
def test_hundreds_of_orders_wait_for_a_remote_that_is_down_and_continue_when_it_is_back(
    system: System,
) -> None:
    """One alert and no counted failure; the waiting orders go through at a bounded rate, and all end well."""
    rate, number = 100, 250
    system.environment |= {"STEP_COMPLETE_BY": "30", "AGENT_RATE": f"{rate}"}
    system.faults("carrier", down=True)
    system.start_all()
    system.place(number)
    until(
        lambda: (
            StepState.objects.filter(agent="carrier", waiting_since__isnull=False).count() >= number * 0.8
        ),
        what="the orders waiting for the carrier",
    )
    outages = Alert.objects.filter(kind="outage")
    assert [alert.agent for alert in outages] == ["carrier"]
    assert system.ledger("carrier") == []
    system.no_faults()
    assert system.wait_until_ended() == ["processed"] * number
    assert not OrderProcess.objects.filter(failure_count__gt=0).exists()
    assert outages.filter(closed_at=None).count() == 0
    assert outages.count() == 1
    assert _calls_in_the_busiest_second(system, "carrier") <= 2.5 * rate
    system.check()


@pytest.mark.pattern("V1", "V2", "V7", "F30")
def test_hundreds_of_steps_that_expire_at_the_same_moment_are_recovered(system: System) -> None:
    """The sweeps take the steps in batches, and the retries use the retry budget; new orders are not held up."""
    system.environment |= {"STEP_COMPLETE_BY": "60", "RETRY_BUDGET": "500", "FAILURE_THRESHOLD": "5"}
    system.start_all("submission", "scheduler", "jobs")
    host = system.start("agents")
    until(lambda: host.says("started"), what="the host's start")
    system.place(1)
    system.wait_until_ended()
    host.pause()
    # A host that is silent for 15 s no longer counts, and nothing would be sent to it.
    AgentInstance.objects.update(seen_at=database_now() + timedelta(minutes=10))
    system.place(250)
    until(
        lambda: StepState.objects.filter(complete_by__isnull=False).count() >= 500,
        what="500 steps under way",
    )
    with connection.cursor() as cursor:
        cursor.execute("UPDATE orders_stepstate SET complete_by = now() WHERE complete_by IS NOT NULL")
        assert cursor.rowcount >= 500
    # The host must not answer before the sweeps: a reply to a step that still runs counts.
    until(
        lambda: Event.objects.filter(kind="step_timed_out").count() >= 500,
        what="500 steps that have timed out",
    )
    host.resume()
    assert system.wait_until_ended() == ["processed"] * 251
    system.check()


@pytest.mark.pattern("O1", "C7", "F20")
def test_nothing_waits_for_an_alert_channel_that_is_down(system: System) -> None:
    """The alert is in the store and in the console; it is sent when the channel is back."""
    port = free_ports()
    system.environment |= {
        "ALERT_WEBHOOK_URL": f"http://127.0.0.1:{port}/",
        "WEBHOOK_NETWORKS": "127.0.0.1",
    }
    system.faults("carrier", refuse_rate=1.0)
    system.start_all()
    system.place(1)
    assert system.wait_until_ended() == ["error"]
    system.no_faults()
    until(_tried_to_tell, what="an attempt to send the alert")
    system.place(3)
    assert system.wait_until_ended() == ["error"] + ["processed"] * 3
    with webhook(port=port) as hook:
        OutgoingMessage.objects.filter(state="queued").update(due_at=database_now())
        until(lambda: hook.received, what="the alert")
    assert hook.received[0]["code"]
    system.check()


def _tried_to_tell() -> bool:
    return OutgoingMessage.objects.filter(ended_at=None).exclude(error="").exists()
