"""Orders during a pass, and what a test asks about them."""

from collections.abc import Mapping
from typing import Any

from orders.engine.scheduler.order_pass import OrderPass
from tests.support.workflows import CAKE
from tests.unit.rows import ME, NOW, process_row, reply_to, step_rows

DONE = {step.name: "completed" for step in CAKE.steps}


def order(states: Mapping[str, str | Mapping[str, Any]] | None = None, **process: Any) -> OrderPass:
    return OrderPass(row=process_row(**process), steps=step_rows(states), workflow=CAKE, instance=ME)


def processing(states: Mapping[str, str | Mapping[str, Any]] | None = None, **process: Any) -> OrderPass:
    return order(states, process_state="processing", **process)


def kinds(order_pass: OrderPass) -> list[str]:
    return [event.kind for event in order_pass.events]


def written(order_pass: OrderPass) -> list[str]:
    return [write.step.name for write in order_pass.step_writes()]


def requested_steps(order_pass: OrderPass) -> list[str]:
    names = {step.id: name for name, step in order_pass.steps.items()}
    return [names[request.step_id] for request in order_pass.new_requests]


def take(order_pass: OrderPass, name: str, outcome: str = "done", **fields: Any) -> None:
    order_pass.take(reply_to(order_pass.steps[name], outcome, **fields), NOW)


def compensating(states: Mapping[str, str | Mapping[str, Any]], **process: Any) -> OrderPass:
    return processing(states, goal="compensate", **process)
