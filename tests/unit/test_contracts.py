"""How a workflow is declared, and which declarations are refused."""

from collections.abc import Mapping
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from orders.engine.contracts import Compensation, Delay, Step, Workflow
from orders.engine.errors import SaswebError, WorkflowError
from tests.support.workflows import CAKE


def step(name: str, **declared: object) -> Step:
    return Step(name=name, agent="hand", operation="do", data=dict, **declared)  # type: ignore[arg-type]


def holds(order: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
    return True


def list_of(order: Mapping[str, Any], results: Mapping[str, Any]) -> list[dict[str, Any]]:
    return []


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
    with pytest.raises(WorkflowError, match="at most 50 characters without a colon, a comma or a slash"):
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
    assert branching.definition["a"] == {**plain.definition["a"], "when": True, "each": True}
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
