"""What claims cost when a crowd comes after a quiet day: each reads what it takes, not all that waits.

The statistics are those of the quiet day, when hardly anything waited; they are renewed long after the burst.
"""

from collections.abc import Callable

import pytest
from django.db import connection

from orders.engine import state_store
from orders.engine.channels import leases, oldest_requests, replies
from orders.engine.runtime.sql import database_now, run
from orders.models import OrderProcess
from tests.support.plans import OF_PAUSES, blocks_of, full_tables, plans_of
from tests.support.workflows import CAKES

pytestmark = pytest.mark.django_db

__all__ = ["full_tables"]

ORDERS = """
    INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count, overruns,
                                     priority, not_before, reply_to, announced)
    SELECT gen_random_uuid(), 'bake-cake', 3, 'complete', 'pending', 0, 0, 5, {not_before}, '', true
      FROM generate_series(1, 10000) AS n
"""
WAITING_STEPS = """
    INSERT INTO orders_stepstate (order_id, name, position, agent, state, attempt, answered, generation,
                                  compensation_generation, outcome, failure_count, compensation_failure_count,
                                  extended_waits, request, priority, waiting_since, wanted_since)
    SELECT order_id, 'mix', 0, 'kitchen', 'not_started', 0, 0, 1,
           1, 'none', 0, 0,
           0, '{}', 5, created_at, created_at
      FROM orders_orderprocess WHERE process_state = 'pending'
"""
QUIET_THEN_BURST = """
    TRUNCATE orders_agentrequest, orders_agentreply;
    {requests} generate_series(1, 20) AS n;
    {replies} generate_series(1, 20) AS n;
    ANALYZE orders_agentrequest, orders_agentreply;
    {requests} generate_series(21, 10000) AS n;
    {replies} generate_series(21, 10000) AS n;
"""
REQUESTS = """
    INSERT INTO orders_agentrequest (order_id, step_id, step, agent, operation, attempt, compensates, key, reverses,
                                     body, complete_by, priority, deliveries)
    SELECT gen_random_uuid(), n, 'mix', 'kitchen', 'mix-it', 1, false, n::text, '', '{}',
           now() + interval '1 hour', 5, 0 FROM
"""
REPLIES = """
    INSERT INTO orders_agentreply (order_id, step_id, attempt, compensates, outcome, body, calls, instance)
    SELECT gen_random_uuid(), n, 1, false, 'done', '{}', 1, 'agents:1' FROM
"""
ROOM = {"kitchen": 10}
FEW = 300
"""Blocks that a claim of ten may read: a few for each that it takes, or for each priority."""


def quiet_then_orders(not_before: str = "NULL") -> None:
    """Ten thousand orders, ready or due, of which the statistics know nothing."""
    OrderProcess.objects.filter(process_state="pending").update(process_state="processed", not_before=None)
    run("ANALYZE orders_orderprocess, orders_stepstate")
    run(ORDERS.format(not_before=not_before))


def quiet_then_messages() -> None:
    """Ten thousand requests and replies, of which the statistics know twenty."""
    with connection.cursor() as cursor:
        cursor.execute(QUIET_THEN_BURST.format(requests=REQUESTS, replies=REPLIES))


@pytest.mark.pattern("C2")
@pytest.mark.parametrize("not_before", ["NULL", "now()"], ids=["ready", "due"])
def test_a_burst_of_orders_is_claimed_without_sorting_all_of_it(not_before: str) -> None:
    quiet_then_orders(not_before)
    _, *claims = plans_of(lambda: state_store.claim(50, CAKES, database_now()))
    assert [(plan.scanned_whole, plan.sorts) for plan in claims] == [(set(), False)] * len(claims)
    assert {index for claim in claims for index in claim.indexes} == {
        "process_ready_by_age",
        "process_waiting",
    }


@pytest.mark.pattern("A9")
def test_a_burst_of_steps_that_wait_for_an_agent_is_claimed_without_reading_all_of_it() -> None:
    """F29: ten thousand orders wait for an agent that is back, and each pass has room for a few."""
    quiet_then_orders()
    run(WAITING_STEPS)
    assert blocks_of(lambda: state_store.claim_waiting(ROOM, CAKES, [], limit=10, retries=10)) <= FEW


@pytest.mark.pattern("C2", "A9")
def test_the_oldest_of_a_burst_are_found_without_reading_all_of_it() -> None:
    """A claim by age reads a few pages for each priority, however many orders, steps and requests came meanwhile."""
    quiet_then_messages()
    quiet_then_orders()
    run(
        "UPDATE orders_orderprocess SET created_at = now() - interval '1 hour' WHERE process_state = 'pending'"
    )
    run(WAITING_STEPS)
    now = database_now()
    claims: dict[str, Callable[[], object]] = {
        "orders": lambda: state_store.claim_aged(10, CAKES, now),
        "steps": lambda: state_store.claim_aged_waiting(ROOM, CAKES, [], now, limit=10, retries=10),
        "requests": lambda: oldest_requests.claim(room=ROOM, me="agents:2", seconds=8.0),
    }
    blocks = {what: blocks_of(claim) for what, claim in claims.items()}
    assert {what: number for what, number in blocks.items() if number > FEW} == {}


def test_a_burst_of_messages_is_claimed_without_sorting_all_of_it() -> None:
    quiet_then_messages()
    (claim,) = plans_of(lambda: leases.claim(room=ROOM, me="agents:2", seconds=8.0))
    (peek,) = plans_of(lambda: replies.peek(200))
    indexes = {"request_free", "orders_agentrequest_pkey"}
    assert (claim.indexes - OF_PAUSES, claim.sorts) == (indexes, False)
    assert claim.scanned_whole <= {"orders_steppause"}
    assert (peek.indexes, peek.scanned_whole, peek.sorts) == ({"orders_agentreply_pkey"}, set(), False)
