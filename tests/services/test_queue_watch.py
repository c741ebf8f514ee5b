"""The web notices a queue that does not move although its role reports that all is well (O1)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from orders.engine.channels import unheld
from orders.engine.role_health import RoleHealth, Trouble
from orders.engine.runtime.sql import run
from orders.models import Alert, OrderProcess, RoleInstance
from orders.shop.models import Product
from orders.vocabulary import AlertKind
from orders.watchdog.queues import LIMIT, SHARE, QueueWatch
from orders.watchdog.watch import Watch
from tests.support.clock import Clock
from tests.support.factories import ago, make_order, make_reply, make_request, step_of
from tests.support.roles import a_leader, a_scheduler
from tests.support.submissions import a_role, post
from tests.support.two_sessions import NewSession
from tests.support.webhook import LOOPBACK, Webhook, webhook
from tests.support.workflows import CAKES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("O1")]


class Line(NamedTuple):
    """One queue: the role that takes from it, the lock that keeps it from doing so, and what it is called."""

    role: str
    health: RoleHealth
    take: Callable[[], object]
    lock: str
    name: str


@pytest.fixture
def hook(settings: Any) -> Iterator[Webhook]:
    with webhook() as receiver:
        settings.CONFIG = replace(settings.CONFIG, alert_webhook_url=receiver.url, webhook_networks=LOOPBACK)
        yield receiver


def submissions() -> Line:
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="A", price=3900)
    post()
    role = a_role()
    return Line("submission", role.health, role.run_once, "orders_submissionmessage", "submission ")


def replies() -> Line:
    make_reply(step_of(make_order({"mix": "running"}, process_state="processing"), "mix"))
    role = a_scheduler()
    return Line("scheduler", role.health, role.run_once, "orders_orderprocess", "reply ")


def ready_orders() -> Line:
    make_order()
    role = a_scheduler()
    return Line("scheduler", role.health, role.run_once, "orders_orderprocess", "order ")


def requests() -> Line:
    order = make_order({"mix": "running"}, process_state="processing")
    make_request(step_of(order, "mix"), complete_by=ago(2))
    health = RoleHealth(role="agents", instance="agents:a")
    return Line("agents", health, unheld.delete_expired, "orders_agentrequest", "request ")


def overdue_steps() -> Line:
    make_order({"mix": {"state": "running", "complete_by": ago(1)}}, process_state="processing")
    role = a_leader()
    return Line("supervisor", role.health, role.run_once, "orders_orderprocess", "step ")


def report(line: Line) -> None:
    """Has a process of the role say that all is well, and that it runs the cakes' workflows."""
    versions = [[name, version, workflow.fingerprint] for (name, version), workflow in CAKES.items()]
    RoleInstance.objects.create(instance=f"{line.role}:a", role=line.role, versions=versions)


def codes(troubles: list[Trouble]) -> list[tuple[str, str, str]]:
    return [(trouble.kind, trouble.subject, trouble.code) for trouble in troubles]


@pytest.mark.parametrize("make", [submissions, replies, ready_orders, requests, overdue_steps])
def test_rows_that_every_pass_skips_are_told_until_they_are_taken(
    make: Callable[[], Line], clock: Clock, new_session: NewSession
) -> None:
    """Somebody has locked them, in a session without time-outs, and gone home."""
    line, watch, holder = make(), QueueWatch(clock=clock), new_session()
    holder.begin()
    holder.do(lambda: run(f"SELECT 1 FROM {line.lock} FOR UPDATE"))
    for seconds in (LIMIT - 1, 1):
        line.take()
        line.health.note_pass()
        line.health.beat()
        assert watch.look() == []
        clock.now += seconds
    (trouble,) = watch.look()
    assert codes([trouble]) == [(AlertKind.STALLED, line.role, "not_taken")]
    assert f"has passed over {line.name}" in trouble.message
    holder.rollback()
    line.take()
    assert watch.look() == []


def test_a_queue_that_moves_is_no_trouble_however_long_it_is(clock: Clock) -> None:
    line, watch = ready_orders(), QueueWatch(clock=clock)
    report(line)
    for _ in range(3):
        assert watch.look() == []
        clock.now += LIMIT - 1
        OrderProcess.objects.get(process_state="pending").delete()
        make_order()
    assert watch.look() == []


def test_a_role_that_says_what_is_wrong_is_not_told_twice(clock: Clock) -> None:
    line, watch = ready_orders(), QueueWatch(clock=clock)
    report(line)
    RoleInstance.objects.create(instance="scheduler:b", role="scheduler", troubles=[{"code": "Boom"}])
    watch.look()
    clock.now += LIMIT
    assert watch.look() == []


@pytest.mark.parametrize("make", [replies, ready_orders, overdue_steps])
def test_orders_on_a_version_that_no_process_runs_wait_for_one_that_does(
    make: Callable[[], Line], clock: Clock
) -> None:
    """They have an alert of their own (rule 10)."""
    line, watch = make(), QueueWatch(clock=clock)
    report(line)
    OrderProcess.objects.update(version=max(version for _, version in CAKES) + 1)
    assert watch.look() == []
    clock.now += LIMIT
    assert watch.look() == []


def test_a_costly_look_is_not_repeated_soon(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """While somebody holds a snapshot, a look meets everything that was deleted."""
    looks = []

    def fetch(*_: object) -> list[tuple[str, str]]:
        clock.now += 1
        looks.append(clock.now)
        return [("scheduler", "order 1")]

    monkeypatch.setattr("orders.watchdog.queues.fetch", fetch)
    watch = QueueWatch(clock=clock)
    watch.look()
    clock.now += SHARE - 1
    assert codes(watch.look()) == [(AlertKind.STALLED, "scheduler", "not_taken")]
    assert len(looks) == 1
    clock.now += 1
    watch.look()
    assert len(looks) == 2


def test_operators_are_told_within_a_minute_and_that_it_is_over(
    clock: Clock, hook: Webhook, new_session: NewSession
) -> None:
    line, watch, holder = submissions(), Watch(instance="web:a", clock=clock), new_session()
    watch.look()
    clock.now += LIMIT  # it has been in contact with the database for long enough
    holder.begin()
    holder.do(lambda: run(f"SELECT 1 FROM {line.lock} FOR UPDATE"))
    line.health.beat()
    for _ in range(6):
        watch.look()
        clock.now += 10
    assert [(call["kind"], call["code"]) for call in hook.received] == [("stalled", "not_taken")]
    holder.rollback()
    line.take()
    assert watch.look() == []
    assert Alert.objects.get().resolution == "it works again"


def test_what_stood_still_while_the_database_did_not_answer_gets_its_time_again(clock: Clock) -> None:
    line, watch = ready_orders(), QueueWatch(clock=clock)
    report(line)
    watch.look()
    clock.now += LIMIT
    watch.forget()
    assert watch.look() == []
