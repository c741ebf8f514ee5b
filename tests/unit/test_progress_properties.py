"""Any workflow under any course of events: what must hold for every order, whatever happens to it.

Hypothesis makes up a workflow and a course of events. Afterwards the world (tests/unit/world.py) has no more faults,
and the order must end.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orders.engine.contracts import Compensation, Workflow
from tests.unit.world import RULES, SOME_TURNS, World, workflows

EVENTS = [
    *["done"] * 4,
    *["wait"] * 4,
    *["land"] * 2,
    "begin",
    "refused",
    "declined",
    "failed",
    "copy",
    "compensate",
]
courses = st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 4)), max_size=40)


def happen(world: World, event: str, index: int) -> None:
    """Makes an event happen, if it can happen now, and has the running processes react to it."""
    if event == "wait":
        world.wait()
        world.sweep()
    elif event == "compensate" and world.row.goal == "complete":
        world.row = world.row._replace(
            goal="compensate", process_state="pending", locked_by=None, not_before=None
        )
    elif event == "copy" and world.posted:
        world.unread.append(world.posted[index % len(world.posted)])
    elif event not in ("copy", "compensate") and world.calls:
        call = world.calls[index % len(world.calls)]
        if event == "begin":
            call.begun = True
        elif event == "land":
            world.land(call)
        else:
            world.answer(call, event)
    world.run_pass()


def leave_in_peace(world: World) -> None:
    """Lets every call succeed and time pass: the order must end (I11)."""
    for _ in range(SOME_TURNS):
        if world.ended:
            return
        answered = [call for call in world.calls if call.step.attempt > world.steps[call.step.name].answered]
        if answered:
            happen(world, "done", world.calls.index(answered[-1]))
        else:
            happen(world, "wait", 0)
    raise AssertionError(f"no end: {world.row} {list(world.steps.values())} {world.story}")


def check_the_end(world: World) -> None:
    """Checks that the remote's effects match the state (I2)."""
    steps = world.steps.values()
    if world.row.process_state == "processed":
        assert {step.state for step in steps} <= {"completed", "skipped"}, world.story
        assert world.effects == {step.key() for step in steps if world.runs(step)}, world.story
        world.check_branches()
    elif world.row.process_state == "compensated":
        for step in steps:
            declared = world.workflow.step_of(step.name)
            compensation = declared.compensation
            assert compensation is not Compensation.REVERSE or step.key() not in world.effects, (
                step.name,
                world.story,
            )
            was_never_to_happen = declared.when is not None and step.state == "skipped"
            if compensation is Compensation.NOTICE and not was_never_to_happen:
                assert step.state == "compensated", (step.name, world.story)
    else:
        assert any(step.state == "failed" for step in steps), world.story
    for step in steps:
        remedy = world.workflow.step_of(step.name).remedy
        most = RULES.threshold * (1 + RULES.compensation_patience) + remedy.extended_waits
        assert step.attempt <= most, (step.name, world.story)


@pytest.mark.pattern("C1", "C4", "C8", "C9", "C10", "A7")
@settings(max_examples=1_500, deadline=None, database=None, print_blob=True)
@given(workflow=workflows(), course=courses)
def test_every_order_respects_its_dependencies_and_ends_whatever_happens(
    workflow: Workflow, course: list[tuple[str, int]]
) -> None:
    """I2, I3, I4, I7, I8, I10, I11."""
    world = World(workflow)
    world.run_pass()
    for event, index in course:
        happen(world, event, index)
    leave_in_peace(world)
    check_the_end(world)


@pytest.mark.pattern("C6", "T3")
@settings(max_examples=50, deadline=None, database=None, print_blob=True)
@given(workflow=workflows())
def test_an_undisturbed_order_is_processed_with_one_attempt_for_each_step(workflow: Workflow) -> None:
    world = World(workflow)
    world.run_pass()
    leave_in_peace(world)
    assert world.row.process_state == "processed"
    assert all(step.attempt == (step.state != "skipped") for step in world.steps.values())


@pytest.mark.pattern("C10")
@settings(max_examples=100, deadline=None, database=None, print_blob=True)
@given(workflow=workflows(), turns=st.integers(0, 8))
def test_an_order_can_be_compensated_from_any_point_even_after_its_end(
    workflow: Workflow, turns: int
) -> None:
    world = World(workflow)
    world.run_pass()
    for _ in range(turns):
        happen(world, "done", 0)
    happen(world, "compensate", 0)
    leave_in_peace(world)
    assert world.row.process_state == "compensated"
    check_the_end(world)


@pytest.mark.pattern("V2", "V3", "V4")
@settings(max_examples=100, deadline=None, database=None, print_blob=True)
@given(workflow=workflows(), turns=st.integers(0, 4), lands=st.booleans())
def test_an_order_whose_remote_falls_silent_ends_after_a_bounded_number_of_attempts(
    workflow: Workflow, turns: int, lands: bool
) -> None:
    world = World(workflow)
    world.run_pass()
    for _ in range(turns):
        happen(world, "done", 0)
    for _ in range(SOME_TURNS):
        if lands and world.calls:
            world.land(world.calls[-1])
        happen(world, "wait", 0)
    assert world.ended, world.story
    check_the_end(world)
