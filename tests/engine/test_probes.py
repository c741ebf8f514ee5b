"""Which waiting step is the probe of an open circuit, and how long the patience of such a step lasts."""

from datetime import timedelta

import pytest

from orders.models import AgentRequest, Circuit, OrderProcess
from tests.support.factories import ago, ahead, make_order, make_reply, step_of
from tests.support.roles import a_scheduler, alerts_of, stored

pytestmark = pytest.mark.django_db
READY = {"mix": "completed", "heat-oven": "completed"}


def waiting(seconds: float, **process: object) -> OrderProcess:
    """An order whose step `bake` has waited this many seconds for the oven."""
    since = {"waiting_since": ago(seconds), "wanted_since": ago(seconds)}
    return make_order(READY | {"bake": since}, not_before=ahead(86_400 - seconds), **process)


def probe_is_due() -> None:
    Circuit.objects.update_or_create(
        agent="oven", defaults={"state": "open", "probe_at": ago(1), "openings": 1}
    )


def hand_back(order: OrderProcess) -> None:
    """Has the probe fail: the host hands the request back."""
    AgentRequest.objects.filter(order_id=order.pk).delete()
    make_reply(step_of(order, "bake"), "deferred", {"code": "no_answer", "message": "no answer"})
    a_scheduler().run_once()


def probed() -> set[object]:
    probe_is_due()
    a_scheduler().run_once()
    return set(AgentRequest.objects.values_list("order_id", flat=True))


@pytest.mark.pattern("A8", "F29")
def test_a_request_that_never_succeeds_is_not_the_probe_each_time() -> None:
    poisoned, urgent, patient = waiting(50, priority=9), waiting(40, priority=9), waiting(30)
    assert probed() == {poisoned.pk}
    hand_back(poisoned)
    assert probed() == {urgent.pk}
    hand_back(urgent)
    assert probed() == {patient.pk}
    hand_back(patient)
    assert probed() == {poisoned.pk}


@pytest.mark.pattern("A8", "V4")
def test_a_step_that_is_used_as_a_probe_repeatedly_still_runs_out_of_patience() -> None:
    order = waiting(86_395)
    wanted_since = step_of(order, "bake").wanted_since
    assert probed() == {order.pk}
    hand_back(order)
    step = step_of(order, "bake")
    assert step.wanted_since == wanted_since
    assert stored(order).not_before == wanted_since + timedelta(days=1)
    type(step).objects.filter(pk=step.pk).update(wanted_since=ago(86_401))
    OrderProcess.objects.filter(pk=order.pk).update(not_before=ago(1))
    a_scheduler().run_once()
    assert alerts_of(order) == [("step_failed", "bake", "agent_unavailable")]
    assert step_of(order, "bake").wanted_since is None


@pytest.mark.pattern("A8")
def test_an_answer_ends_the_wait_of_a_step() -> None:
    order = waiting(50)
    assert probed() == {order.pk}
    AgentRequest.objects.all().delete()
    make_reply(step_of(order, "bake"))
    a_scheduler().run_once()
    assert (step_of(order, "bake").state, step_of(order, "bake").wanted_since) == ("completed", None)
