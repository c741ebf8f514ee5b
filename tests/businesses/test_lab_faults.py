"""The laboratory's services fail and the system's processes are killed; nothing of a sample is lost or doubled."""

import pytest

from orders.models import Event
from orders.services.order_changes import compensate_order
from tests.businesses.lab_system import LabSystem
from tests.support.blocked_tables import blocked, end_waits_for, somebody_waits_for
from tests.support.wait import until


def calls_failed() -> int:
    return Event.objects.filter(kind="call_failed", order_id__isnull=False).count()


@pytest.mark.pattern("A2", "A3", "F15")
def test_answers_that_are_lost_double_no_booking(system: LabSystem) -> None:
    system.stand_in.lose_answers()
    system.start_all()
    system.register(5)
    until(lambda: calls_failed() >= 5, what="lost answers")
    system.stand_in.pass_on()
    assert system.wait_until_analysed() == ["processed"] * 5
    system.check()


@pytest.mark.pattern("A8", "F29")
def test_samples_wait_for_services_that_are_down(system: LabSystem) -> None:
    system.stand_in.answer(503)
    system.start_all()
    system.register(10)
    until(
        lambda: Event.objects.filter(kind="waiting_for_agent").exists(), what="samples that wait for an agent"
    )
    system.stand_in.pass_on()
    assert system.wait_until_analysed() == ["processed"] * 10
    system.check()


@pytest.mark.pattern("A5", "V1", "V2", "C8")
def test_services_that_hang_past_complete_by_are_called_again(system: LabSystem) -> None:
    system.stand_in.hang()
    system.start_all()
    system.register(2)
    until(lambda: Event.objects.filter(kind="step_timed_out").exists(), what="a step that timed out")
    system.stand_in.pass_on()
    assert system.wait_until_analysed() == ["processed"] * 2
    system.check()


@pytest.mark.pattern("A3", "A7", "F10", "F11")
def test_a_host_killed_between_effect_and_reply_books_nothing_twice(system: LabSystem) -> None:
    system.environment["LAB_STEP_COMPLETE_BY"] = "30"  # longer than the lease, so that no step times out
    system.start_all("submission", "scheduler")
    system.register(5)
    with blocked("orders_agentreply"):
        doomed = system.start("agents")
        until(lambda: len(system.laboratory.ledger) == 10, what="both bookings of each sample")
        until(lambda: somebody_waits_for("orders_agentreply"), what="the host posting its replies")
        doomed.kill()
        end_waits_for("orders_agentreply")
    system.start("agents")
    assert system.wait_until_analysed() == ["processed"] * 5
    system.check()


@pytest.mark.pattern("C3", "C4", "C9", "C10", "T6")
def test_two_businesses_survive_the_deaths_of_all_roles_side_by_side(system: LabSystem) -> None:
    """Then everything is compensated, while the roles are killed once more."""
    for _ in range(2):
        running = system.start_all("submission", "scheduler", "agents")
        before = system.states(system.others).count("processed")
        system.place(5)
        system.register(5)
        until(lambda before=before: system.accept().count("processed") > before, what="progress")
        for process in running.values():
            process.kill()
    running = system.start_all()
    assert system.wait_until_ended() == system.wait_until_analysed() == ["processed"] * 10
    system.check()
    everything = [*system.acknowledged, *system.others]
    for order_id in everything:
        compensate_order(order_id=order_id, by="operator:test", reason="the batch was spoilt")
    until(lambda: system.states(everything).count("compensated") > 2, what="the first compensations")
    for role in ("scheduler", "agents"):
        running[role].kill()
    system.start_all("scheduler", "agents")
    assert set(system.wait_until_ended(everything)) == {"compensated"}
    system.check()
