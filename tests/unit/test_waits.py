"""What a step may wait for besides an agent: which declarations are refused, and what they say."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from orders.engine.contracts import (
    Compensation,
    Decision,
    Delay,
    OutsideEvent,
    Step,
    Wait,
    Workflow,
    agents_of,
)
from orders.engine.errors import WorkflowError
from orders.engine.waits import asks_to_compensate
from tests.support.workflows import CAKE, FEAST, FEASTS


def declare(**declared: object) -> Workflow:
    return Workflow(name="made-up", version=1, steps=(Step(name="a", **declared),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"agent": "hand"},
        {"operation": "do"},
        {"agent": "hand", "operation": "do", "waits_for": Decision()},
    ],
)
def test_a_step_has_either_an_agent_with_an_operation_or_a_wait(declared: dict[str, object]) -> None:
    with pytest.raises(WorkflowError, match=r"^made-up v1: step 'a' has either an agent"):
        declare(compensation=Compensation.NONE, **declared)


@pytest.mark.parametrize("compensation", [Compensation.REVERSE, Compensation.NOTICE])
def test_a_wait_has_nothing_to_compensate(compensation: Compensation) -> None:
    with pytest.raises(WorkflowError, match=r"use Compensation\.NONE$"):
        declare(waits_for=Decision(), compensation=compensation)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Decision(choices=()),
        lambda: Decision(choices=("yes", "yes"), compensates=()),
        lambda: Decision(choices=("yes", ""), compensates=()),
        lambda: Decision(choices=("yes", "no")),  # the usual `compensates` names another choice
        lambda: Decision(default="perhaps"),
        lambda: Decision(within=0.0),
        lambda: OutsideEvent(within=float("inf")),
        lambda: OutsideEvent(within=float("nan")),
        Delay,
        lambda: Delay(seconds=-1.0),
        lambda: Delay(seconds=1.0, until=lambda data: datetime(2030, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_wait_that_could_not_end_as_declared_is_refused(make: Callable[[], Wait]) -> None:
    with pytest.raises(WorkflowError):
        make()


def test_only_a_choice_that_compensates_asks_for_it() -> None:
    decision = Decision(choices=("yes", "no", "later"), compensates=("no",))
    choices = [choice for choice in decision.choices if asks_to_compensate(decision, {"choice": choice})]
    assert choices == ["no"]
    assert not asks_to_compensate(OutsideEvent(within=1.0), {"choice": "no"})


def test_the_definition_says_what_a_step_waits_for_without_its_times() -> None:
    assert FEAST.definition["approve"]["waits_for"] == {
        "kind": "decision",
        "choices": ["accept", "reject"],
        "compensates": ["reject"],
        "default": None,
    }
    assert FEAST.definition["supplies"]["waits_for"] == {"kind": "event", "default": {"came": False}}
    assert FEAST.definition["rest"]["waits_for"] == {"kind": "delay"}


def test_a_workflow_without_waits_has_the_fingerprint_that_it_had() -> None:
    """Orders keep the fingerprint that they started with, and run on no other (rule 10)."""
    assert CAKE.fingerprint == "1e6c629c0d7ad368"


def test_a_wait_needs_no_agent() -> None:
    assert agents_of(FEASTS) == ["kitchen", "oven"]
