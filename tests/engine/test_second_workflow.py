"""Workflows whose shapes are not the shop's, from creation to end, through the real roles (C4).

Nothing here is about products, prices or payments: the engine knows no business.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from orders.engine import state_store
from orders.engine.contracts import Compensation, Json, Request, Step, Workflow
from orders.engine.errors import Refused, Transient
from orders.engine.intakes import AcceptedOrder, Submission
from orders.models import AgentReply, AgentRequest, Event
from orders.services.act_results import ResultStatus
from orders.services.order_changes import compensate_order, resubmit_order
from tests.support.agents import ScriptedAgent
from tests.support.factories import ahead
from tests.support.roles import (
    a_host,
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    drain,
    expire,
    history,
    states,
    status_kinds,
    stored,
)
from tests.support.workflows import CAKE

pytestmark = pytest.mark.django_db(transaction=True)


def _said(description: Json) -> Json:
    return {"greeting": description["greeting"]}


def _step(name: str, *after: str, compensation: Compensation = Compensation.REVERSE) -> Step:
    return Step(name=name, agent="hand", operation="do", data=_said, after=after, compensation=compensation)


LONE = Workflow(name="lone", version=1, steps=(_step("only"),))
CHAIN = Workflow(
    name="chain", version=7, steps=tuple(_step(f"s{n}", *([f"s{n - 1}"] if n else [])) for n in range(5))
)
FAN = Workflow(
    name="fan",
    version=2,
    steps=(
        _step("open"),
        *(_step(f"leaf-{n}", "open") for n in range(6)),
        _step("close", *(f"leaf-{n}" for n in range(6)), compensation=Compensation.NONE),
    ),
)
SHAPES = [CAKE, LONE, CHAIN, FAN]
WORKFLOWS = {(shape.name, shape.version): shape for shape in SHAPES}
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)


def create(workflow: Workflow) -> UUID:
    """Does what a submission does for an order that its intake has accepted."""
    submission = Submission(order_id=uuid7(), client="guest", body={}, posted_at=ahead(0))
    accepted = AcceptedOrder(
        submission=submission,
        workflow=workflow,
        priority=5,
        reply_to="app-1",
        description={"greeting": "hello", "portions": 4},
    )
    state_store.create_processes([accepted])
    return submission.order_id


def turns(order_id: UUID, scripts: Mapping[str, list[Any]] | None = None, *, most: int = 40) -> list[Request]:
    """New schedulers and hosts take turns until nothing moves; returns the requests that the agents got."""
    agents = {step.agent for shape in SHAPES for step in shape.steps}
    lines = {name: list((scripts or {}).get(name, [])) for name in agents}
    requests: list[Request] = []
    for turn in range(most):
        drain(a_scheduler(f"scheduler:{turn}", workflows=WORKFLOWS))
        crew = [ScriptedAgent(name, *(lines[name] or [{"by": name}])) for name in sorted(agents)]
        if not a_host(*crew, instance=f"agents:{turn}").run_once().done["claimed"]:
            return requests
        for agent in crew:
            requests += agent.requests
            lines[agent.name] = lines[agent.name][len(agent.requests) :]
    raise AssertionError(f"still moving after {most} turns: {states(order_id)}")


def in_order(workflow: Workflow, names: list[str]) -> bool:
    """Whether every step comes after those that it depends on."""
    return all(
        names.index(earlier) < names.index(step.name) for step in workflow.steps for earlier in step.after
    )


@each_shape
@pytest.mark.pattern("C1", "C4", "C5", "C6", "C9", "A1", "A3", "A4", "T6", "Q3")
def test_an_order_of_any_shape_is_processed_by_schedulers_and_hosts_that_each_do_one_turn(
    shape: Workflow,
) -> None:
    order_id = create(shape)
    requests = turns(order_id)
    assert stored(order_id).process_state == "processed"
    assert states(order_id) == {step.name: "completed" for step in shape.steps}
    names = [request.step for request in requests]
    assert (sorted(names), in_order(shape, names)) == (sorted(shape.by_name), True)
    for request in requests:
        declared = shape.by_name[request.step]
        assert request.key == f"{order_id}/{request.step}/1"
        assert request.operation == declared.operation
        assert request.data == declared.data({"greeting": "hello", "portions": 4})
        assert request.results == {name: {"by": shape.by_name[name].agent} for name in declared.needs}
    assert status_kinds(order_id) == ["started", "completed"]
    assert not AgentRequest.objects.exists() and not AgentReply.objects.exists()


@each_shape
@pytest.mark.pattern("C10", "C4", "T5")
def test_an_order_of_any_shape_is_compensated_in_reverse_after_it_was_processed(shape: Workflow) -> None:
    order_id = create(shape)
    turns(order_id)
    assert compensate_order(order_id=order_id, by="ada").status is ResultStatus.DONE
    compensated = turns(order_id)
    assert stored(order_id).process_state == "compensated"
    names = [request.step for request in compensated]
    reversed_steps = [step.name for step in shape.steps if step.compensation is Compensation.REVERSE]
    notices = [step.name for step in shape.steps if step.compensation is Compensation.NOTICE]
    assert sorted(names) == sorted(reversed_steps + notices)
    assert names[len(reversed_steps) :] == notices
    for name in reversed_steps:
        for later in set(shape.dependents[name]) & set(reversed_steps):
            assert names.index(later) < names.index(name)
    for request in compensated:
        assert request.compensates
        assert (request.reverses, request.key) == (
            f"{order_id}/{request.step}/1",
            f"{order_id}/{request.step}/1/undo",
        )
        assert request.results[request.step] == {"by": shape.by_name[request.step].agent}
    assert status_kinds(order_id) == ["started", "completed", "compensated"]


@each_shape
@pytest.mark.pattern("C10", "C7", "O1", "O2", "A6")
def test_an_order_of_any_shape_whose_last_step_is_refused_can_be_compensated(shape: Workflow) -> None:
    order_id = create(shape)
    last_step = shape.steps[-1]
    before = sum(step.agent == last_step.agent for step in shape.steps) - 1
    requests = turns(
        order_id, {last_step.agent: [{"by": last_step.agent}] * before + [Refused("no", "not today")]}
    )
    assert stored(order_id).process_state == "error"
    assert alerts_of(order_id) == [("step_failed", last_step.name, "no")]
    assert [request.step for request in requests][-1] == last_step.name
    compensate_order(order_id=order_id, by="ada")
    compensated = [request.step for request in turns(order_id)]
    assert stored(order_id).process_state == "compensated"
    assert sorted(compensated) == sorted(
        step.name
        for step in shape.steps
        if step.compensation is Compensation.NOTICE
        or (step.compensation is Compensation.REVERSE and step is not last_step)
    )
    assert status_kinds(order_id) == ["started", "failed", "compensated"]


@pytest.mark.pattern("O2", "A2", "A3", "V2", "C9")
def test_an_order_survives_a_fault_a_timeout_and_a_refusal_and_does_each_step_once() -> None:
    order_id = create(CAKE)
    times_done: dict[str, int] = {}

    async def do_it(request: Request) -> Json:
        times_done[request.key] = times_done.get(request.key, 0) + 1
        return {"by": "kitchen"}

    # The first request is lost with its host; the supervisor finds the step unanswered.
    drain(a_scheduler(workflows=WORKFLOWS))
    AgentRequest.objects.all().delete()
    expire(order_id)
    leader = a_leader(workflows=WORKFLOWS)
    assert leader.run_once().done["steps_timed_out"] == 2
    all_due(order_id)
    # Then a transient fault, and later a refusal that an operator resolves.
    turns(order_id, {"kitchen": [Transient("busy", "later"), do_it, Refused("no", "no"), do_it]})
    assert stored(order_id).process_state == "error"
    assert resubmit_order(order_id=order_id, by="ada").status is ResultStatus.DONE
    turns(order_id, {"kitchen": [do_it]})
    row = stored(order_id)
    assert (row.process_state, set(states(order_id).values())) == ("processed", {"completed"})
    assert set(times_done.values()) == {1}
    refused = history(order_id, "step_refused")
    assert len(refused) == 1
    refused_step = refused[0][1]
    keys = Event.objects.filter(order_id=order_id, kind="step_started", step=refused_step).order_by("id")
    assert [event.detail["key"] for event in keys] == [
        f"{order_id}/{refused_step}/1",
        f"{order_id}/{refused_step}/2",
    ]
    assert status_kinds(order_id) == ["started", "failed", "completed"]
    started_at: datetime | None = row.started_at
    assert started_at is not None and row.finished_at is not None and started_at < row.finished_at
