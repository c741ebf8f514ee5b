"""What an order may conclude from a request that was handed back, and what happens to its waits when it fails."""

import asyncio
from datetime import timedelta

import pytest

from orders.engine.agent_host.call import Call
from orders.engine.agent_host.circuit_view import CircuitView
from orders.engine.agent_host.statistics import CallStats
from orders.engine.channels.leases import Lease
from orders.engine.contracts import Step, Workflow
from orders.engine.scheduler.order_pass import OrderPass
from tests.support.agents import ScriptedAgent
from tests.unit.rows import ME, NOW, ORDER, at, process_row, reply_to, step_rows


@pytest.mark.pattern("A7", "C10", "F11")
@pytest.mark.parametrize(("deliveries", "outcome"), [(1, "none"), (2, "unknown")])
def test_a_request_that_an_earlier_host_may_have_begun_does_not_count_as_never_begun(
    deliveries: int, outcome: str
) -> None:
    """Its host died during the call, and the next host finds the circuit open. If the request then counted as never
    begun, a cancelled order would not compensate it."""
    circuit = CircuitView("kitchen")
    circuit.is_clear = False
    lease = Lease(7, deliveries, ORDER, "mix", "kitchen", "mix-it", 1, False, "k", "", {}, 60.0)
    lease = lease._replace(body={"data": {}, "results": {}})
    agent = ScriptedAgent("kitchen")
    call = Call(lease=lease, agent=agent, stats=CallStats(), lease_seconds=8.0, circuit=circuit)
    answer = asyncio.run(call.run())
    assert (answer.outcome, agent.requests) == ("deferred", [])
    workflow = Workflow(
        name="one", version=1, steps=(Step(name="mix", agent="kitchen", operation="mix-it", data=dict),)
    )
    steps = step_rows({"mix": "running"}, workflow)
    order_pass = OrderPass(
        row=process_row(process_state="processing"), steps=steps, workflow=workflow, instance=ME
    )
    order_pass.take(reply_to(steps[0], "deferred", body={"code": "not_called"}, calls=answer.calls), NOW)
    assert order_pass.steps["mix"].outcome == outcome


@pytest.mark.pattern("C7", "A8")
def test_no_step_waits_for_its_agent_after_another_step_has_failed() -> None:
    """Otherwise an order that has ended would seem to wait for an agent."""
    steps = tuple(
        Step(name=name, agent=name, operation=f"{name}-it", data=dict, patience=patience)
        for name, patience in (("first", 600.0), ("second", 60.0))
    )
    workflow = Workflow(name="two", version=1, steps=steps)
    rows = step_rows({}, workflow)
    order_pass = OrderPass(row=process_row(), steps=rows, workflow=workflow, instance=ME)
    order_pass.advance(NOW, lambda agent, is_retry: False)
    assert [step.waiting_since for step in order_pass.steps.values()] == [NOW, NOW]
    later = OrderPass(
        row=order_pass.row, steps=list(order_pass.steps.values()), workflow=workflow, instance=ME
    )
    later.advance(at(0) + timedelta(seconds=61), lambda agent, is_retry: False)
    assert later.row.process_state == "error"
    assert [step.waiting_since for step in later.steps.values()] == [None, None]
