"""On a small table, too, a pass reads only its own rows, although reading all of it looks as cheap to the planner."""

from collections.abc import Callable

import pytest

from orders.engine import state_store
from orders.engine.channels import requests
from orders.engine.runtime.sql import database_now, run
from orders.engine.state_store.writes import StepWrite
from tests.support.factories import ahead
from tests.support.new_orders import accepted
from tests.support.plans import blocks_of
from tests.support.workflows import CAKES

ORDERS = 400
FEW = 40
"""Pages. The steps of all the orders take twice as many."""


@pytest.mark.django_db
def test_the_writes_of_one_order_read_few_pages_of_a_small_table() -> None:
    state_store.create_processes([accepted() for _ in range(ORDERS)])
    run("ANALYZE orders_orderprocess, orders_stepstate")
    (row,) = state_store.claim(1, CAKES, database_now())
    step = state_store.steps_of([row.order_id])[row.order_id][0]
    step = step._replace(state="running", attempt=1, outcome="unknown", complete_by=ahead(30))
    state_store.write_steps([StepWrite(step, 0)])
    new = requests.NewRequest(step.id, "mix-it", "", False, "key", "", 5)
    acts: dict[str, Callable[[], object]] = {
        "steps": lambda: state_store.write_steps([StepWrite(step, 1)]),
        "processes": lambda: state_store.write_processes([row._replace(failure_count=1)]),
        "requests": lambda: (requests.post([new]), requests.discard([step.id])),
    }
    blocks = {what: blocks_of(act) for what, act in acts.items()}
    assert {what: number for what, number in blocks.items() if number > FEW} == {}, blocks
