"""An operator pauses a step of the shop's workflow in all orders, and resumes it."""

from typing import Any

import pytest

from orders.business import Environment
from orders.engine.channels import leases, requests
from orders.models import AgentRequest, AuditEntry, StepPause
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators.pausing_steps import pause_step, resume_step
from orders.shop.workflows import FulfilOrder
from tests.engine.test_paused_steps import claimed
from tests.services.operated_orders import OLGA
from tests.support.factories import ago, ahead, make_order, make_request, step_of
from tests.support.roles import requested_steps
from tests.support.two_sessions import all_at_once

pytestmark = pytest.mark.django_db
STEP = {"workflow": "fulfil-order", "step": "create-shipment"}


def pause(**values: Any) -> Result:
    return pause_step(**{**STEP, "actor": OLGA, "reason": "the labels are wrong", **values})


def resume() -> Result:
    return resume_step(**STEP, actor=OLGA)


def asked(**request: Any) -> Any:
    """An order whose shipment the carrier has been asked for."""
    (workflow,) = FulfilOrder.versions(Environment())
    order = make_order({"create-shipment": "running"}, workflow=workflow, process_state="processing")
    make_request(step_of(order, "create-shipment"), **request)
    return order


def test_the_pause_takes_back_at_once_what_no_host_has_begun() -> None:
    free, begun = asked(), asked(leased_until=ahead(8), deliveries=1)
    assert pause().status is ResultStatus.DONE
    assert (requested_steps(free), requested_steps(begun)) == (set(), {"create-shipment"})
    assert claimed("carrier") == []


def test_it_is_done_once_and_undone_once_and_the_audit_log_has_it() -> None:
    assert [pause().status, pause().status] == [ResultStatus.DONE, ResultStatus.ALREADY]
    assert [resume().status, resume().status] == [ResultStatus.DONE, ResultStatus.ALREADY]
    entries = AuditEntry.objects.order_by("id").values_list("act", "target", "allowed")
    assert list(entries) == [
        *[("pause step", "step fulfil-order/create-shipment", True)] * 2,
        *[("resume step", "step fulfil-order/create-shipment", True)] * 2,
    ]
    assert AuditEntry.objects.order_by("id")[2].before == {"by": "olga", "reason": "the labels are wrong"}


def test_what_cannot_be_paused_is_refused() -> None:
    refusals = [
        (pause(reason=" "), "Give a reason."),
        (pause(until=ago(1)), "later than now"),
        (pause(step="bake"), "The workflow fulfil-order has no step bake."),
        (pause(workflow="bake-cake"), "The workflow bake-cake has no step create-shipment."),
    ]
    for result, why in refusals:
        assert result.status is ResultStatus.REFUSED and why in result.message
    assert not StepPause.objects.exists()
    assert set(AuditEntry.objects.values_list("allowed", flat=True)) == {False}


def test_a_pause_whose_time_is_over_is_none_and_makes_room_for_the_next() -> None:
    pause(until=ahead(60))
    StepPause.objects.update(at=ago(60), until=ago(1))
    assert resume().status is ResultStatus.ALREADY
    assert pause(reason="again").status is ResultStatus.DONE
    assert StepPause.objects.get().reason == "again"


@pytest.mark.django_db(transaction=True)
def test_of_two_who_pause_a_step_at_the_same_moment_one_does() -> None:
    def work(number: int) -> ResultStatus:
        return pause(actor=Actor(name=f"operator {number}")).status

    assert sorted(status.value for status in all_at_once(2, work)) == ["already", "done"]


@pytest.mark.django_db(transaction=True)
def test_of_the_pause_and_many_hosts_each_request_is_taken_by_one() -> None:
    """Whoever is first: what a host has taken is under way, and what the pause has taken back is no host's."""
    for _ in range(12):
        asked()

    def work(number: int) -> int:
        if number == 0:
            pause()
            return 0
        return len(leases.claim(room={"carrier": 4}, me=f"agents:{number}", seconds=10))

    taken = sum(all_at_once(4, work))
    assert AgentRequest.objects.filter(leased_until__isnull=False).count() == taken
    assert claimed("carrier") == []
    requests.hand_back_paused(100, by="scheduler:a")  # what the pause found locked, and no host took
    assert AgentRequest.objects.count() == taken
