"""The database refuses impossible rows, each by the constraint that is named as the sentence it enforces."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, transaction

from tests.store.impossible_rows import IMPOSSIBLE, SOMEBODY
from tests.store.impossible_rows_of_customers import OF_CUSTOMERS
from tests.store.impossible_rows_of_the_desk import OF_THE_DESK
from tests.support.factories import LEGAL, ago, make_alert, make_order, make_request, step_of

pytestmark = pytest.mark.django_db

EVERY_ROW = (*IMPOSSIBLE, *OF_CUSTOMERS, *OF_THE_DESK)


@pytest.mark.pattern("T2", "T3", "T4")
@pytest.mark.parametrize(
    ("name", "write"),
    [pytest.param(name, write, id=f"{name}: {what}") for name, what, write in EVERY_ROW],
)
def test_an_impossible_row_is_refused_by_its_constraint(name: str, write: Callable[[], object]) -> None:
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        write()
    violation: Any = refused.value.__cause__
    assert violation.diag.constraint_name == name


def test_every_constraint_is_tested_with_an_impossible_row() -> None:
    declared = {
        constraint.name
        for app in ("orders", "shop")
        for model in apps.get_app_config(app).get_models()
        for constraint in model._meta.constraints
    }
    assert declared - {name for name, _, _ in EVERY_ROW} == set()


def test_a_step_has_at_most_one_request() -> None:
    mix = step_of(make_order({"mix": "running"}), "mix")
    make_request(mix)
    with pytest.raises(IntegrityError, match="step_id"), transaction.atomic():
        make_request(mix, attempt=2)


@pytest.mark.pattern("T4")
@pytest.mark.parametrize("state", LEGAL)
def test_a_step_in_each_state_is_possible(state: str) -> None:
    assert step_of(make_order({"mix": state}), "mix").state == state


@pytest.mark.pattern("T3")
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"goal": "compensate"},
        {"process_state": "processing"},
        {"process_state": "processed"},
        {"process_state": "error"},
        {"process_state": "error", "goal": "compensate"},
        {"process_state": "compensated", "goal": "compensate"},
    ],
    ids=lambda fields: "-".join(fields.values()) or "pending",
)
def test_an_order_in_each_state_is_possible(fields: dict[str, Any]) -> None:
    order = make_order(**fields)
    order.refresh_from_db()
    assert order.process_state == fields.get("process_state", "pending")


def test_an_alert_that_was_closed_makes_room_for_the_next() -> None:
    for _ in range(2):
        make_alert(SOMEBODY, closed_at=ago(1))
    make_alert(SOMEBODY)
