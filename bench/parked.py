"""How soon parked orders wake, and what they cost while they wait, with many of them.

    .venv/bin/python -m bench parked [--orders N] [--answers N]

Each order waits for a person's decision. Some are decided, one after the other: a time begins when the decision is
committed, and ends when the scheduler has committed the step that it leads to. Then comes the processor time of the
scheduler in a second in which nobody decides anything.
"""

import argparse
import random
import time
from uuid import UUID

import psycopg
from psycopg import sql

from bench import machine, server, tables
from orders.engine.runtime.sql import fetch, run
from orders.models import Event, OrderProcess
from orders.services.answers import decide
from tests.support.system import database_url

IDLE = 5.0
"""Seconds for which nothing happens, to see what the parked orders cost."""
CHUNK = 50_000
"""Orders parked by one statement."""
PARKED = """
    WITH parked AS (
        INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count, overruns,
                                         priority, not_before, reply_to, announced)
        SELECT gen_random_uuid(), 'decided', 1, 'complete', 'pending', 0, 0, 5,
               now() + interval '1 day' + random() * interval '30 days', '', true
          FROM generate_series(1, %s)
     RETURNING order_id, not_before
    )
    INSERT INTO orders_stepstate (order_id, name, position, agent, request, state, attempt, answered, generation,
                                  compensation_generation, outcome, failure_count, compensation_failure_count,
                                  extended_waits, priority, complete_by, awaits)
    SELECT order_id, step.name, step.position, '', '{}', step.state, step.attempt, 0, 1,
           1, 'none', 0, 0,
           0, 5, CASE WHEN step.attempt = 1 THEN not_before - interval '1 hour' END,
           CASE WHEN step.attempt = 1 THEN '{"kind": "decision", "choices": ["accept", "reject"]}'::jsonb END
      FROM parked,
           (VALUES ('decide', 0, 'awaiting', 1), ('confirm', 1, 'not_started', 0))
           AS step(name, position, state, attempt)
"""


def park(orders: int) -> None:
    """Parks that many orders."""
    for start in range(0, orders, CHUNK):
        run(PARKED, [min(CHUNK, orders - start)])
    run("VACUUM (ANALYZE) orders_orderprocess, orders_stepstate")


def wake_one(order_id: UUID, listener: psycopg.Connection[object]) -> float:
    """Decides about an order; returns the milliseconds until its next step waits in its turn."""
    decide(order_id=order_id, step="decide", choice="accept", by="bench")
    began = time.perf_counter()
    while not Event.objects.filter(order_id=order_id, kind="awaiting", step="confirm").exists():
        next(listener.notifies(timeout=1.0, stop_after=1), None)
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Parks orders, wakes some, and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench parked", description=__doc__.partition("\n")[0])
    parser.add_argument("--orders", type=int, default=1_000_000)
    parser.add_argument("--answers", type=int, default=1_000)
    options = parser.parse_args()
    server.empty()
    park(options.orders)
    ids = list(
        OrderProcess.objects.order_by("order_id").values_list("order_id", flat=True)[: options.answers]
    )
    random.Random(1).shuffle(ids)
    with (
        server.processes(["bench.noop", "scheduler"]) as (scheduler,),
        psycopg.connect(database_url(), autocommit=True) as listener,
    ):
        listener.execute(sql.SQL("LISTEN {}").format(sql.Identifier("sasweb_progress")))
        times = [wake_one(order_id, listener) for order_id in ids]
        before = machine.processor_seconds(scheduler.pid)
        time.sleep(IDLE)
        idle = (machine.processor_seconds(scheduler.pid) - before) / IDLE
    ((held,),) = fetch("SELECT count(*) FROM orders_orderprocess WHERE process_state = 'processing'")
    columns = ["parked", "answered", "p50 ms", "p99 ms", "idle: cpu ms a second", "held"]
    row = [
        f"{options.orders:,}",
        len(times),
        server.percentile(times, 50),
        server.percentile(times, 99),
        idle * 1000,
        held,
    ]
    tables.print_table(columns, [row])


if __name__ == "__main__":
    main()
