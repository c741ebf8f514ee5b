"""Steps stop waiting for their agent when their order is cancelled, in error or set aside (A8)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from orders.engine.scheduler.role import Scheduler
from orders.models import (
    Alert,
    OrderProcess,
    StepState,
)
from orders.services.order_changes import compensate_order
from tests.support.availability import has_waiting, open_circuit, waited, waiting
from tests.support.factories import ago, ahead, make_order, make_reply, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    drain,
    expire,
    stored,
)
from tests.support.workflows import BAKED, PACKED

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("A8")]


@contextmanager
def that_waits(**process: Any) -> Iterator[tuple[OrderProcess, Scheduler]]:
    """An order with a step that waits for the kitchen."""
    order = make_order(PACKED | {"decorate": {}}, **process)
    scheduler = a_scheduler()
    open_circuit()
    scheduler.run_once()
    assert (waiting(), has_waiting()) == (1, True)
    yield order, scheduler


def test_a_cancelled_order_waits_for_no_forward_step() -> None:
    with that_waits() as (order, scheduler):
        compensate_order(order_id=order.pk, by="ada")
        for agent in ("oven", "post"):
            open_circuit(agent)
        scheduler.run_once()
        assert step_of(order, "decorate").waiting_since is None
        assert waiting() == 1  # `box`, to be compensated
        assert step_of(order, "box").waiting_since is not None


def test_an_order_that_a_refusal_puts_into_error_waits_no_longer() -> None:
    order = make_order(BAKED | {"box": "running"}, process_state="processing")
    scheduler = a_scheduler()
    open_circuit()
    scheduler.run_once()
    OrderProcess.objects.update(not_before=ago(1))
    scheduler.run_once()
    assert waiting() == 1
    make_reply(step_of(order, "box"), "refused")
    scheduler.run_once()
    assert (stored(order).process_state, waiting(), has_waiting()) == ("error", 0, False)


@pytest.mark.pattern("V3")
def test_an_order_that_the_supervisor_puts_into_error_waits_no_longer() -> None:
    order = make_order(
        {"mix": waited(9), "heat-oven": {"state": "running", "failure_count": 2}},
        process_state="processing",
    )
    expire(order, "heat-oven")
    a_leader().run_once()
    assert (stored(order).process_state, waiting(), has_waiting()) == ("error", 0, False)


def test_an_order_that_is_set_aside_waits_no_longer() -> None:
    scheduler = a_scheduler()
    open_circuit()
    bad = make_order(PACKED | {"decorate": waited(9)}, not_before=ago(1))
    make_order({"mix": "completed"})
    StepState.objects.filter(process=bad, name="tell").update(name="frost")
    drain(scheduler)
    assert (stored(bad).process_state, waiting(), has_waiting()) == ("error", 0, False)
    assert alerts_of(bad) == [("unprocessable", "", "WorkflowError")]


def test_a_broken_order_among_those_that_wait_is_set_aside_alone() -> None:
    """A pass takes waiting orders within its batch, so that halving the batch finds the broken order (rule 11)."""
    orders = [make_order(PACKED | {"decorate": waited(9)}, not_before=ahead(99)) for _ in range(9)]
    StepState.objects.filter(process=orders[4], name="tell").update(name="frost")
    scheduler = a_scheduler(batch=8)
    drain(scheduler)
    assert [stored(order).process_state for order in orders] == [
        "error" if n == 4 else "processing" for n in range(9)
    ]
    assert Alert.objects.count() == 1
