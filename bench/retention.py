"""What it costs to move finished orders to the archive: orders a second, locks, and the orders under way meanwhile.

    .venv/bin/python -m bench retention [--orders N] [--running N] [--rate R] [--seconds S]

The finished orders are realistic: three lines, five steps with requests and results, sixteen events, four statuses, a
closed alert and an idempotency key each. They move alone first, and are then deleted from the archive. Then as many
move while orders of a workflow whose agents answer at once are stored and processed, compared with a run without.

How long locks are held is the server's own time: from the beginning of each batch's transaction to its last statement.
"""

import argparse
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from bench import server, tables
from bench.under_fault import WARM_UP, Options, Speed, measure
from orders.engine.runtime.brief_batches import Walk
from orders.engine.runtime.sql import run
from orders.models import ArchivedOrder
from orders.retention import moving
from orders.shop.models import Product

SKUS = ("bench-1", "bench-2", "bench-3")
CHUNK = 5_000
SHOP = ("order", "orderline", "archivedorder", "submissionkey", "retentionfailure")
DATES = "clock_timestamp() - interval '100 days' + n * interval '1 second'"
FILL = (
    f"""
    INSERT INTO orders_order (id, customer_id, email, currency, total, ship_to, payment_method, placed_at)
    SELECT gen_random_uuid(), NULL, 'customer-' || n || '@example.org', 'EUR', 3900 + n %% 1000,
           jsonb_build_object('name', 'Customer ' || n, 'street', 'Long Street ' || n, 'city', 'Delft',
                              'postal_code', '2611 AB', 'country', 'NL'), 'card_ok', {DATES}
      FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
    """,
    """
    INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count, overruns,
                                     priority, reply_to, announced, created_at, started_at, finished_at)
    SELECT o.id, 'fulfil-order', 1, 'complete', 'processed', 0, 0, 5, '', true, o.placed_at, o.placed_at,
           o.placed_at + interval '2 seconds'
      FROM orders_order AS o LEFT JOIN orders_orderprocess AS p ON p.order_id = o.id WHERE p.order_id IS NULL
    """,
    """
    INSERT INTO orders_orderline (order_id, sku, title, quantity, unit_price)
    SELECT o.id, sku, 'A poster with a long title, ' || sku, 1, 1300
      FROM orders_order AS o CROSS JOIN unnest(%(skus)s::text[]) AS sku
     WHERE NOT EXISTS (SELECT FROM orders_orderline AS l WHERE l.order_id = o.id)
    """,
    """
    INSERT INTO orders_stepstate (order_id, name, position, agent, request, result, state, attempt, answered,
                                  generation, compensation_generation, outcome, failure_count,
                                  compensation_failure_count, extended_waits, priority, started_at, completed_at)
    SELECT o.id, s.name, s.position, s.agent,
           jsonb_build_object('ship_to', o.ship_to, 'amount', o.total, 'currency', 'EUR', 'email', o.email),
           jsonb_build_object('reference', gen_random_uuid(), 'at', o.placed_at), 'completed', 1, 1, 1, 1, 'done',
           0, 0, 0, 5, o.placed_at, o.placed_at
      FROM orders_order AS o
     CROSS JOIN (VALUES ('reserve-stock', 0, 'warehouse'), ('authorise-payment', 1, 'payments'),
                        ('create-shipment', 2, 'carrier'), ('capture-payment', 3, 'payments'),
                        ('send-confirmation', 4, 'mail')) AS s(name, position, agent)
     WHERE NOT EXISTS (SELECT FROM orders_stepstate AS e WHERE e.order_id = o.id)
    """,
    """
    INSERT INTO orders_event (order_id, at, kind, step, attempt, actor_kind, actor_name, detail)
    SELECT o.id, o.placed_at, 'step_completed', 'step', 1, 'scheduler', 'scheduler:bench-1:4711',
           jsonb_build_object('reference', gen_random_uuid(), 'calls', 1, 'seconds', 0.123)
      FROM orders_order AS o CROSS JOIN generate_series(1, 16)
     WHERE NOT EXISTS (SELECT FROM orders_event AS e WHERE e.order_id = o.id)
    """,
    """
    INSERT INTO orders_statusmessage (queue, order_id, kind, body, posted_at)
    SELECT 'user:1/bench', o.id, kind, jsonb_build_object('order_id', o.id, 'kind', kind), o.placed_at
      FROM orders_order AS o CROSS JOIN unnest(ARRAY['received', 'started', 'started', 'completed']) AS kind
     WHERE NOT EXISTS (SELECT FROM orders_statusmessage AS e WHERE e.order_id = o.id)
    """,
    """
    WITH cause AS (
        INSERT INTO orders_alertgroup (kind, agent, code, pattern, acknowledged_by)
        VALUES ('step_failed', 'carrier', 'bench', 'bench', '')
            ON CONFLICT (kind, agent, code, pattern) DO UPDATE SET last_at = now() RETURNING id
    )
    INSERT INTO orders_alert (group_id, order_id, kind, code, message, step, agent, closed_by, resolution, closed_at)
    SELECT cause.id, o.id, 'step_failed', 'bench', 'the carrier did not answer', 'create-shipment', 'carrier', 'ada',
           'done', now()
      FROM cause, orders_order AS o
     WHERE NOT EXISTS (SELECT FROM orders_alert AS e WHERE e.order_id = o.id)
    """,
    """
    INSERT INTO orders_submissionkey (client, key, body_hash, order_id)
    SELECT 'user:1', 'key-' || o.id, '', o.id FROM orders_order AS o
     WHERE NOT EXISTS (SELECT FROM orders_submissionkey AS e WHERE e.order_id = o.id)
    """,
)


class Locks:
    """Notes how long each batch's transaction has lasted, by the server's clock, at the end of its last statement."""

    def __init__(self, last: str) -> None:
        self.milliseconds: list[float] = []
        self._last = last

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        answer = execute(sql, params, many, context)
        if self._last in sql:
            ours = context["connection"]
            with ours.wrap_database_errors, ours.connection.cursor() as plain:
                plain.execute(
                    "SELECT 1000 * extract(epoch FROM clock_timestamp() - transaction_timestamp())::float8"
                )
                (lasted,) = plain.fetchone()
            ours.on_commit(lambda: self.milliseconds.append(lasted))
        return answer


def fill(count: int) -> None:
    """Stores that many finished orders."""
    for sku in SKUS:
        Product.objects.get_or_create(sku=sku, defaults={"title": sku, "artist": "bench", "price": 1_300})
    for first in range(1, count + 1, CHUNK):
        for statement in FILL:
            last = min(count, first + CHUNK - 1)
            run(statement, {"first": first, "last": last, "skus": list(SKUS)})


def empty() -> None:
    """Deletes all orders, archived or not."""
    server.empty()
    run(f"TRUNCATE {', '.join(f'orders_{table}' for table in SHOP)} CASCADE")


def walk_to_the_end(walk: Callable[..., Walk], last: str) -> list[Any]:
    """Walks until nothing is left. Returns the rows, rows a second, batches, how many were given up because they took
    too long, and median and longest milliseconds."""
    locks, changed, given_up, position = Locks(last), 0, 0, None
    began = time.monotonic()
    with connection.execute_wrapper(locks):
        while True:
            result = walk(before=timezone.now(), **({"after": position} if position else {}))
            changed, given_up = changed + result.changed, given_up + result.given_up
            position = result.after
            if position is None and not result.left_behind:
                break
    seconds, held = time.monotonic() - began, locks.milliseconds
    rates = [changed, f"{changed / seconds:,.0f}", len(held), given_up]
    return [*rates, server.percentile(held, 50), server.percentile(held, 99), max(held)]


def measure_alone(orders: int) -> None:
    """Moves finished orders with nothing else going on, deletes them, and prints a table."""
    empty()
    fill(orders)
    run("VACUUM (ANALYZE)")
    moved = walk_to_the_end(moving.archive_finished, "INSERT INTO orders_archivedorder")
    assert ArchivedOrder.objects.count() == orders
    deleted = walk_to_the_end(moving.delete_archived, "DELETE FROM orders_archivedorder")
    columns = ["alone", "orders", "orders/s", "batches", "given up", "lock ms, p50", "p99", "longest"]
    tables.print_table(columns, [["moved to the archive", *moved], ["deleted from it", *deleted]])


@contextmanager
def orders_moving() -> Iterator[list[int]]:
    """Moves finished orders in a thread until the end of the block. The list then has their number."""
    stop, moved = threading.Event(), [0]

    def move() -> None:
        try:
            while not stop.is_set():
                walk = moving.archive_finished(before=timezone.now() - timedelta(days=1))
                moved[0] += walk.changed
        finally:
            connection.close()

    thread = threading.Thread(target=move)
    thread.start()
    try:
        yield moved
    finally:
        stop.set()
        thread.join()


def measure_running(orders: int, options: Options) -> None:
    """Measures orders under way with and without others being moved, and prints a table."""
    rows: list[list[Any]] = []
    healthy: Speed | None = None
    for is_moving in (False, True):
        empty()
        fill(orders)
        roles = (["bench.noop", "agents", "noop"], ["bench.noop", "scheduler"], ["bench.noop", "supervisor"])
        with server.processes(*roles):
            server.wait_for_agents("noop")
            server.fill_at_once(WARM_UP)
            server.wait_until_processed(WARM_UP)
            if is_moving:
                with orders_moving() as moved:
                    speed = measure(options)
            else:
                moved, speed = [0], measure(options)
        healthy = healthy or speed
        rows.append(
            [
                "while others move" if is_moving else "without",
                f"{speed.rate:,.0f}",
                speed.rate / healthy.rate,
                speed.median,
                speed.p99,
                moved[0],
            ]
        )
    tables.print_table(
        ["orders under way", "orders/s", "of without", "p50 ms", "p99 ms", "moved meanwhile"], rows
    )


def main() -> None:
    """Measures and prints two tables."""
    parser = argparse.ArgumentParser(prog="python -m bench retention", description=__doc__.partition("\n")[0])
    parser.add_argument("--orders", type=int, default=50_000, help="finished orders")
    parser.add_argument("--running", type=int, default=10_000, help="orders under way, stored at once")
    parser.add_argument("--rate", type=float, default=100.0, help="orders under way, stored a second")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    measure_alone(options.orders)
    measure_running(options.orders, Options(options.running, 0, options.rate, options.seconds, 0))


if __name__ == "__main__":
    main()
