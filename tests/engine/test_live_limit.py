"""An operator's limit of requests at once holds exactly, whoever dispatches and whoever calls (A9)."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from orders.agents.transport import Remote
from orders.engine.circuits.overrides import limit
from orders.engine.circuits.store import register_agents
from orders.engine.contracts import Json, Request
from orders.models import AgentReply, AgentRequest, RoleInstance
from tests.support.agents import ScriptedAgent
from tests.support.availability import credit_for, open_circuit, set_capacity
from tests.support.factories import ago, ahead, make_order
from tests.support.hosts import QUICK, a_request
from tests.support.roles import a_host, a_scheduler, clones, running
from tests.support.two_sessions import PATIENCE, all_at_once
from tests.support.wait import until
from tests.support.workflows import PACKED

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("A9")]

LIMIT = 3


class Kitchen(ThreadingHTTPServer):
    """A remote service that notes how many calls were under way at once.

    The first calls wait for each other until there are as many as the limit allows; a later one takes 20 ms.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.is_full, self.has_too_many = threading.Event(), threading.Event()
        self.under_way = self.most = self.calls = 0

    def enter(self) -> None:
        with self.lock:
            self.calls += 1
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            if self.most >= LIMIT:
                self.is_full.set()
            if self.most > LIMIT:
                self.has_too_many.set()

    def leave(self) -> None:
        with self.lock:
            self.under_way -= 1


class Handler(BaseHTTPRequestHandler):
    server: Kitchen
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.enter()
        self.server.is_full.wait(PATIENCE)
        self.server.has_too_many.wait(0.02)
        self.server.leave()
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *arguments: object) -> None:
        """Says nothing."""


@contextmanager
def a_kitchen() -> Iterator[Kitchen]:
    kitchen = Kitchen()
    thread = threading.Thread(target=kitchen.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield kitchen
    finally:
        kitchen.shutdown()
        thread.join()
        kitchen.server_close()


def an_agent(url: str) -> ScriptedAgent:
    remote: list[Remote] = []

    async def call(request: Request) -> Json:
        if not remote:
            remote.append(Remote(url, timeout=10))
        return await remote[0].post("decorate", key=request.key, body={"order_id": str(request.order_id)})

    return ScriptedAgent("kitchen", call, capacity=20)


@pytest.mark.pattern("C3")
def test_the_remote_service_never_has_more_calls_at_once_than_the_limit() -> None:
    """Six schedulers look at the same moment, and two hosts call whatever they find."""
    schedulers = [a_scheduler(f"scheduler:{n}") for n in range(6)]
    register_agents({"kitchen": None})
    set_capacity("kitchen", 100)
    limit("kitchen", rate=None, capacity=LIMIT)
    clones(make_order(PACKED | {"decorate": {}}), 35)
    for scheduler in schedulers:
        scheduler.health.beat()
    RoleInstance.objects.update(seen_at=ahead(3600))

    def is_over(n: int) -> bool:
        schedulers[n].run_once()
        return kitchen.calls == 36 or kitchen.has_too_many.is_set()

    with a_kitchen() as kitchen, ExitStack() as hosts:
        for n in range(2):
            agent = an_agent(f"http://127.0.0.1:{kitchen.server_port}")
            hosts.enter_context(running(a_host(agent, instance=f"agents:{n}", **QUICK)))
        all_at_once(6, lambda n: until(lambda: is_over(n), what="the last call"))
    assert (kitchen.calls, kitchen.most) == (36, LIMIT)


def test_schedulers_that_look_at_once_share_what_is_left_of_the_limit() -> None:
    schedulers = [a_scheduler(f"scheduler:{n}") for n in range(8)]
    register_agents({"kitchen": None})
    limit("kitchen", rate=None, capacity=LIMIT)
    clones(make_order(PACKED | {"decorate": {}}), 40)
    for scheduler in schedulers:
        scheduler.health.beat()
    for _ in range(3):
        all_at_once(8, lambda n: schedulers[n].run_once())
        assert AgentRequest.objects.filter(agent="kitchen").count() <= LIMIT
    for scheduler in schedulers:
        scheduler.run_once()
    assert AgentRequest.objects.filter(agent="kitchen").count() == LIMIT
    assert not AgentReply.objects.exists()


def test_a_probe_waits_until_the_limit_has_room_for_it() -> None:
    a_request(agent="kitchen")
    open_circuit(probe_at=ago(1))
    a_scheduler()
    assert credit_for("kitchen").rooms["kitchen"] == 1
    limit("kitchen", rate=None, capacity=1)
    assert credit_for("kitchen").rooms["kitchen"] == 0
    limit("kitchen", rate=None, capacity=2)
    assert credit_for("kitchen").rooms["kitchen"] == 1
