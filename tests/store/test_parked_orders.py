"""What parked orders cost while they wait: nothing. Each statement reads what it takes, however many orders are parked.

Once with the statistics of a day without them, and once with theirs.
"""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

import pytest
from django.db import transaction

from orders.engine import state_store
from orders.engine.runtime.sql import database_now, fetch, run
from orders.models import OrderProcess, StepState
from orders.selectors.desk import decisions
from orders.selectors.desk import workflows as workflows_page
from orders.selectors.desk.decisions import count_open_decisions, open_decisions
from orders.services.answers import decide
from orders.watchdog.queues import QueueWatch
from tests.support.factories import ago, ahead, step_of
from tests.support.plans import blocks_of, full_tables, plans_of
from tests.support.roles import a_leader, a_scheduler
from tests.support.workflows import CAKES, FEASTS

pytestmark = pytest.mark.django_db

__all__ = ["full_tables"]

NUMBER = 20_000
PARKED = """
    WITH parked AS (
        INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count, overruns,
                                         priority, not_before, reply_to, announced)
        SELECT gen_random_uuid(), 'cook-feast', 1, 'complete', 'pending', 0, 0, 5,
               now() + n * interval '1 minute' + interval '2 hours', '', true
          FROM generate_series(1, %s) AS n
     RETURNING order_id, not_before
    )
    INSERT INTO orders_stepstate (order_id, name, position, agent, state, attempt, answered, generation,
                                  compensation_generation, outcome, failure_count, compensation_failure_count,
                                  extended_waits, request, priority, complete_by, awaits, result)
    SELECT order_id, name, position, agent, state, 1, CASE WHEN state = 'awaiting' THEN 0 ELSE 1 END, 1,
           1, CASE WHEN state = 'awaiting' THEN 'none' ELSE 'done' END, 0, 0,
           0, '{}', 5, CASE WHEN state = 'awaiting' THEN not_before - interval '1 hour' END,
           CASE WHEN state = 'awaiting' THEN '{"kind": "decision", "choices": ["accept", "reject"]}'::jsonb END, '{}'
      FROM parked,
           (VALUES ('plan', 0, 'kitchen', 'completed'), ('approve', 1, '', 'awaiting'),
                   ('supplies', 2, '', 'completed'), ('rest', 3, '', 'completed'))
           AS step (name, position, agent, state)
"""
COOK = """
    INSERT INTO orders_stepstate (order_id, name, position, agent, state, attempt, answered, generation,
                                  compensation_generation, outcome, failure_count, compensation_failure_count,
                                  extended_waits, request, priority)
    SELECT order_id, 'cook', 4, 'oven', 'not_started', 0, 0, 1, 1, 'none', 0, 0, 0, '{}', 5
      FROM orders_orderprocess WHERE workflow = 'cook-feast'
"""
FEW_ROWS = 100
MORE = 20
"""Blocks that a statement may read more than without them: an index is a level deeper, or a page is split."""
WITHOUT, WITH = "the statistics of a day without them", "their own statistics"
either = pytest.mark.parametrize("statistics", [WITHOUT, WITH])


def park(statistics: str) -> None:
    """Twenty thousand parked orders beside the others."""
    run("ANALYZE orders_orderprocess, orders_stepstate")
    run(PARKED, [NUMBER])
    run(COOK)
    if statistics == WITH:
        run("ANALYZE orders_orderprocess, orders_stepstate")


def one() -> UUID:
    parked = OrderProcess.objects.filter(workflow="cook-feast").order_by("-not_before")
    return parked.values_list("pk", flat=True)[0]


def rows_read() -> int:
    """How many rows of processes and steps this transaction has read."""
    ((number,),) = fetch(
        """
        SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int
          FROM pg_stat_xact_user_tables
         WHERE relname IN ('orders_orderprocess', 'orders_stepstate')
        """
    )
    return int(number)


READS: dict[str, Callable[[datetime], object]] = {
    "claim": lambda now: state_store.claim(200, FEASTS, now),
    "overdue": lambda now: state_store.overdue(200, now),
    "steps that wait for their agents": lambda now: state_store.claim_waiting(
        {"kitchen": 50, "oven": 50, "": 50}, FEASTS, [], limit=50, retries=20
    ),
    "probes": lambda now: state_store.claim_probes(["kitchen", "oven", ""], FEASTS, []),
    "the watch of the queues": lambda now: QueueWatch().look(),
}


def blocks_of_reads() -> dict[str, int]:
    """The blocks that each of them reads. What it writes is rolled back, so that none sees what another has done."""
    now = database_now()
    blocks: dict[str, int] = {}
    for name, read in READS.items():
        with transaction.atomic():
            blocks[name] = blocks_of(lambda read=read: read(now))  # type: ignore[misc]
            transaction.set_rollback(True)
    return blocks


@pytest.mark.pattern("C2", "V1", "V7", "A9")
@either
def test_nothing_that_is_done_again_and_again_reads_them(statistics: str) -> None:
    without = blocks_of_reads()
    park(statistics)
    more = {name: blocks - without[name] for name, blocks in blocks_of_reads().items()}
    assert max(more.values()) <= MORE, more


@pytest.mark.pattern("C2")
@either
def test_a_claim_takes_none_of_them(statistics: str) -> None:
    park(statistics)
    claims: list[object] = []
    plans = plans_of(lambda: claims.append(state_store.claim(200, FEASTS, database_now())))
    assert claims == [[]]
    assert [(plan.scanned_whole, plan.sorts) for plan in plans[-1:]] == [(set(), False)]


def test_a_claim_says_when_the_first_of_them_is_due() -> None:
    OrderProcess.objects.filter(not_before__isnull=False).delete()
    park(WITH)
    now = database_now()
    first = OrderProcess.objects.filter(not_before__gt=now).order_by("not_before")[0]
    claimed = state_store.send_claim(200, CAKES | FEASTS, now).result()
    assert claimed.next_due == pytest.approx((first.not_before - now).total_seconds(), abs=1e-3)  # type: ignore[operator]


@pytest.mark.pattern("C6")
@either
def test_one_of_them_wakes_without_the_others_being_read(statistics: str) -> None:
    OrderProcess.objects.filter(process_state="pending").update(process_state="processed", not_before=None)
    park(statistics)
    order_id = one()
    scheduler = a_scheduler(workflows=FEASTS)
    scheduler.run_once()
    decide(order_id=order_id, step="approve", choice="accept", by="ada")
    before = rows_read()
    counts = scheduler.run_once()
    assert rows_read() - before <= FEW_ROWS
    assert (counts.done["orders"], counts.done["started"]) == (1, 1)
    assert step_of(order_id, "cook").state == "running"
    assert StepState.objects.filter(state="awaiting").count() == NUMBER - 1


@pytest.mark.pattern("V1")
@either
def test_the_wait_of_one_of_them_ends_without_the_others_being_read(statistics: str) -> None:
    StepState.objects.update(complete_by=None, state="not_started")
    OrderProcess.objects.update(process_state="processed", locked_by=None, not_before=None)
    park(statistics)
    order_id = one()
    leader = a_leader(workflows=FEASTS)
    leader.run_once()
    StepState.objects.filter(process_id=order_id, name="approve").update(complete_by=ago(1))
    before = rows_read()
    assert leader.run_once().done["found"] == 1
    assert rows_read() - before <= FEW_ROWS
    assert step_of(order_id, "approve").state == "failed"


@either
def test_decisions_are_listed_and_counted_by_their_index(statistics: str) -> None:
    park(statistics)
    now = database_now()
    seventh = list(open_decisions(after=None, limit=7, now=now).items)[-1]
    reads: list[Callable[[], object]] = [
        lambda: open_decisions(after=None, limit=50, now=now),
        lambda: open_decisions(after=seventh.position, limit=50, now=now),
        lambda: count_open_decisions(now=now),
    ]
    for read, most in zip(
        reads, (FEW_ROWS * 2, FEW_ROWS * 2, decisions.MOST_COUNTED + FEW_ROWS), strict=True
    ):
        first, *_ = plans_of(read)
        assert (first.indexes - {"orders_orderprocess_pkey"}, first.scanned_whole, first.sorts) == (
            {"step_to_decide"},
            set(),
            False,
        )
        before = rows_read()
        read()
        assert rows_read() - before <= most


def test_the_page_of_workflows_counts_what_runs_first_and_does_not_read_them_all() -> None:
    StepState.objects.filter(state="running").update(complete_by=ahead(30))
    now = database_now()
    before = rows_read()
    running = {key: counts["mix"].running for key, counts in workflows_page._counts(now).items()}
    without = rows_read() - before
    park(WITH)
    before = rows_read()
    with_them = {
        key: counts["mix"].running for key, counts in workflows_page._counts(now).items() if "mix" in counts
    }
    assert with_them == running
    assert rows_read() - before <= without + 10 * workflows_page.MOST
