"""What becomes of an order's steps when it moves to a newer version, and what keeps it from moving (rule 10)."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from orders.engine.contracts import Compensation, Decision, Delay, Workflow
from orders.engine.errors import WorkflowError
from orders.engine.moving import Journey, Move, Obstacle, Transfer, check_move, plan_move
from orders.engine.rows import StepRow
from tests.support.versions import DATA, MOVE, NEW, OLD, TASTED, UNKNOWN
from tests.unit.rows import NEW as EMPTY
from tests.unit.rows import at, process_row, step_rows

pytestmark = pytest.mark.pattern("C4")
SKIPPED_UNKNOWN = {"state": "skipped", "attempt": 2, "outcome": "unknown"}


def plan(
    steps: Mapping[str, Any] | None = None,
    *extra: StepRow,
    new: Workflow = NEW,
    move: Move = MOVE,
    data: Mapping[str, Any] = DATA,
    **process: Any,
) -> Transfer | Obstacle:
    rows = [*step_rows(steps, OLD), *extra]
    return plan_move(process_row(**process), rows, data, Journey(move, OLD, new))


def transfer(*arguments: Any, **options: Any) -> Transfer:
    result = plan(*arguments, **options)
    assert isinstance(result, Transfer), result
    return result


def changed(name: str, **fields: Any) -> Workflow:
    """Version 2 with another declaration of one step."""
    return replace(
        NEW, steps=tuple(replace(step, **fields) if step.name == name else step for step in NEW.steps)
    )


def test_an_order_that_has_not_begun_gets_the_steps_of_the_later_version() -> None:
    result = transfer()
    assert [(step.name, step.agent, step.position) for step in result.steps] == [
        *(("mix", "kitchen", 0), ("approve", "", 1), ("bake", "oven", 2)),
        *(("ice", "kitchen", 3), ("stamp", "kitchen", 4)),
    ]
    assert [step.stored.name if step.stored else None for step in result.steps] == [
        *("mix", "taste", "bake", None, "sign"),
    ]
    assert [step.request for step in result.steps] == [
        *({"cake": "lemon", "size": 2}, {}, {"cake": "lemon"}, {"icing": "pink"}, {"cake": "lemon"})
    ]
    assert [step.name for step in result.dropped] == ["candle"]


def test_a_step_that_has_begun_keeps_its_request_and_a_refused_one_is_asked_for_anew() -> None:
    steps = {**TASTED, "bake": "failed"}
    requests = {step.name: step.request for step in transfer(steps).steps}
    assert requests["mix"] is None and requests["approve"] is None
    assert requests["bake"] == {"cake": "lemon"}
    assert {step.name: step.request for step in transfer({"mix": UNKNOWN}).steps}["mix"] is None


def test_what_a_customer_may_have_changed_is_kept_once_the_step_was_tried() -> None:
    fields = {
        name: transfer({"mix": state}).steps[0].kept_fields
        for name, state in {"new": "not_started", "declined": "failed"}.items()
    }
    assert fields == {"new": (), "declined": ("cake",)}


def test_the_moment_of_a_delay_is_picked_anew() -> None:
    new = changed("approve", waits_for=Delay(until=lambda request: at(90)))
    assert transfer(new=new).steps[1].awaits_until == at(90)


@pytest.mark.parametrize(
    ("steps", "reason", "passes"),
    [
        ({"mix": "running"}, "step mix is under way", True),
        ({"mix": "completed", "taste": "awaiting"}, "step taste waits for an answer or a time", True),
        (
            {**TASTED, "bake": {"state": "awaiting", "outcome": "unknown"}},
            "step bake waits for an answer or a time",
            True,
        ),
        (
            {**TASTED, "bake": "completed", "candle": "completed"},
            "step candle has begun, and version 2 drops it",
            False,
        ),
        (
            {**TASTED, "bake": "completed", "sign": UNKNOWN},
            "step sign has begun, and version 2 calls it stamp",
            False,
        ),
        (
            {**TASTED, "bake": "completed", "sign": "running"},
            "step sign has begun, and version 2 calls it stamp",
            False,
        ),
        ({"candle": SKIPPED_UNKNOWN}, "step candle has begun, and version 2 drops it", False),
        ({**TASTED, "bake": "skipped"}, "step stamp needs the result of bake, which was skipped", False),
    ],
)
def test_an_order_stays_on_its_version_and_says_why(
    steps: Mapping[str, Any], reason: str, passes: bool
) -> None:
    assert plan(steps) == Obstacle(reason, passes)


KEPT = replace(
    NEW,
    steps=tuple(
        replace(
            step,
            name={"approve": "taste"}.get(step.name, step.name),
            after=tuple({"approve": "taste"}.get(earlier, earlier) for earlier in step.after),
            needs=tuple({"approve": "taste"}.get(earlier, earlier) for earlier in step.needs),
        )
        for step in NEW.steps
    ),
)
KEPT_MOVE = replace(MOVE, steps={name: target for name, target in MOVE.steps.items() if name != "taste"})
WAITING = {"mix": "completed", "taste": "awaiting"}


def test_a_wait_that_both_versions_have_goes_on() -> None:
    taste = next(step for step in transfer(WAITING, new=KEPT, move=KEPT_MOVE).steps if step.name == "taste")
    assert taste.stored is not None and taste.stored.state == "awaiting"
    assert (taste.request, taste.awaits_until) == (None, None)


def test_a_wait_that_comes_after_a_new_step_is_no_longer_its_turn() -> None:
    mix, *later = KEPT.steps
    check = replace(mix, name="check", after=("mix",))
    later = [replace(step, after=("mix", "check")) if step.name == "taste" else step for step in later]
    new = replace(KEPT, steps=(mix, check, *later))
    assert plan(WAITING, new=new, move=KEPT_MOVE) == Obstacle(
        "step taste has begun, and in version 2 it comes after check", passes=False
    )


def test_an_order_that_is_being_compensated_stays() -> None:
    assert plan(goal="compensate") == Obstacle("it is being cancelled")


@pytest.mark.parametrize(
    ("step", "change", "difference"),
    [
        ("bake", {"agent": "kitchen"}, "its agent differs"),
        ("bake", {"operation": "roast"}, "its operation differs"),
        ("bake", {"compensation": Compensation.NONE}, "its compensation differs"),
        ("bake", {"agent": "kitchen", "operation": "roast"}, "its agent and operation differ"),
        ("approve", {"waits_for": Decision(choices=("yes", "no"), compensates=())}, "its wait differs"),
    ],
)
def test_only_a_step_that_has_not_begun_may_change(
    step: str, change: dict[str, Any], difference: str
) -> None:
    new = changed(step, **change)
    old_name = "taste" if step == "approve" else step
    result = plan({**TASTED, "bake": "completed"}, new=new)
    assert result == Obstacle(f"step {old_name} has begun, and {difference} in version 2")
    assert isinstance(plan({"mix": "completed"}, new=new), Transfer)
    assert isinstance(plan({"mix": "completed", old_name: "failed"}, new=new), Transfer)


def test_a_step_that_has_begun_keeps_its_name_although_nothing_else_would_change() -> None:
    new = changed("stamp", agent="post", operation="sign", after=("bake",), needs=())
    steps = {**TASTED, "bake": "completed"}
    assert plan({**steps, "sign": UNKNOWN}, new=new) == Obstacle(
        "step sign has begun, and version 2 calls it stamp"
    )
    assert isinstance(plan({**steps, "sign": "failed"}, new=new), Transfer)


def test_what_comes_before_a_step_that_has_begun_must_be_finished() -> None:
    after_ice = Workflow(
        name=NEW.name,
        version=2,
        steps=(
            *NEW.steps[:2],
            replace(NEW.steps[3], after=("mix",)),
            replace(NEW.steps[2], after=("approve", "ice")),
            replace(NEW.steps[4], after=("bake",), needs=()),
        ),
    )
    assert plan({**TASTED, "bake": "completed"}, new=after_ice) == Obstacle(
        "step bake has begun, and in version 2 it comes after ice"
    )
    assert plan({**TASTED, "bake": UNKNOWN}, new=after_ice) == Obstacle(
        "step bake has begun, and in version 2 it comes after ice"
    )
    assert isinstance(plan({**TASTED, "bake": "failed"}, new=after_ice), Transfer)
    after_stamp = replace(
        NEW, steps=(*NEW.steps[:2], replace(NEW.steps[4], after=(), needs=()), *NEW.steps[2:4])
    )
    sooner = replace(
        after_stamp,
        steps=tuple(
            replace(step, after=("approve", "stamp")) if step.name == "bake" else step
            for step in after_stamp.steps
        ),
    )
    assert plan({**TASTED, "bake": "completed"}, new=sooner) == Obstacle(
        "step bake has begun, and in version 2 it comes after stamp", passes=True
    )
    assert isinstance(plan({**TASTED, "bake": "completed", "sign": "skipped"}, new=sooner), Transfer)


def test_a_finished_wait_keeps_its_answer_under_another_name_or_may_be_dropped() -> None:
    result = transfer(TASTED)
    assert result.steps[1].stored is not None
    assert (result.steps[1].name, result.steps[1].stored.state) == ("approve", "completed")
    without = replace(NEW, steps=(NEW.steps[0], replace(NEW.steps[2], after=("mix",)), *NEW.steps[3:]))
    move = replace(MOVE, steps={**MOVE.steps, "taste": None})
    assert [step.name for step in transfer(TASTED, new=without, move=move).dropped] == ["taste", "candle"]


def item_of(step: str, workflow: Workflow = OLD) -> StepRow:
    agent = workflow.by_name[step].agent
    return EMPTY._replace(id=77, name=f"{step}:1", agent=agent, state="completed", outcome="done", attempt=1)


def test_the_rows_of_items_go_with_their_step_and_only_if_it_stays_as_it_is() -> None:
    result = transfer({**TASTED, "bake": "completed"}, item_of("bake"))
    assert [(step.name, step.position) for step in result.steps][2:4] == [("bake", 2), ("bake:1", 2)]
    assert result.steps[3].request is None
    assert plan(TASTED, item_of("candle")) == Obstacle("step candle has begun, and version 2 drops it")
    assert plan(TASTED, item_of("sign")) == Obstacle("step sign has begun, and version 2 calls it stamp")
    assert plan(TASTED, item_of("bake"), new=changed("bake", operation="roast")) == Obstacle(
        "step bake has begun, and its operation differs in version 2"
    )


def test_data_that_the_later_version_cannot_read_keep_an_order_where_it_is() -> None:
    reason = "the data of step ice cannot be read from it: KeyError: 'icing'"
    assert plan(data={"cake": "lemon"}) == Obstacle(reason)


def test_an_order_with_other_steps_than_its_version_stays() -> None:
    rows = step_rows({}, OLD)[:-1]
    result = plan_move(process_row(), rows, DATA, Journey(MOVE, OLD, NEW))
    assert result == Obstacle("its steps are not those of version 1")


STATES: Mapping[str, Mapping[str, Any]] = {
    "new": {"state": "not_started"},
    "sent": UNKNOWN,
    "refused": {"state": "failed"},
    "unclear": {"state": "failed", "outcome": "unknown"},
    "done": {"state": "completed"},
    "left out": {"state": "skipped"},
    "left out, unclear": SKIPPED_UNKNOWN,
}


def test_whatever_its_steps_are_what_may_have_happened_is_never_lost_or_done_again() -> None:
    """Every combination of states: 7 to the power of 5."""
    moves = 0
    for states in product(STATES.values(), repeat=len(OLD.steps)):
        rows = step_rows(dict(zip(OLD.by_name, states, strict=True)), OLD)
        result = plan_move(process_row(), rows, DATA, Journey(MOVE, OLD, NEW))
        if isinstance(result, Obstacle):
            continue
        moves += 1
        assert [step.name for step in result.steps] == list(NEW.by_name)
        finished = {
            step.name
            for step in result.steps
            if step.stored is not None and step.stored.state in ("completed", "skipped")
        }
        for step in result.steps:
            if step.stored is not None and step.stored.outcome in ("done", "unknown"):
                assert step.request is None
                assert set(NEW.by_name[step.name].after) <= finished
                if step.stored.agent:
                    assert (step.name, step.agent) == (step.stored.name, step.stored.agent)
        for row in result.dropped:
            assert not row.agent or row.outcome in ("none", "refused")
    assert moves > 1_000


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (replace(MOVE, from_version=3), "needs version 3, which is not declared"),
        (replace(MOVE, to_version=1), "must lead to a later version"),
        (Move(from_version=2, to_version=1), "must lead to a later version"),
        (replace(MOVE, steps={**MOVE.steps, "cut": None}), "names the step 'cut', which version 1 lacks"),
        (replace(MOVE, steps={**MOVE.steps, "mix": None}), "names the step 'mix', which both versions have"),
        (
            replace(MOVE, steps={**MOVE.steps, "candle": "bake"}),
            "makes 'candle' 'bake', which is no new step of the later version",
        ),
        (
            replace(MOVE, steps={**MOVE.steps, "candle": "light"}),
            "makes 'candle' 'light', which is no new step of the later version",
        ),
        (
            replace(MOVE, steps={"taste": "approve"}),
            "must say what becomes of sign, candle: a new name, or None",
        ),
        (replace(MOVE, steps={**MOVE.steps, "candle": "stamp"}), "makes two steps the same"),
    ],
)
def test_a_move_that_no_order_could_make_is_refused(move: Move, message: str) -> None:
    with pytest.raises(WorkflowError) as error:
        check_move(move, {1: OLD, 2: NEW}, "ice-cake")
    expected = f"ice-cake: the move from version {move.from_version} to {move.to_version} {message}"
    assert str(error.value) == expected


def test_a_declared_move_says_what_it_does_to_the_steps() -> None:
    check_move(MOVE, {1: OLD, 2: NEW}, "ice-cake")
    assert Journey(MOVE, OLD, NEW).changes == (
        ["mix", "bake"],
        [("taste", "approve"), ("sign", "stamp")],
        ["candle"],
        ["ice"],
    )
