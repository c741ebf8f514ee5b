"""Rewriting requests: only those of steps for which it is known that nothing was done, and all of them or none."""

from typing import Any

import pytest

from orders.engine import state_store
from orders.engine.errors import StateConflict
from orders.models import StepState
from tests.support.factories import make_order, step_of
from tests.support.roles import everything

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("A3")]


@pytest.mark.parametrize(
    "begun",
    [
        "running",
        "completed",
        "skipped",
        "awaiting",
        {"state": "failed", "outcome": "unknown", "attempt": 1},
        {"state": "not_started", "outcome": "unknown", "attempt": 1},
    ],
    ids=str,
)
def test_the_request_of_a_step_that_has_begun_is_not_rewritten_and_none_beside_it(begun: Any) -> None:
    order = make_order({"mix": begun}, process_state="processing")
    rows = {row.name: row for row in state_store.steps_of([order.pk])[order.pk]}
    before = everything(order)
    with pytest.raises(StateConflict, match="1 of 2 steps changed"):
        state_store.rewrite_requests(
            [state_store.NewRequest(rows[name], {"portions": 2}) for name in ("mix", "bake")]
        )
    StepState.objects.filter(process_id=order.pk, name="bake").update(request={"portions": 1}, original=None)
    assert everything(order) == before


def test_the_first_request_is_kept_however_often_it_is_rewritten() -> None:
    order = make_order({"mix": {"state": "failed", "outcome": "refused", "attempt": 1}})
    for portions in (2, 3):
        (mix,) = [row for row in state_store.steps_of([order.pk])[order.pk] if row.name == "mix"]
        state_store.rewrite_requests([state_store.NewRequest(mix, {"portions": portions})])
    step = step_of(order, "mix")
    assert (step.request, step.original, step.state) == ({"portions": 3}, {"portions": 1}, "failed")


def test_a_step_that_was_dispatched_since_it_was_read_is_not_rewritten() -> None:
    order = make_order()
    (mix,) = [row for row in state_store.steps_of([order.pk])[order.pk] if row.name == "mix"]
    StepState.objects.filter(pk=mix.id).update(attempt=1)
    with pytest.raises(StateConflict):
        state_store.rewrite_requests([state_store.NewRequest(mix, {"portions": 2})])
    assert step_of(order, "mix").request == {"portions": 1}
