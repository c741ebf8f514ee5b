"""Processes that are stopped, killed after their commits, poisoned or replaced while orders are under way."""

import subprocess
import sys
from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import connection
from psycopg import connect

from orders.models import AgentReply, AgentRequest, Alert, Event, OrderProcess, StepState
from tests.support.blocked_tables import blocked, somebody_waits_for
from tests.support.factories import step_of
from tests.support.proxy import DatabaseProxy, Moment
from tests.support.system import Process, System, database_url
from tests.support.two_sessions import BAD_PLANS
from tests.support.wait import until


def _run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.pattern("C2", "C9", "F8")
def test_a_scheduler_stopped_inside_its_transaction_does_not_block_others_for_long(system: System) -> None:
    """After 5 s the server ends its transaction and frees its locks; when the scheduler wakes, it starts over.

    It has locked the orders and is about to read their steps, so the server waits for its next statement.
    """
    system.start_all("submission", "agents")
    system.place(6)
    until(lambda: OrderProcess.objects.count() == 6, what="the orders in the store")
    with blocked("orders_stepstate", reads=True):
        sleeper = system.start("scheduler")
        until(lambda: somebody_waits_for("orders_stepstate"), what="a scheduler in its transaction")
        sleeper.pause()
    system.start_all("scheduler", "jobs")
    assert system.wait_until_ended() == ["processed"] * 6
    system.place(2)
    sleeper.resume()
    assert system.wait_until_ended() == ["processed"] * 8
    system.check()


@pytest.mark.pattern("C9", "A4", "A7", "F6", "F12")
def test_a_scheduler_and_a_host_killed_after_their_commits_lose_no_order(
    system: System, proxy: DatabaseProxy
) -> None:
    """What they committed stands, although they never got the answer; the next instance goes on from there."""
    system.start_all("submission", "jobs")
    host = system.start("agents", DATABASE_URL=proxy.url)
    scheduler = system.start("scheduler", DATABASE_URL=proxy.url)
    dispatch = proxy.cut(Moment.STALL, "INSERT INTO orders_agentrequest")
    reply = proxy.cut(Moment.STALL, "INSERT INTO orders_agentreply", "answered AS")
    system.place(4)
    until(lambda: dispatch.stalled, what="a dispatch whose scheduler waits for the answer")
    scheduler.kill()
    until(lambda: reply.stalled, what="replies whose host waits for the answer")
    host.kill()
    assert AgentReply.objects.exists()
    system.start_all("scheduler", "agents")
    assert system.wait_until_ended() == ["processed"] * 4
    system.check()


@pytest.mark.pattern("C2", "C3", "F9")
def test_eight_schedulers_with_bad_plans_process_each_order_once(system: System) -> None:
    """Each has other plans that PostgreSQL could choose; no two hold the same order, and no claim takes too many."""
    system.start_all("submission", "agents")
    plans = list(BAD_PLANS.values())
    for number in range(8):
        off = "%20".join(f"-c%20{name}%3Doff" for name in plans[number % len(plans)])
        system.start("scheduler", DATABASE_URL=f"{database_url()}&options={off}")
    system.place(40)
    assert system.wait_until_ended() == ["processed"] * 40
    assert Event.objects.filter(kind="step_started").values("actor_name").distinct().count() > 1
    system.check()


def _stopped_host(system: System) -> Process:
    """A host that was stopped with calls under way, whose effects have since happened."""
    done = len(system.ledger("warehouse"))
    system.faults("warehouse", latency_ms=[1000, 1000])
    host = system.start("agents")
    until(
        lambda: AgentRequest.objects.filter(agent="warehouse", leased_by__contains=f":{host.pid}:").exists(),
        what="a call under way",
    )
    until(lambda: len(system.ledger("warehouse")) > done or host.has_ended, what="an effect")
    host.pause()
    system.no_faults()
    return host


@pytest.mark.pattern("A5", "C6", "V2", "F13")
def test_a_host_that_wakes_late_changes_nothing(system: System) -> None:
    """After complete-by, after a new attempt and after Error, the database refuses its answers."""
    system.environment |= {"FAILURE_THRESHOLD": "1", "STEP_COMPLETE_BY": "3"}
    system.start_all("submission", "scheduler", "jobs")
    with blocked("orders_agentreply"):
        (failed,) = system.place()
        sleeper = _stopped_host(system)
        until(
            lambda: Event.objects.filter(order_id=failed, kind="step_timed_out").exists(),
            what="the sweep that finds the step",
        )
    assert system.wait_until_ended([failed]) == ["error"]
    sleeper.resume()
    system.environment |= {"FAILURE_THRESHOLD": "9"}
    assert system.place()
    until(lambda: "processed" in system.states(), what="the next order")
    assert system.states([failed]) == ["error"]
    assert system.manage("resubmit", str(failed), "--reason", "test").returncode == 0
    assert system.wait_until_ended() == ["processed"] * 2
    assert step_of(failed, "reserve-stock").attempt == 2
    system.check()


def _order_with_an_expired_key(system: System, agent: str) -> UUID:
    """An order whose call to this agent's service hung, and was first sent longer ago than keys are recognised."""
    system.faults(agent, hang_rate=1.0)
    system.start_all("submission", "scheduler")
    doomed = system.start("agents")
    (order_id,) = system.place()
    until(
        lambda: AgentRequest.objects.filter(agent=agent).exclude(leased_by=None).exists(),
        what="the call that hangs",
    )
    doomed.kill()
    _run("UPDATE orders_stepstate SET sent_at = sent_at - interval '8 days' WHERE sent_at IS NOT NULL")
    system.no_faults()
    system.start_all("agents", "jobs")
    return order_id


@pytest.mark.pattern("A5", "A7", "F14")
def test_a_call_whose_key_the_remote_may_have_forgotten_is_left_to_an_operator(system: System) -> None:
    """If nobody can ask what has become of it, it is never sent again automatically. A mail server cannot be asked."""
    order_id = _order_with_an_expired_key(system, "mail")
    assert system.wait_until_ended() == ["error"]
    assert Alert.objects.get(order_id=order_id, closed_at=None).code == "key_expired"
    assert step_of(order_id, "send-confirmation").attempt == 1
    assert not system.ledger("mail")
    system.check()


@pytest.mark.pattern("A5", "A7", "F14")
def test_a_call_whose_key_the_remote_may_have_forgotten_is_asked_about(system: System) -> None:
    """It was not done, and once its settle time is over it no longer can be, so it is sent again."""
    order_id = _order_with_an_expired_key(system, "carrier")
    assert system.wait_until_ended() == ["processed"]
    inquiries = Event.objects.filter(order_id=order_id, kind="inquired", step="create-shipment")
    assert "not_done" in inquiries.values_list("detail__finding", flat=True)
    assert system.effects(order_id).count("create") == 1
    system.check()


@pytest.fixture
def doubled_replies(transactional_db: None) -> Iterator[None]:
    """Has every reply posted twice."""
    _run(
        """
        CREATE FUNCTION say_it_again() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO orders_agentreply (order_id, step_id, attempt, compensates, outcome, body, calls, instance)
            VALUES (new.order_id, new.step_id, new.attempt, new.compensates, new.outcome, new.body, new.calls, 'again');
            RETURN NULL;
        END $$;
        CREATE TRIGGER say_it_again AFTER INSERT ON orders_agentreply FOR EACH ROW
            WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION say_it_again()
        """
    )
    yield
    _run("DROP TRIGGER say_it_again ON orders_agentreply; DROP FUNCTION say_it_again()")


@pytest.mark.pattern("C6", "F16")
def test_an_answer_that_arrives_twice_counts_once(system: System, doubled_replies: None) -> None:
    """The history notes the second copy, which changes nothing, whichever scheduler reads it, and when."""
    system.start_all("submission", "agents", "scheduler")
    system.start("scheduler")
    orders = system.place(8)
    assert system.wait_until_ended() == ["processed"] * 8
    until(
        lambda: Event.objects.filter(order_id__in=orders, kind="reply_ignored").count() == 8 * 5,
        what="a note of every second answer",
    )
    system.check()


DIES_OF_THIRTEEN = """
import django
django.setup()
from orders.shop.agents.warehouse import Warehouse
perform = Warehouse.perform
async def dies(self, request):
    if any(line["quantity"] == 13 for line in request.data["lines"]):
        os._exit(9)
    return await perform(self, request)
Warehouse.perform = dies
"""


@pytest.mark.pattern("A7", "V3", "F28")
def test_a_payload_that_kills_its_host_every_time_ends_in_error_and_holds_up_nobody(system: System) -> None:
    """The test replaces the hosts, as a process manager does; the other orders go through."""
    system.environment |= {"FAILURE_THRESHOLD": "2", "STEP_COMPLETE_BY": "60"}
    system.start_all("submission", "scheduler", "jobs")
    (poison,) = system.place(quantity=13)
    host = system.start("agents", before=DIES_OF_THIRTEEN)
    until(lambda: host.has_ended, what="the first host's end")
    others = system.place(4)
    deaths = 1

    def is_over() -> bool:
        nonlocal host, deaths
        if host.has_ended:
            deaths += 1
            for table in ("stepstate", "agentrequest"):
                _run(
                    f"UPDATE orders_{table} SET complete_by = now()"
                    f" WHERE order_id = '{poison}' AND complete_by > now()"
                )
            host = system.start("agents", before=DIES_OF_THIRTEEN)
        return system.states([poison]) == ["error"] and system.states(others) == ["processed"] * 4

    until(is_over, what="the poison in Error and the others processed")
    assert deaths >= 2
    system.check()


@pytest.mark.pattern("C9", "T6", "F32")
def test_replacing_every_role_while_the_schema_changes_under_load_loses_no_order(system: System) -> None:
    """Old and new instances work side by side while a column and an index are added, without a long lock."""
    old = system.start_all()
    system.faults("carrier", latency_ms=[100, 300])
    for role in ("submission", "scheduler", "agents"):
        system.place(5)
        system.start(role)
        until(lambda role=role: old[role].says("event=started"), what=f"the old {role} at work")
        assert old[role].terminate() == 0
    with connect(database_url(), autocommit=True) as operator:
        operator.execute("SET lock_timeout = '5s'")
        operator.execute("ALTER TABLE orders_stepstate ADD COLUMN of_the_next_release text NULL")
        operator.execute("CREATE INDEX CONCURRENTLY of_the_next ON orders_stepstate (of_the_next_release)")
        system.place(5)
        assert system.wait_until_ended() == ["processed"] * 20
        operator.execute("ALTER TABLE orders_stepstate DROP COLUMN of_the_next_release")
    system.check()


@pytest.mark.pattern("C4", "F32")
def test_orders_of_a_newer_release_wait_for_it_and_hold_up_nobody(system: System) -> None:
    """This release does not know a version, then a step; the release that knows them continues those orders."""
    system.start_all("submission", "agents", "jobs")
    newer, stranger, *known_orders = system.place(6)
    until(lambda: OrderProcess.objects.count() == 6, what="the orders in the store")
    OrderProcess.objects.filter(order_id=newer).update(version=99)
    OrderProcess.objects.filter(order_id=stranger).update(workflow="wrap-gift")
    system.start("scheduler")
    assert system.wait_until_ended(known_orders) == ["processed"] * 4
    assert system.states([newer, stranger]) == ["pending", "pending"]
    OrderProcess.objects.filter(order_id__in=[newer, stranger]).update(version=1, workflow="fulfil-order")
    assert system.wait_until_ended() == ["processed"] * 6
    system.check()


@pytest.mark.pattern("O2", "C10", "F33")
def test_simultaneous_resubmissions_act_once_and_a_compensation_covers_a_running_step(system: System) -> None:
    """The second of two simultaneous resubmissions gets "already done"; a compensation requested during a step covers
    every step."""
    system.faults("carrier", refuse_rate=1.0)
    system.start_all()
    (order_id,) = system.place()
    assert system.wait_until_ended() == ["error"]
    system.no_faults()
    system.faults("carrier", latency_ms=[1500, 1500])
    clicks = [
        subprocess.Popen(
            [sys.executable, "manage.py", "resubmit", str(order_id), "--reason", "two clicks"],
            env=system.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    assert sorted(click.wait(120) for click in clicks) == [0, 3]
    assert Event.objects.filter(order_id=order_id, kind="resubmitted").count() == 1
    until(
        lambda: (
            StepState.objects.filter(process_id=order_id, state="completed", name="create-shipment").exists()
            or AgentRequest.objects.filter(agent="carrier").exclude(leased_by=None).exists()
        ),
        what="the step under way",
    )
    assert system.manage("compensate", str(order_id), "--reason", "changed her mind").returncode == 0
    assert system.wait_until_ended() == ["compensated"]
    system.check()
