"""One effect at a remote service compared with what the database says of its step."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from orders.engine.contracts import Effect
from orders.engine.rows import EffectKey, read_key
from orders.reconciliation.comparison import compare, is_awaited, is_still_completed
from orders.selectors.desk.reconciliation import KnownStep
from tests.unit.rows import NEW, ORDER

NOW = datetime(2030, 1, 1, tzinfo=UTC)
NO_ORDER = None


def known(order: str, step: str, outcome: str = "none", generation: int = 1) -> KnownStep:
    """A step; `order` is the goal and the state of its order, such as "complete pending"."""
    goal, process_state = order.split()
    return KnownStep(
        workflow="w",
        version=1,
        goal=goal,
        process_state=process_state,
        state=step,
        outcome=outcome,
        generation=generation,
    )


def effect(*, is_reversed: bool = False) -> Effect:
    return Effect(key="k", operation="o", at=NOW, is_reversed=is_reversed)


def key(generation: int = 1, *, is_compensation: bool = False) -> EffectKey:
    return EffectKey(ORDER, "pay", generation, is_compensation)


STANDING = [
    # an effect that is not reversed, under generation 2
    ("complete processed", "completed", "done", 2, None),
    ("complete processing", "running", "unknown", 2, None),
    ("complete error", "failed", "unknown", 2, None),
    ("complete pending", "not_started", "unknown", 2, None),
    ("compensate processing", "compensating", "done", 2, None),
    ("compensate pending", "completed", "done", 2, None),
    ("complete pending", "not_started", "none", 2, None),
    ("complete processing", "not_started", "none", 2, None),
    ("complete error", "not_started", "none", 2, "not_recorded"),
    ("compensate pending", "not_started", "none", 2, "not_recorded"),
    ("compensate compensated", "not_started", "none", 2, "not_recorded"),
    ("complete error", "failed", "refused", 2, "not_recorded"),
    ("complete pending", "failed", "refused", 2, "not_recorded"),
    ("complete processed", "skipped", "none", 2, "not_recorded"),
    ("complete error", "failed", "none", 2, "step_behind"),
    ("complete error", "failed", "refused", 1, "step_behind"),
    ("complete pending", "not_started", "none", 1, "step_behind"),
    ("complete processing", "running", "unknown", 1, "step_behind"),
    ("complete processed", "completed", "done", 1, "not_recorded"),
    ("compensate compensated", "failed", "refused", 1, "not_recorded"),
    ("complete processed", "completed", "done", 3, "not_recorded"),
    ("complete error", "failed", "none", 3, "not_recorded"),
    ("compensate compensated", "compensated", "done", 2, "not_reversed_there"),
    ("compensate compensated", "compensated", "done", 3, "not_recorded"),
]


@pytest.mark.pattern("F35")
@pytest.mark.parametrize(("order", "step", "outcome", "generation", "kind"), STANDING)
def test_an_effect_that_stands_agrees_with_a_step_that_may_have_done_it(
    order: str, step: str, outcome: str, generation: int, kind: str | None
) -> None:
    steps = {"pay": known(order, step, outcome, generation)}
    assert compare(effect(), key(2), steps) == kind


REVERSED = [
    ("complete processed", "completed", "done", 2, "reversed_there"),
    ("complete processing", "completed", "done", 2, "reversed_there"),
    ("complete processed", "completed", "done", 3, None),
    ("complete error", "failed", "refused", 2, None),
    ("complete pending", "not_started", "none", 2, None),
    ("compensate pending", "completed", "done", 2, None),
    ("compensate compensated", "compensated", "done", 2, None),
]


@pytest.mark.parametrize(("order", "step", "outcome", "generation", "kind"), REVERSED)
def test_a_reversed_effect_matters_only_to_an_order_that_counts_on_it(
    order: str, step: str, outcome: str, generation: int, kind: str | None
) -> None:
    steps = {"pay": known(order, step, outcome, generation)}
    assert compare(effect(is_reversed=True), key(2), steps) == kind


COMPENSATIONS = [
    ("compensate processing", "compensating", 2, None),
    ("compensate compensated", "compensated", 2, None),
    ("compensate pending", "completed", 2, None),
    ("complete processing", "completed", 2, "reversed_there"),
    ("complete pending", "not_started", 2, "reversed_there"),
    ("complete pending", "not_started", 1, "reversed_there"),
    ("complete processed", "completed", 3, None),
]


@pytest.mark.parametrize(("order", "step", "generation", "kind"), COMPENSATIONS)
def test_a_compensation_matters_only_to_an_order_that_goes_on(
    order: str, step: str, generation: int, kind: str | None
) -> None:
    steps = {"pay": known(order, step, "done", generation)}
    assert compare(effect(), key(2, is_compensation=True), steps) == kind


def test_of_an_unknown_order_only_an_effect_that_stands_is_left_over() -> None:
    assert compare(effect(), key(), NO_ORDER) == "order_unknown"
    assert compare(effect(is_reversed=True), key(), NO_ORDER) is None
    assert compare(effect(), key(is_compensation=True), NO_ORDER) is None


def test_a_submission_may_have_any_effect_and_an_order_none_of_a_step_that_it_lacks() -> None:
    other = {"bake": known("complete processed", "completed", "done")}
    assert compare(effect(), key(), {}) is None
    assert compare(effect(), key(), other) == "not_recorded"
    assert compare(effect(is_reversed=True), key(), other) is None
    assert compare(effect(), key(is_compensation=True), other) is None


@pytest.mark.parametrize(
    ("step", "is_reversed", "is_compensation", "expected"),
    [
        (known("complete pending", "not_started"), False, False, True),
        (known("complete pending", "not_started"), True, False, False),
        (known("complete pending", "not_started"), False, True, False),
        (known("complete pending", "not_started", generation=2), False, False, False),
        (known("complete error", "not_started"), False, False, False),
        (known("compensate pending", "not_started"), False, False, False),
        (known("complete processed", "completed", "done"), False, False, False),
    ],
)
def test_an_order_under_way_gets_to_the_effects_of_steps_that_have_not_started(
    step: KnownStep, is_reversed: bool, is_compensation: bool, expected: bool
) -> None:
    one_key = key(is_compensation=is_compensation)
    assert is_awaited(effect(is_reversed=is_reversed), one_key, {"pay": step}) is expected


def test_a_step_is_still_completed_only_under_the_same_key_of_an_order_that_goes_on() -> None:
    assert is_still_completed(known("complete processed", "completed", "done"), 1)
    assert not is_still_completed(known("complete processed", "completed", "done"), 2)
    assert not is_still_completed(known("compensate pending", "completed", "done"), 1)
    assert not is_still_completed(known("compensate processing", "compensating", "done"), 1)
    assert not is_still_completed(None, 1)


@pytest.mark.parametrize("name", ["pay", "create-shipment", "a/b", "undo", "1/undo"])
def test_a_key_says_which_effect_it_is_of(name: str) -> None:
    row = NEW._replace(name=name, generation=12)
    assert read_key(row.key()) == EffectKey(ORDER, name, 12, False)
    assert read_key(row.compensation_key()) == EffectKey(ORDER, name, 12, True)
    third = row._replace(compensation_generation=3)
    assert read_key(third.compensation_key()) == EffectKey(ORDER, name, 12, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "inv-2030-17",
        f"{ORDER}",
        f"{ORDER}/pay",
        f"{ORDER}/pay/0",
        f"{ORDER}/pay/x",
        f"{ORDER}/pay/1/undone",
        f"{ORDER}/pay/1\n",
        f"{ORDER}/pay/1234567890",
        f"{UUID(int=0).hex}/pay/1",
    ],
)
def test_a_key_that_is_not_ours_is_of_no_effect(text: str) -> None:
    assert read_key(text) is None
