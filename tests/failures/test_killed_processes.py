"""Each role is killed with SIGKILL in the middle of its work, and no order is lost, doubled or left behind."""

import pytest

from orders.models import AgentRequest, Event, OrderProcess, StepState, SubmissionMessage
from orders.services.operators.pausing_orders import pause_order, resume_order
from orders.services.operators.pausing_steps import pause_step, resume_step
from tests.support.blocked_tables import blocked, end_waits_for, somebody_waits_for
from tests.support.desk import OLGA
from tests.support.system import System
from tests.support.wait import until

SHIPMENT = {"workflow": "fulfil-order", "step": "create-shipment"}


@pytest.mark.pattern("S2", "T1", "T6")
def test_submission_killed_in_mid_transaction_inserts_nothing_and_loses_nothing(system: System) -> None:
    """F1, F2: the order is acknowledged, and the process that inserts it dies before its commit."""
    with blocked("orders_event"):
        submission = system.start("submission")
        system.place(10)
        until(lambda: somebody_waits_for("orders_event"), what="submission inside its transaction")
        submission.kill()
        end_waits_for("orders_event")
    assert OrderProcess.objects.count() == 0
    assert SubmissionMessage.objects.count() == 10
    system.start_all("submission", "scheduler", "agents")
    assert system.wait_until_ended() == ["processed"] * 10
    system.check()


@pytest.mark.pattern("C9", "T1", "T6")
def test_scheduler_killed_in_mid_transaction_is_replaced_where_it_stopped(system: System) -> None:
    """F5, F7: it has claimed orders, read replies and started steps, and commits none of it."""
    system.start_all("submission", "agents")
    system.faults("warehouse", latency_ms=[100, 300])
    doomed = system.start("scheduler")
    system.place(20)
    until(lambda: "processing" in system.states(), what="orders under way")
    with blocked("orders_event"):
        until(lambda: somebody_waits_for("orders_event"), what="the scheduler inside its transaction")
        doomed.kill()
        end_waits_for("orders_event")
    system.start("scheduler")
    assert system.wait_until_ended() == ["processed"] * 20
    system.check()


@pytest.mark.pattern("C3", "C9")
def test_when_one_of_two_schedulers_is_killed_the_other_takes_over_its_orders(system: System) -> None:
    """F5: a scheduler keeps nothing about its orders in memory, so nobody has to wait for anything."""
    system.start_all("submission", "agents", "scheduler")
    doomed = system.start("scheduler")
    system.faults("carrier", latency_ms=[200, 400])
    system.place(40)
    until(lambda: "processed" in system.states(), what="the first order")
    doomed.kill()
    assert system.wait_until_ended() == ["processed"] * 40
    system.check()


@pytest.mark.pattern("A3", "A7", "A1")
def test_agent_host_killed_between_effect_and_reply_makes_one_effect(system: System) -> None:
    """F10, F11: another instance gets the request when the lease lapses, and two calls with one key make one effect."""
    system.environment["STEP_COMPLETE_BY"] = "30"  # longer than the lease, so that no step times out
    system.start_all("submission", "scheduler")
    orders = system.place(10)
    with blocked("orders_agentreply"):
        doomed = system.start("agents")
        until(lambda: len(system.ledger("warehouse")) == 10, what="the effects")
        until(lambda: somebody_waits_for("orders_agentreply"), what="the host posting its replies")
        doomed.kill()
        end_waits_for("orders_agentreply")
    assert AgentRequest.objects.filter(step="reserve-stock", deliveries=1).count() == 10
    system.start("agents")
    assert system.wait_until_ended(orders) == ["processed"] * 10
    assert not Event.objects.filter(kind="step_timed_out").exists()
    system.check()


@pytest.mark.pattern("A1", "A2")
def test_agent_host_stopped_properly_gives_its_requests_back_at_once(system: System) -> None:
    """SIGTERM: another instance gets its requests without waiting for the lease to lapse."""
    system.start_all("submission", "scheduler")
    system.faults("warehouse", hang_rate=1.0)
    doomed = system.start("agents")
    system.place(5)
    until(lambda: AgentRequest.objects.exclude(leased_by=None).count() == 5, what="claimed requests")
    system.no_faults()
    system.faults("warehouse", hang_rate=1.0)
    assert doomed.terminate() == 0
    assert AgentRequest.objects.exclude(leased_by=None).count() == 0
    system.no_faults()
    system.start_all("agents", "jobs")
    assert system.wait_until_ended() == ["processed"] * 5
    system.check()


@pytest.mark.pattern("C3", "T6")
def test_killing_every_role_at_once_repeatedly_loses_no_order(system: System) -> None:
    """The whole system dies three times under load. What is in the database is enough to go on."""
    system.faults("payments", latency_ms=[50, 150])
    for _ in range(3):
        running = system.start_all("submission", "scheduler", "agents")
        before = system.states().count("processed")
        system.place(15)
        until(lambda before=before: system.states().count("processed") > before, what="progress")
        for process in running.values():
            process.kill()
    system.start_all()
    assert system.wait_until_ended() == ["processed"] * 45
    system.check()


@pytest.mark.pattern("C1", "C3", "C9")
def test_a_scheduler_killed_while_a_step_and_an_order_are_paused_is_replaced_by_one_that_starts_neither(
    system: System,
) -> None:
    """F5: the pauses are rows, so no process has to remember them; what is resumed is completed."""
    held = StepState.objects.filter(name="create-shipment", paused_since__isnull=False)
    system.start_all("submission", "agents")
    pause_step(**SHIPMENT, actor=OLGA, reason="wrong labels")
    doomed = system.start("scheduler")
    orders = system.place(6)
    until(lambda: held.count() == 6, what="orders that wait at the paused step")
    pause_order(order_id=orders[0], actor=OLGA, reason="wrong address")
    doomed.kill()
    system.start("scheduler")
    orders += system.place(1)
    until(lambda: held.count() == 6, what="the new order beside the five")
    assert system.ledger("carrier") == [] and "error" not in system.states()
    resume_step(**SHIPMENT, actor=OLGA)
    assert system.wait_until_ended(orders[1:]) == ["processed"] * 6
    assert len(system.ledger("carrier")) == 6
    resume_order(order_id=orders[0], actor=OLGA)
    assert system.wait_until_ended(orders) == ["processed"] * 7
    system.check()
