"""The orders that the page is held against are such as the database takes."""

import pytest

from tests.support.legal_steps import legal
from tests.unit.shop_orders import UNTOUCHED, every_order

pytestmark = pytest.mark.django_db


def test_every_step_of_every_order_is_one_that_the_database_takes() -> None:
    rows = {
        str(sorted(step.items())): {**UNTOUCHED, **step}
        for case in every_order()
        for step in case.steps.values()
    }
    steps = list(rows.values())
    assert len(steps) > 50
    allowed = legal(steps)
    assert [row for row in steps if row not in allowed] == []
