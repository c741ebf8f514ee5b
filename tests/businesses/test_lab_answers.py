"""The laboratory's instrument calls back and a person decides while processes are killed; each answer counts once."""

import pytest

from examples.lab.models import Sample
from orders.models import Event
from orders.services.answers import AlreadyAnsweredError, NothingWaitsError, decide
from orders.services.signalling import signal
from tests.businesses.lab_system import LabSystem
from tests.support.blocked_tables import blocked, end_waits_for, somebody_waits_for
from tests.support.wait import until

ROLES = ("submission", "scheduler", "agents", "jobs")


def times(kind: str, step: str) -> int:
    return Event.objects.filter(kind=kind, step=step).count()


@pytest.mark.pattern("A1", "C5", "C9")
def test_an_instrument_calls_back_and_a_person_accepts(system: LabSystem) -> None:
    """Nobody asks the instrument: the callback comes through the web server, and the decision by the sample."""
    system.environment["LAB_POLL_AFTER"] = "3600"
    system.serve()
    system.start_all()
    system.register(3)
    system.wait_until_awaiting("review", 3)
    until(lambda: system.laboratory.callbacks == [204] * 3, what="the web’s answers to the callbacks")
    for sample in Sample.objects.all():
        signal(sample, "review", {"choice": "accept"}, by="ada")
    assert system.wait_until_ended(system.others) == ["processed"] * 3
    reports = [effect.details for effect in system.laboratory.ledger if effect.operation == "publish"]
    assert [report["accepted_by"] for report in reports] == ["ada"] * 3
    system.check()


@pytest.mark.pattern("A3", "A7", "C9")
def test_callbacks_that_die_with_the_web_server_are_asked_for(system: LabSystem) -> None:
    """It is killed while it takes them, so the instrument does not know whether they were taken."""
    system.laboratory.may_answer.clear()
    system.environment["LAB_POLL_AFTER"] = "5"
    web = system.serve()
    system.start_all()
    system.register(3)
    system.wait_until_awaiting("spectrometry", 3)
    with blocked("orders_agentreply"):
        system.laboratory.may_answer.set()
        until(lambda: somebody_waits_for("orders_agentreply"), what="the web taking a callback")
        web.end()
        end_waits_for("orders_agentreply")
    assert system.wait_until_analysed() == ["processed"] * 3
    until(lambda: system.laboratory.callbacks == [0] * 3, what="the end of the unanswered callbacks")
    assert times("step_completed", "spectrometry") == 3
    system.check()


@pytest.mark.pattern("C9", "C10", "F11")
def test_decisions_outlive_the_roles_and_a_rejected_sample_leaves_nothing(system: LabSystem) -> None:
    """Nobody runs when they are made, and a host is killed between taking something back and its reply."""
    running = system.start_all(*ROLES)
    system.register(6)
    waiting = system.wait_until_awaiting("review", 6)
    for process in running.values():
        process.kill()
    for order_id in waiting[:3]:
        decide(order_id=order_id, step="review", choice="accept", by="ada")
    for order_id in waiting[3:]:
        decide(order_id=order_id, step="review", choice="reject", by="ada", note="the samples were warm")
    with pytest.raises(AlreadyAnsweredError):
        decide(order_id=waiting[3], step="review", choice="accept", by="kim")
    system.stand_in.hold_answers()
    doomed = system.start_all("scheduler", "agents", "jobs")["agents"]
    until(system.taken_back, what="something taken back of which no host has heard")
    doomed.kill()
    system.stand_in.pass_on()
    system.start("agents")
    assert system.wait_until_ended(waiting[:3]) == ["processed"] * 3
    assert system.wait_until_ended(waiting[3:]) == ["compensated"] * 3
    with pytest.raises(NothingWaitsError):
        decide(order_id=waiting[0], step="review", choice="reject", by="kim")
    assert system.taken_back() == sorted(waiting[3:] * 4)
    system.check()
