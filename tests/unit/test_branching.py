"""Branches as they are declared, and the decisions about them."""

from typing import Any

import pytest

from orders.engine.branches import Facts, declared_name, item_name
from orders.engine.contracts import Compensation, Delay, Step, Workflow
from orders.engine.errors import WorkflowError
from orders.engine.scheduler.branching import known_before
from orders.engine.scheduler.progress import next_moves
from tests.support.workflows import PARTY
from tests.unit.rows import NOW, step_row


def item(number: int, state: str) -> Any:
    """A step of one of the dishes; rows are numbered in the order in which they were added."""
    return step_row("dish", state, PARTY, id=100 + number)._replace(name=item_name("dish", number))


def declared(**fields: Any) -> Workflow:
    step = Step(**{"name": "dish", "agent": "kitchen", "operation": "cook-it", **fields})
    return Workflow(name="party", version=1, steps=(step,))


def test_an_item_has_the_declaration_of_its_step() -> None:
    assert declared_name(item_name("dish", 12)) == "dish"
    assert PARTY.step_of("dish:12") is PARTY.step_of("dish") is PARTY.by_name["dish"]


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"name": "dish:1"}, "step 'dish:1' of agent 'kitchen': a name has 1 to 50 letters, digits, - and _"),
        (
            {"name": "soup,cake"},
            "step 'soup,cake' of agent 'kitchen': a name has 1 to 50 letters, digits, - and _",
        ),
        (
            {"name": "x" * 51},
            f"step {'x' * 51!r} of agent 'kitchen': a name has 1 to 50 letters, digits, - and _",
        ),
        (
            {"each": lambda order, _: [], "compensation": Compensation.NOTICE},
            "step 'dish' runs for each item of a list, so it cannot wait, be a notice or take the value",
        ),
        (
            {"each": lambda order, _: [], "takes_value": True},
            "step 'dish' runs for each item of a list, so it cannot wait, be a notice or take the value",
        ),
        (
            {
                "agent": "",
                "operation": "",
                "waits_for": Delay(seconds=1.0),
                "each": lambda order, _: [],
                "compensation": Compensation.NONE,
            },
            "step 'dish' runs for each item of a list, so it cannot wait, be a notice or take the value",
        ),
    ],
)
def test_a_declaration_that_cannot_work_is_refused_in_one_line(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(WorkflowError) as refusal:
        declared(**fields)
    assert str(refusal.value) == f"party v1: {fault}"


def test_a_branch_added_to_a_version_changes_its_fingerprint_and_none_leaves_it_as_it_was() -> None:
    plain, condition, items = (
        declared().fingerprint,
        declared(when=lambda order, _: True).fingerprint,
        declared(each=lambda order, _: []).fingerprint,
    )
    assert len({plain, condition, items}) == 3
    assert "when" not in declared().definition["dish"] and "each" not in declared().definition["dish"]


def test_a_step_is_decided_on_what_it_comes_after_and_on_nothing_else() -> None:
    facts = Facts({"dishes": []}, {"invite": {"guests": 3}, "dish": [], "other": {}})
    assert known_before(PARTY, "serve", facts) == Facts(
        {"dishes": []}, {"dish": [], "invite": {"guests": 3}, "music": None}
    )
    assert known_before(PARTY, "invite", facts).results == {}


@pytest.mark.pattern("C4")
@pytest.mark.parametrize(
    ("second", "joins"), [("completed", True), ("skipped", True), ("running", False), ("failed", False)]
)
def test_a_joint_is_due_once_its_items_have_ended(second: str, joins: bool) -> None:
    joint = step_row(
        "dish", {"state": "awaiting", "complete_by": None, "awaits": {"kind": "items", "items": 2}}, PARTY
    )
    others = [step_row("invite", "completed", PARTY), step_row("music", "skipped", PARTY)]
    rows = [*others, joint, step_row("serve", "not_started", PARTY), item(1, "completed"), item(2, second)]
    started = [step.name for step, _ in next_moves(PARTY, rows, NOW).start]
    assert started == (["dish"] if joins else [])
