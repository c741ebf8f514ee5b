"""How a workflow is declared, and which declarations are refused."""

from collections.abc import Mapping
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from orders.engine.contracts import (
    Compensation,
    Decision,
    Delay,
    OutsideEvent,
    ResultField,
    ResultType,
    Step,
    Wait,
    Workflow,
)
from orders.engine.errors import SaswebError, WorkflowError
from orders.engine.results import find_gaps, types_of
from tests.support.workflows import CAKE


def step(name: str, **declared: object) -> Step:
    return Step(name=name, agent="hand", operation="do", data=dict, **declared)  # type: ignore[arg-type]


def holds(order: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
    return True


def list_of(order: Mapping[str, Any], results: Mapping[str, Any]) -> list[dict[str, Any]]:
    return []


def waiting(name: str, wait: Wait, **declared: object) -> Step:
    return Step(name=name, waits_for=wait, compensation=Compensation.NONE, **declared)  # type: ignore[arg-type]


def declare(*steps: Step) -> Workflow:
    return Workflow(name="made-up", version=2, steps=steps)


def test_a_workflow_without_steps_is_refused() -> None:
    with pytest.raises(WorkflowError, match=r"^made-up v2 has no steps$"):
        declare()


def test_a_step_declared_twice_is_refused() -> None:
    with pytest.raises(WorkflowError, match=r"^made-up v2: step 'a' is declared twice$"):
        declare(step("a"), step("b"), step("a"))


@pytest.mark.parametrize("link", ["after", "needs"])
def test_a_step_after_a_step_declared_later_is_refused(link: str) -> None:
    with pytest.raises(
        WorkflowError, match=r"^made-up v2: step 'a' comes after 'b', which is not declared before it$"
    ):
        declare(step("a", **{link: ("b",)}), step("b"))


@pytest.mark.parametrize("link", ["after", "needs"])
def test_a_step_after_an_unknown_step_is_refused(link: str) -> None:
    with pytest.raises(WorkflowError, match="'nowhere'"):
        declare(step("a"), step("b", **{link: ("nowhere",)}))


def test_a_step_after_itself_is_refused() -> None:
    with pytest.raises(WorkflowError, match="step 'a' comes after 'a'"):
        declare(step("a", after=("a",)))


def test_steps_cannot_wait_for_each_other() -> None:
    with pytest.raises(WorkflowError):
        declare(step("a", after=("b",)), step("b", after=("a",)))


@pytest.mark.pattern("C4", "C5")
def test_a_step_that_needs_the_result_of_a_step_it_does_not_follow_is_refused() -> None:
    """It would be sent without that result if it started first."""
    with pytest.raises(WorkflowError, match="'b'"):
        declare(step("a"), step("b", needs=("a",)))


@pytest.mark.parametrize("name", ["", "x" * 51, "dish:1", "soup,cake", "soup/cake"])
def test_a_name_that_keys_lists_and_urls_cannot_hold_is_refused(name: str) -> None:
    """What separates the names of steps, the numbers of items and the parts of a key is in none of them."""
    with pytest.raises(WorkflowError, match="a name has 1 to 50 letters, digits, - and _"):
        declare(step(name))
    declare(step("x" * 50))


@pytest.mark.parametrize(
    "declared",
    [
        {"compensation": Compensation.NOTICE},
        {"takes_value": True},
        {"waits_for": Delay(seconds=1), "agent": "", "operation": "", "compensation": Compensation.NONE},
    ],
)
def test_a_step_for_each_item_of_a_list_cannot_do_everything(declared: dict[str, Any]) -> None:
    with pytest.raises(WorkflowError, match="cannot wait, be a notice or take the value"):
        declare(replace(step("a", each=list_of), **declared))


def test_branches_are_part_of_what_must_not_change() -> None:
    plain, branching = declare(step("a")), declare(step("a", when=holds, each=list_of))
    assert branching.definition["a"] == {**plain.definition["a"], "when": "a condition", "each": "a list"}
    assert branching.fingerprint != plain.fingerprint
    assert (plain.has_branches, branching.has_branches) == (False, True)


@pytest.mark.pattern("C5")
def test_a_step_may_need_the_result_of_a_step_it_follows_indirectly() -> None:
    declared = declare(step("a"), step("b", after=("a",)), step("c", after=("b",), needs=("a",)))
    assert declared.by_name["c"].needs == ("a",)


def test_a_workflow_error_is_one_of_the_projects_errors() -> None:
    assert issubclass(WorkflowError, SaswebError)


@pytest.mark.pattern("C4")
def test_the_dependents_of_a_step_include_indirect_ones() -> None:
    assert CAKE.dependents == {
        "mix": ("bake", "box", "decorate", "deliver", "tell"),
        "heat-oven": ("bake", "box", "decorate", "deliver", "tell"),
        "bake": ("box", "decorate", "deliver", "tell"),
        "decorate": ("deliver", "tell"),
        "box": ("deliver", "tell"),
        "deliver": ("tell",),
        "tell": (),
    }


def test_steps_are_keyed_by_name_in_the_order_of_their_declaration() -> None:
    assert list(CAKE.by_name) == ["mix", "heat-oven", "bake", "decorate", "box", "deliver", "tell"]
    assert CAKE.by_name["box"] is CAKE.steps[4]


def test_a_step_is_reversed_and_escalated_unless_it_says_otherwise() -> None:
    declared = step("a")
    assert declared.compensation is Compensation.REVERSE
    assert (declared.remedy.extended_waits, declared.remedy.then) == (0, "error")


def test_a_declared_workflow_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        CAKE.version = 4  # type: ignore[misc]
    assert replace(CAKE, version=4).version == 4


# --- what an application is told


def test_how_a_step_is_declined_can_be_declared_of_versions_that_orders_are_on() -> None:
    assert declare(step("a", declined_as="a_declined")).fingerprint == declare(step("a")).fingerprint


@pytest.mark.parametrize("word", ["", "Declined", "has-hyphen", "seventeen_letters", "completed", "failed"])
def test_a_word_that_a_message_cannot_have_or_that_means_something_else_is_refused(word: str) -> None:
    with pytest.raises(WorkflowError, match=rf"^made-up v2: step 'a' is declined as '{word}': "):
        declare(step("a", declined_as=word))


# --- what a result must hold

REFERENCE = ResultField(name="reference", label="Reference")
WEIGHT = ResultField(name="weight", label="Weight in grams", type=ResultType.NUMBER)
PARTS = ResultField(name="parts", label="Parts", type=ResultType.JSON)


@pytest.mark.parametrize(
    ("result", "gaps"),
    [
        ({"reference": "R1", "weight": 3, "parts": [], "more": None}, {}),
        ({"reference": "R1", "weight": 0.5, "parts": False}, {}),
        ({}, {"reference": "is missing", "weight": "is missing", "parts": "is missing"}),
        (
            {"reference": None, "weight": None, "parts": None},
            {"reference": "is missing", "weight": "is missing", "parts": "is missing"},
        ),
        (
            {"reference": " ", "weight": "3", "parts": ""},
            {"reference": "must be a text that is not empty", "weight": "must be a number"},
        ),
        (
            {"reference": 7, "weight": True, "parts": {}},
            {"reference": "must be a text that is not empty", "weight": "must be a number"},
        ),
    ],
)
def test_a_result_must_hold_a_value_of_its_type_for_each_field(
    result: dict[str, object], gaps: dict[str, str]
) -> None:
    assert find_gaps(result, types_of((REFERENCE, WEIGHT, PARTS))) == gaps


def test_a_type_of_a_later_release_asks_for_any_value() -> None:
    assert find_gaps({"a": 1}, {"a": "a new one", "b": "a new one"}) == {"b": "is missing"}


def test_what_a_result_must_hold_can_be_declared_of_versions_that_orders_are_on() -> None:
    """Their fingerprints are stored with the orders, and nothing starts if they differ."""
    plain = declare(step("a"))
    assert declare(step("a", result=(REFERENCE, WEIGHT))).fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        (step("a", result=(REFERENCE, WEIGHT, REFERENCE)), "declares reference twice in its result"),
        (
            waiting("a", Decision(), result=(REFERENCE,)),
            "has no result of its own, so it cannot say what that must hold",
        ),
        (
            waiting("a", Delay(seconds=1), result=(REFERENCE,)),
            "has no result of its own, so it cannot say what that must hold",
        ),
        (
            waiting("a", OutsideEvent(within=1, default={"weight": 1}), result=(REFERENCE, WEIGHT)),
            "has a default that does not hold its result: reference is missing",
        ),
    ],
)
def test_a_result_that_a_step_cannot_hold_is_refused(declared: Step, reason: str) -> None:
    with pytest.raises(WorkflowError, match=rf"^made-up v2: step 'a' {reason}$"):
        declare(declared)


def test_an_outside_event_may_say_what_must_come_with_it() -> None:
    default = {"reference": "none"}
    declared = waiting("a", OutsideEvent(within=1, default=default), result=(REFERENCE,))
    assert declare(declared).by_name["a"].result == (REFERENCE,)


def test_a_field_without_a_name_is_refused() -> None:
    with pytest.raises(WorkflowError, match=r"^a field of a result needs a name$"):
        ResultField(name=" ", label="Reference")
